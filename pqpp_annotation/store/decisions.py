"""The owner's word on a person, and places that open again where a person's votes are not used."""

from sqlalchemy import select, update

from pqpp_annotation.errors import StoreError
from pqpp_annotation.store.people import person_by_id
from pqpp_annotation.store.sessions import end_sessions
from pqpp_annotation.store.tables import Assignment, Event, Item, Person, StudyRow
from pqpp_annotation.store.transactions import Transaction, reads, writes, writes_alone
from pqpp_datasets.own_benchmark.trust.reason import Reason
from pqpp_files.names import did_you_mean

DECISIONS = ("accept", "refuse", "rules", "stop", "resume", "reopen", "let-in", "sign-out")
_LONGEST = 2_000


@writes_alone
def decide_on_person(db: Transaction, person_id: int, decision: str) -> None:
    """Do what the owner decides about a person.

    Args:
        decision: `accept` uses the votes whatever the rules say, and takes the places back;
            `refuse` uses them no more, gives nothing more out and opens the places; `rules` leaves
            it to the rules again; `stop` gives nothing more out, and `resume` does again; `reopen`
            opens the places alone; `let-in` lets the next browser hold the id behind a shared
            link; `sign-out` ends all sessions.

    Raises:
        StoreError: The decision is another, or the person is no annotator.
    """
    person = person_by_id(db, person_id, lock=True)
    if decision not in DECISIONS:
        raise StoreError(f"decision {decision!r:.40}: {did_you_mean(decision, DECISIONS)}")
    if decision == "sign-out":
        end_sessions(db, person.id)
    elif decision == "let-in":
        person.browser = None
    elif person.role != "annotator":
        raise StoreError(f"{person.name} is not an annotator, and can only be signed out")
    elif decision in ("stop", "resume"):
        person.stopped = db.now() if decision == "stop" else None
    elif decision in ("refuse", "reopen"):
        person.verdict = "refuse" if decision == "refuse" else person.verdict
        open_places(db, person)
    else:
        person.verdict = "accept" if decision == "accept" else ""
        _take_places_back(db, person)
    db.add(Event(person_id=person.id, kind="decided", detail={"as": decision}, created=db.now()))


@writes_alone
def refuse_by_rules(db: Transaction, person_ids: list[int]) -> list[str]:
    """Open the places of people whom the rules refuse, and return the names of those it is new of.

    An owner's word counts more than the rules.
    """
    own = (Person.role == "annotator") & Person.reopened.is_(None) & Person.withdrawn.is_(None)
    query = select(Person).where(Person.id.in_(person_ids), own, Person.verdict == "")
    people = db.scalars(query).all()
    for person in people:
        open_places(db, person)
        detail = {"as": "refused by the rules"}
        db.add(Event(person_id=person.id, kind="decided", detail=detail, created=db.now()))
    return [person.name for person in people]


@reads
def verdicts(db: Transaction) -> dict[str, str]:
    """Return whose votes the rules do not decide on: a name to the reason of refusal, "" for none.

    Whose places are open again stays refused, as others do what the person did.
    """
    query = select(Person).where((Person.verdict != "") | Person.reopened.is_not(None))
    reasons = {"accept": "", "refuse": Reason("refused by the owner")}
    reopened = Reason("the places were opened to others")
    return {scalar.name: reasons.get(scalar.verdict, reopened) for scalar in db.scalars(query)}


def open_places(db: Transaction, person: Person) -> None:
    """Let others do what a person did, and give the person nothing more."""
    person.stopped = person.stopped or db.now()
    if person.reopened is None:
        person.reopened = db.now()
        _count_places(db, person, -1)
        held = update(Assignment).where(Assignment.person_id == person.id)
        db.execute(held.where(Assignment.state == "open").values(state="expired"))


def _take_places_back(db: Transaction, person: Person) -> None:
    if person.reopened is not None:
        person.reopened = None
        _count_places(db, person, 1)
    person.stopped = None


def _count_places(db: Transaction, person: Person, change: int) -> None:
    done = select(Assignment.item_id).where(
        Assignment.person_id == person.id, Assignment.finished.is_not(None)
    )
    db.execute(update(Item).where(Item.id.in_(done)).values(done=Item.done + change))


@reads
def message_to_all(db: Transaction) -> str:
    """Return what the owner says to everybody; "" for nothing."""
    return db.scalar(select(StudyRow.message)) or ""


@writes
def say(db: Transaction, message: str, person_id: int | None = None) -> None:
    """Keep what the owner says to a person, or to everybody; "" takes it back.

    Raises:
        StoreError: It is too long.
    """
    message = message.strip()
    if len(message) > _LONGEST or "\0" in message:
        raise StoreError(
            f"message: it has {len(message):,} characters; at most {_LONGEST:,} may be sent"
        )
    if person_id is None:
        db.execute(update(StudyRow).values(message=message))
    else:
        person_by_id(db, person_id, lock=True).message = message
