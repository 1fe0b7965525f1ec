"""Who is signed in: a row for each browser, so that signing out or a revoked link ends it here."""

import hashlib

from sqlalchemy import Row, and_, bindparam, delete, select

from pqpp_annotation.store.tables import Assignment, Invitation, Person, SessionRow
from pqpp_annotation.store.transactions import Transaction, reads, writes

DAYS = 90
"""How long a session lasts at most; one that began with a link ends with it."""

_DAY = 86_400_000
_PERSON = (
    select(Person)
    .join(SessionRow, SessionRow.person_id == Person.id)
    .where(SessionRow.visit == bindparam("visit"), SessionRow.expires > bindparam("now"))
    .where(Person.withdrawn.is_(None))
)
_ITEM = _PERSON.with_only_columns(Person.id, Assignment.item_id).outerjoin(
    Assignment, and_(Assignment.person_id == Person.id, Assignment.id == bindparam("assignment"))
)


@writes
def start_session(
    db: Transaction, visit: str, person_id: int, invitation_id: int | None = None
) -> None:
    """Keep that a browser is signed in as a person.

    Args:
        visit: What its cookie says; only the hash is kept.
        invitation_id: The link that it came by; None for a password.
    """
    expires = db.now() + DAYS * _DAY
    if invitation_id is not None:
        expires = min(expires, db.get_one(Invitation, invitation_id).expires)
    db.execute(delete(SessionRow).where(SessionRow.expires <= db.now()))
    row = {"person_id": person_id, "invitation_id": invitation_id, "expires": expires}
    db.add(SessionRow(visit=_hashed(visit), **row))


@reads
def person_of_session(db: Transaction, visit: str) -> Person | None:
    """Return who is signed in; None where the session has ended, or the person has left."""
    return db.scalar(_PERSON, {"visit": _hashed(visit), "now": db.now()})


@reads
def item_of_session(db: Transaction, visit: str, assignment_id: int) -> Row | None:
    """Return `id` of who is signed in, and `item_id` of an assignment, None if it is another's."""
    about = {"visit": _hashed(visit), "now": db.now(), "assignment": assignment_id}
    return db.run(_ITEM, **about).first()


@writes
def end_session(db: Transaction, visit: str) -> None:
    """Sign a browser out."""
    db.execute(delete(SessionRow).where(SessionRow.visit == _hashed(visit)))


@writes
def end_sessions(
    db: Transaction, person_id: int | None = None, invitation_id: int | None = None
) -> None:
    """Sign all browsers of a person out, or all that came by a link."""
    own = SessionRow.person_id == person_id
    if invitation_id is not None:
        own = SessionRow.invitation_id == invitation_id
    db.execute(delete(SessionRow).where(own))


def _hashed(visit: str) -> str:
    return hashlib.sha256(visit.encode("utf-8", "surrogatepass")).hexdigest()
