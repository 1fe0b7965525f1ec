"""The people of a study: joining, consent, withdrawal, and decisions about them."""

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select, update

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.tables import (
    Answer,
    Assignment,
    Event,
    Invitation,
    Item,
    ItemImage,
    Leaver,
    Person,
    Session,
)
from pqpp_annotation.store.transactions import Transaction, reads, writes, writes_locked
from pqpp_datasets.own_benchmark.trust.reason import Reason
from pqpp_files.names import did_you_mean

PERSON_ROLES = ("annotator", "control", "owner", "trial")
_MAX_NAME = 80  # characters


@writes_locked
def add_person(
    db: Transaction,
    name: str,
    role: str = "annotator",
    outside: Mapping[str, Any] | None = None,
    outside_key: str | None = None,
) -> Person:
    """Add a person.

    Args:
        name: The pseudonym in exports.
        role: annotator, control, owner or trial.
        outside: Ids from a recruiting site.
        outside_key: Salted hash of the id that identifies the person.

    Raises:
        AnnotationError: The name is taken, empty, too long or not printable, or the role is
            unknown.
    """
    name = name.strip()
    if not name or len(name) > _MAX_NAME or not name.isprintable():
        raise AnnotationError(f"name {name!r:.60} must have 1 to {_MAX_NAME} printable characters")
    check_role(role)
    if find_person(db, name):
        raise AnnotationError(f"name {name!r} is already taken; choose another name")
    person = Person(name=name, role=role, outside_key=outside_key, created=db.now())
    person.outside = dict(outside or {})
    db.add(person)
    db.flush()
    return person


def check_role(role: str) -> None:
    """Refuse a role that is not in `PERSON_ROLES`."""
    if role not in PERSON_ROLES:
        raise AnnotationError(f"unknown role {role!r:.40}; {did_you_mean(role, PERSON_ROLES)}")


@reads
def get_person(db: Transaction, person_id: int, lock: bool = False) -> Person:
    """Return a person.

    Args:
        lock: Whether other transactions that change the person wait until this one ends.

    Raises:
        AnnotationError: The person does not exist.
    """
    person = db.get(Person, person_id, with_for_update=lock or None)
    if person is None:
        raise AnnotationError("unknown participant; open your link again", 403)
    return person


@reads
def find_person(db: Transaction, name: str) -> Person | None:
    """Return a person by pseudonym, None if unknown."""
    return db.scalar(select(Person).where(Person.name == name))


@reads
def get_people(db: Transaction) -> Sequence[Person]:
    """Return all people, in order of joining."""
    return db.scalars(select(Person).order_by(Person.id)).all()


@writes
def save_recruiter_id(db: Transaction, person_id: int, name: str, value: str) -> str:
    """Save an id of a recruiting site under a name, unless one is stored; return the stored id."""
    person = get_person(db, person_id, lock=True)
    person.outside = person.outside | {name: person.outside.get(name, value)}
    return person.outside[name]


@writes
def save_consent(db: Transaction, person_id: int, text: str = "") -> None:
    """Save the time of a person's first consent, and an event with the text if there is one."""
    person = get_person(db, person_id, lock=True)
    if person.consented is None:
        person.consented = now = db.now()
        if text:
            detail = {"text": text}
            db.add(Event(person_id=person_id, kind="consented", detail=detail, created=now))


@writes_locked
def withdraw_person(
    db: Transaction, person_id: int, mode: str = "delete", earned: Mapping[str, float] | None = None
) -> Leaver | None:
    """Remove a person from the study, end their sessions and revoke their links.

    The person's row stays, without ids, so that exports can count withdrawals.

    Args:
        mode: "delete" deletes all answers, "anonymous" keeps them under a new random name.
        earned: `for_items` and `for_hours` of `Pay`.

    Returns:
        The separate record for payment; None if nothing is owed.
    """
    now = db.now()
    person = get_person(db, person_id, lock=True)
    if person.withdrawn is not None:
        return None
    is_own = Assignment.person_id == person_id
    if mode == "delete":
        if person.role == "annotator" and person.reopened is None:
            _change_done_counts(db, person, -1)
        of_person = Answer.assignment_id.in_(select(Assignment.id).where(is_own))
        db.execute(delete(Answer).where(of_person))
        db.execute(delete(Assignment).where(is_own))
        db.execute(delete(Event).where(Event.person_id == person_id))
    else:  # the places of unfinished items are open to others
        unfinished = update(Assignment).where(is_own, Assignment.state == "open")
        db.execute(unfinished.values(state="expired"))
    is_owed = sum((earned or {}).values()) - sum(person.paid.values()) > 0.005
    leaver = Leaver(
        key=person.outside_key or secrets.token_hex(),
        outside=person.outside if is_owed else {},
        earned=dict(earned or {}) if is_owed or person.paid else {},
        paid=person.paid,
    )
    if person.outside_key or is_owed or person.paid:
        db.add(leaver)
    person.name, person.withdrawn = f"withdrawn-{secrets.token_hex(4)}", now
    person.outside, person.outside_key = {}, None
    person.browser, person.paid = None, {}
    db.execute(delete(Session).where(Session.person_id == person_id))
    links = update(Invitation).where(Invitation.person_id == person_id)
    db.execute(links.values(revoked=now, label=""))
    db.add(Event(person_id=person_id, kind="withdrawn", detail={"mode": mode}, created=now))
    return leaver if is_owed else None


DECISIONS = ("accept", "refuse", "rules", "let-in", "sign-out")
_LONGEST_ANSWER = 2_000
_REFUSAL_DELAY = 600_000  # milliseconds after the first doubt


@writes_locked
def decide_on_person(db: Transaction, person_id: int, decision: str, by: str = "") -> None:
    """Carry out and record the owner's decision about a person.

    Args:
        decision: `accept`: use the votes regardless of the rules, and take back reopened places;
            `refuse`: ignore the votes, assign nothing more, and open the places to others;
            `rules`: let the rules decide again; `let-in`: allow a new browser on a shared link;
            `sign-out`: end all sessions.
        by: The owner's name.

    Raises:
        AnnotationError: The decision is unknown, or applies only to annotators and the person has
            another role.
    """
    person = get_person(db, person_id, lock=True)
    if decision not in DECISIONS:
        hint = did_you_mean(decision, DECISIONS)
        raise AnnotationError(f"unknown decision {decision!r:.40}; {hint}")
    if decision == "sign-out":
        db.execute(delete(Session).where(Session.person_id == person.id))
    elif decision == "let-in":
        person.browser = None
    elif person.role != "annotator":
        raise AnnotationError(f"{person.name} is not an annotator; choose one for {decision!r}")
    elif decision == "refuse":
        person.verdict = "refuse"
        release_items(db, person)
    else:
        person.verdict = "accept" if decision == "accept" else ""
        if person.reopened is not None:
            _change_done_counts(db, person, 1)
        person.reopened = person.stopped = None
    detail = {"as": decision, "by": by}
    db.add(Event(person_id=person.id, kind="decided", detail=detail, created=db.now()))


@writes_locked
def refuse_by_rules(db: Transaction, person_ids: list[int]) -> list[str]:
    """Stop people whom the rules refuse, open their places, and return the newly stopped names.

    A person is stopped only if still refused ten minutes after the first call. People about whom
    the owner has decided are unaffected.

    Args:
        person_ids: Ids of all people whom the rules refuse now.
    """
    is_doubt = Event.kind == "doubted"
    db.execute(delete(Event).where(is_doubt, Event.person_id.not_in(person_ids)))
    doubts = dict(db.execute(select(Event.person_id, Event.created).where(is_doubt)).all())
    is_open = (Person.role == "annotator") & Person.reopened.is_(None) & Person.withdrawn.is_(None)
    query = select(Person).where(Person.id.in_(person_ids), is_open, Person.verdict == "")
    names, detail = [], {"as": "refused by the rules"}
    for person in db.scalars(query).all():
        if person.id not in doubts:
            db.add(Event(person_id=person.id, kind="doubted", created=db.now()))
        elif db.now() >= doubts[person.id] + _REFUSAL_DELAY:
            names.append(person.name)
            release_items(db, person)
            db.add(Event(person_id=person.id, kind="decided", detail=detail, created=db.now()))
    return names


@reads
def get_verdicts(db: Transaction) -> dict[str, str]:
    """Return decisions that override the rules, by name: a reason to refuse, or "" to accept.

    People whose items were opened to others stay refused, unless the owner accepts them.
    """
    query = select(Person).where((Person.verdict != "") | Person.reopened.is_not(None))
    reasons = {"accept": "", "refuse": Reason("rejected by the owner")}
    reopened = Reason("items were opened to others")
    decided = {person.name: reasons.get(person.verdict, reopened) for person in db.scalars(query)}
    return find_failed_checks(db) | decided


@reads
def find_failed_checks(db: Transaction) -> dict[str, Reason]:
    """Return the names of people with too many wrong answers to checks, with the reasons."""
    columns = (Person.name, Item.id, Item.expected, ItemImage.image, Answer.value)
    query = select(*columns).select_from(Answer).join(Assignment).join(Item).join(Person)
    query = query.outerjoin(ItemImage, ItemImage.id == Answer.item_image_id)
    wrong_items: dict[str, set[int]] = defaultdict(set)
    query = query.where(Item.purpose == "check", Answer.current)
    for name, item, expected, image, value in db.execute(query):
        if not db.study.kind.is_right(value, expected[image or ""]):
            wrong_items[name].add(item)
    return {
        name: Reason("answered %(count)s checks incorrectly", count=len(items))
        for name, items in wrong_items.items()
        if len(items) > db.study.checks.max_wrong
    }


@writes
def save_survey(db: Transaction, person_id: int, answers: Sequence[str]) -> None:
    """Save answers to the survey, in the order of its questions; keep earlier answers.

    Raises:
        AnnotationError: An answer is missing, too long, or not one of the choices.
    """
    survey = db.study.survey
    by_question = dict(zip(survey, answers, strict=False))
    is_listed = all(not c or a in ("", *c) for a, c in zip(answers, survey.values(), strict=False))
    if len(answers) != len(survey) or not is_listed or max(map(len, answers)) > _LONGEST_ANSWER:
        raise AnnotationError("survey: answer with a listed choice or up to 2,000 characters", 409)
    get_person(db, person_id, lock=True)
    if not get_survey(db, person_id):
        db.add(Event(person_id=person_id, kind="surveyed", detail=by_question, created=db.now()))


@reads
def get_survey(db: Transaction, person_id: int) -> Mapping[str, str]:
    """Return a person's answers to the survey, by question; {} if there are none."""
    is_own = (Event.person_id == person_id) & (Event.kind == "surveyed")
    return db.scalar(select(Event.detail).where(is_own)) or {}


def release_items(db: Transaction, person: Person) -> None:
    """Open a person's items to others, and assign the person nothing more."""
    person.stopped = person.stopped or db.now()
    if person.reopened is None:
        person.reopened = db.now()
        _change_done_counts(db, person, -1)
        assignments = update(Assignment).where(Assignment.person_id == person.id)
        db.execute(assignments.where(Assignment.state == "open").values(state="expired"))


def _change_done_counts(db: Transaction, person: Person, change: int) -> None:
    is_done = (Assignment.person_id == person.id) & Assignment.finished.is_not(None)
    item_ids = select(Assignment.item_id).where(is_done)
    db.execute(update(Item).where(Item.id.in_(item_ids)).values(done=Item.done + change))
