"""People and links: passwords, expiry, revocation, resuming; on both databases."""

import pytest
from sqlalchemy import select
from support.studies import small_store

from pqpp_annotation.errors import NotAllowedError, StoreError
from pqpp_annotation.store import tables

DAY = 86_400_000


@pytest.fixture
def store(tmp_path, database):
    """A study of two prompts."""
    store = small_store(tmp_path, prompts=2, **database)
    yield store
    store.close()


def test_a_link_makes_one_person_and_brings_it_back(store):
    (token, invitation), _ = store.invitations.create(2, label="first wave")
    assert (invitation.label, invitation.role, invitation.person_id) == (
        "first wave", "annotator", None,
    )  # fmt: skip
    assert store.invitations.check(token) == invitation
    person = store.invitations.redeem(token, {"PROLIFIC_PID": "abc"})
    assert store.invitations.redeem(token) == person
    assert person.outside == {"PROLIFIC_PID": "abc"} and len(store.people.all()) == 1
    assert store.invitations.all()[0].person_id == person.id
    with store.reading() as db:
        assert token not in str(db.execute(select(*tables.Invitation.__table__.c)).all())


def test_a_link_ends_by_time_and_by_revocation(store):
    (token, invitation), (other, _) = store.invitations.create(2, days=2)
    store.invitations.redeem(token)
    store.invitations.revoke(invitation.id)
    for attempt in (store.invitations.redeem, store.invitations.check):
        with pytest.raises(NotAllowedError, match="was revoked"):
            attempt(token)
    now = store.clock()
    store.clock = lambda: now + 2 * DAY
    with pytest.raises(NotAllowedError, match="has expired"):
        store.invitations.redeem(other)
    with pytest.raises(NotAllowedError, match="is unknown"):
        store.invitations.redeem("made-up")
    with pytest.raises(NotAllowedError, match="no invitation 77"):
        store.invitations.revoke(77)


def test_a_shared_link_tells_people_apart_by_the_sites_id(store):
    ((token, _),) = store.invitations.create(1, is_shared=True)
    first = store.invitations.redeem(token, {"PROLIFIC_PID": "a"})
    second = store.invitations.redeem(token, {"PROLIFIC_PID": "b"})
    assert first.id != second.id
    assert store.invitations.redeem(token, {"PROLIFIC_PID": "a", "STUDY_ID": "s"}).id == first.id
    with pytest.raises(NotAllowedError, match="needs the id"):
        store.invitations.redeem(token)
    with pytest.raises(NotAllowedError, match="annotators only"):
        store.invitations.create(1, "owner", is_shared=True)


@pytest.mark.parametrize(
    "wrong", [{"count": 0}, {"count": 10**6}, {"days": 0}, {"days": float("nan")}, {"role": "boss"}]
)
def test_impossible_links_are_refused(store, wrong):
    with pytest.raises(NotAllowedError, match=r"links for|is unknown"):
        store.invitations.create(**wrong)
    assert store.invitations.all() == []


def test_passwords_are_hashed_by_argon2id(store):
    person = store.people.add("ann", "owner", "correct horse")
    assert person.has_password and store.people.verify("ann", "correct horse") == person
    for name, password in (("ann", "wrong"), ("nobody", "correct horse"), ("ann", "x" * 10**6)):
        assert store.people.verify(name, password) is None
    with store.reading() as db:
        kept = db.scalar(select(tables.Person.password_hash))
    assert kept.startswith("$argon2id$") and "correct horse" not in kept
    store.people.set_password(person.id, "another horse")
    assert store.people.verify("ann", "correct horse") is None
    assert store.people.get(person.id).session == 1


def test_odd_people_are_refused(store):
    store.people.add("ann")
    for words, said in (
        (("ann",), "taken"),
        (("  ",), "printable"),
        (("a\nb",), "printable"),
        (("bob", "boss"), "role"),
        (("bob", "owner", "short"), "5 characters; 8 or more"),
    ):
        with pytest.raises(StoreError, match=said):
            store.people.add(*words)
    assert [person.name for person in store.people.all()] == ["ann"]
    with pytest.raises(NotAllowedError, match="no such person"):
        store.people.get(99)


def test_active_time_leaves_out_pauses(store):
    person = store.people.add("ann").id
    start = store.clock()
    happened = [(0, "seen"), (30, "seen"), (60, "away"), (90, "back"), (120, "seen"), (900, "seen")]
    for second, kind in happened:
        store.clock = lambda second=second: start + second * 1000
        store.events.add(person, kind)
    # 0 to 60, not away until 90, 90 to 120, and no pause of 13 minutes.
    assert store.events.active_seconds(person, 2) == 90
    assert store.events.active_seconds(person, 20) == 870
    assert store.events.active_seconds(99) == 0


def test_ids_of_a_recruiting_site_are_kept(store):
    person = store.people.add("ann").id
    store.people.set_outside(person, {"PROLIFIC_PID": "a"})
    store.people.set_outside(person, {"STUDY_ID": "s"})
    assert store.people.get(person).outside == {"PROLIFIC_PID": "a", "STUDY_ID": "s"}
    store.people.withdraw(person)
    assert store.people.get(person).outside == {}
