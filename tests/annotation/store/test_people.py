"""Invitation links: use, expiry and revocation, on both databases."""

import pytest
from sqlalchemy import select

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store import tables
from pqpp_annotation.store.access import get_link, get_links, make_links, redeem_link, revoke_link
from pqpp_annotation.store.people import get_people

DAY = 86_400_000


@pytest.fixture
def store(make_store):
    """A study of two prompts."""
    return make_store(prompts=2)


def test_personal_link_adds_one_person(store):
    (token, invitation), _ = make_links(store, 2, label="first wave")
    assert (invitation.label, invitation.role) == ("first wave", "annotator")
    assert invitation.person_id is None
    assert get_link(store, token).id == invitation.id
    person = redeem_link(store, token, {"PROLIFIC_PID": "abc"})
    assert redeem_link(store, token).id == person.id
    assert person.outside == {"PROLIFIC_PID": "abc"} and len(get_people(store)) == 1
    assert get_links(store)[0].person_id == person.id
    with store.begin_read() as db:
        assert token not in str(db.execute(select(*tables.Invitation.__table__.c)).all())


def test_expired_and_revoked_links_are_refused(store):
    (token, invitation), (other, _) = make_links(store, 2, days=2)
    redeem_link(store, token)
    revoke_link(store, invitation.id)
    for attempt in (redeem_link, get_link):
        with pytest.raises(AnnotationError, match="was revoked"):
            attempt(store, token)
    now = store.clock()
    store.clock = lambda: now + 2 * DAY
    with pytest.raises(AnnotationError, match="has expired"):
        redeem_link(store, other)
    with pytest.raises(AnnotationError, match="is unknown"):
        redeem_link(store, "made-up")
    with pytest.raises(AnnotationError, match="link 77 not found"):
        revoke_link(store, 77)


def test_shared_link_identifies_people_by_recruiter_id(store):
    ((token, _),) = make_links(store, 1, is_shared=True)
    first = redeem_link(store, token, {"PROLIFIC_PID": "a"}, "browser")
    second = redeem_link(store, token, {"PROLIFIC_PID": "b"}, "browser")
    assert first.id != second.id
    same_person = redeem_link(store, token, {"PROLIFIC_PID": "a", "STUDY_ID": "s"}, "browser")
    assert same_person.id == first.id
    for browser in ("", "another"):
        with pytest.raises(AnnotationError, match="browser"):
            redeem_link(store, token, {"PROLIFIC_PID": "a"}, browser)
    with pytest.raises(AnnotationError, match="your ID is missing"):
        redeem_link(store, token)
    with pytest.raises(AnnotationError, match="shared links are for annotators"):
        make_links(store, 1, "owner", is_shared=True)
