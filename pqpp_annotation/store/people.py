"""People: who they are, their passwords, their consent, and their leaving."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, func, insert, select, update

from pqpp_annotation.errors import NotAllowedError, StoreError
from pqpp_annotation.store import tables
from pqpp_annotation.store.rows import Participant
from pqpp_files.names import did_you_mean

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store

ROLES = ("annotator", "control", "owner")
_LONGEST_NAME = 80
_LEAST_PASSWORD = 8
_MOST_PASSWORD = 1000
_TABLE = tables.Person.__table__


@cache
def _hasher():
    """Return what hashes passwords by argon2id, and the hash of none, for unknown names."""
    from pwdlib import PasswordHash
    from pwdlib.hashers.argon2 import Argon2Hasher

    hasher = PasswordHash((Argon2Hasher(),))
    return hasher, hasher.hash(secrets.token_hex())


def person_of(row: Any) -> Participant:
    """Return a row of the table as a `Participant`."""
    values = {
        name: getattr(row, name) for name in Participant.__dataclass_fields__ if name in row._fields
    }
    return Participant(**values, has_password=row.password_hash is not None)


class Participants:
    """Those who take part in a study."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, name: str, role: str = "annotator", password: str | None = None) -> Participant:
        """Add a person.

        Args:
            name: A pseudonym, which the exports show.
            role: annotator, control or owner.
            password: For signing in without a link; at least 8 characters.

        Raises:
            StoreError: The name is taken or empty, the role unknown, the password too short.
        """
        hashed = password and self._hashed(password)
        with self._store.writing(alone=True) as db:
            return self.add_in(db, name, role, hashed)

    def add_in(
        self,
        db: Connection,
        name: str,
        role: str,
        password_hash: str | None = None,
        outside: Mapping[str, Any] | None = None,
        outside_key: str | None = None,
    ) -> Participant:
        """Add a person within a transaction that is under way."""
        name = name.strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise StoreError(f"name {name!r:.60}: 1 to {_LONGEST_NAME} printable characters")
        if role not in ROLES:
            raise StoreError(f"role {role!r:.40} is unknown; {did_you_mean(role, ROLES)}")
        if db.scalar(select(tables.Person.id).where(tables.Person.name == name)):
            raise StoreError(f"name {name!r} is taken; choose another")
        row: dict[str, Any] = {"name": name, "role": role, "password_hash": password_hash}
        row |= {"outside": dict(outside or {}), "outside_key": outside_key}
        row["created"] = self._store.clock()
        found = db.execute(insert(tables.Person).values(row).returning(*_TABLE.c)).one()
        return person_of(found)

    def get(self, person_id: int) -> Participant:
        """Return a person.

        Raises:
            NotAllowedError: There is none.
        """
        with self._store.reading() as db:
            return self.get_in(db, person_id)

    def get_in(self, db: Connection, person_id: int, lock: bool = False) -> Participant:
        """Return a person within a transaction that is under way."""
        query = select(*_TABLE.c).where(tables.Person.id == person_id)
        row = db.execute(query.with_for_update() if lock else query).first()
        if row is None:
            raise NotAllowedError("this study has no such person; open your link again")
        return person_of(row)

    def by_name(self, name: str) -> Participant | None:
        """Return a person by the pseudonym, None if there is none."""
        with self._store.reading() as db:
            row = db.execute(select(*_TABLE.c).where(tables.Person.name == name)).first()
        return None if row is None else person_of(row)

    def all(self) -> list[Participant]:
        """Return all people, in the order in which they came."""
        with self._store.reading() as db:
            return [person_of(row) for row in db.execute(select(*_TABLE.c).order_by(_TABLE.c.id))]

    def verify(self, name: str, password: str) -> Participant | None:
        """Return the person whose name and password these are, None if there is none such.

        It takes as long for a name that there is not.
        """
        hasher, nobody = _hasher()
        with self._store.reading() as db:
            row = db.execute(select(*_TABLE.c).where(tables.Person.name == name)).first()
        kept = row.password_hash if row and row.password_hash and not row.withdrawn else None
        is_right = len(password) <= _MOST_PASSWORD and hasher.verify(password, kept or nobody)
        return person_of(row) if kept and is_right else None

    def set_password(self, person_id: int, password: str) -> None:
        """Set a password; sessions that there are end."""
        hashed = self._hashed(password)
        with self._store.writing() as db:
            self._set(db, person_id, password_hash=hashed, session=tables.Person.session + 1)

    def set_outside(self, person_id: int, outside: Mapping[str, Any]) -> None:
        """Keep the ids that a recruiting site sent, beside those that are there."""
        with self._store.writing() as db:
            known = self.get_in(db, person_id, lock=True).outside
            self._set(db, person_id, outside={**known, **outside})

    def first_outside(self, person_id: int, name: str, value: str) -> str:
        """Keep a value under a name that has none yet, and return the one that is kept."""
        with self._store.writing() as db:
            known = self.get_in(db, person_id, lock=True).outside
            if name not in known:
                self._set(db, person_id, outside={**known, name: value})
            return known.get(name, value)

    def consent(self, person_id: int) -> None:
        """Keep that a person has agreed, and when; the first time counts."""
        with self._store.writing() as db:
            if self.get_in(db, person_id, lock=True).consented is None:
                self._set(db, person_id, consented=self._store.clock())

    def end_sessions(self, person_id: int) -> None:
        """End all sessions of a person, on every device."""
        with self._store.writing() as db:
            self._set(db, person_id, session=tables.Person.session + 1)

    def withdraw(self, person_id: int, mode: str = "delete") -> None:
        """Let a person leave the study; sessions end, links to it are revoked.

        Args:
            person_id: Who.
            mode: "delete" removes all answers, "anonymous" keeps them under a new name that tells
                nothing. Either way the row stays, so that an export can say how many withdrew.

        Raises:
            StoreError: The mode is another.
        """
        if mode not in ("delete", "anonymous"):
            raise StoreError(f"mode {mode!r:.40} is unknown; delete or anonymous")
        now = self._store.clock()
        with self._store.writing(alone=True) as db:
            person = self.get_in(db, person_id, lock=True)
            if person.withdrawn is not None:
                return
            if mode == "delete":
                _delete_answers(db, person)
            else:
                _close_assignments(db, person)
            name = f"withdrawn-{secrets.token_hex(4)}"
            values: dict[str, Any] = {"name": name, "outside": {}, "withdrawn": now}
            values |= {"password_hash": None, "outside_key": None}
            values["session"] = tables.Person.session + 1
            self._set(db, person_id, **values)
            links = update(tables.Invitation).where(tables.Invitation.person_id == person_id)
            db.execute(links.values(revoked=now, label=""))
            row = {"person_id": person_id, "kind": "withdrawn", "detail": {"mode": mode}}
            db.execute(insert(tables.Event).values(created=now, **row))

    def count_withdrawn(self) -> dict[str, int]:
        """Return how many have left, by mode."""
        event = tables.Event
        with self._store.reading() as db:
            modes = db.scalars(select(event.detail).where(event.kind == "withdrawn")).all()
        return {m: sum(one["mode"] == m for one in modes) for m in ("delete", "anonymous")}

    def _set(self, db: Connection, person_id: int, **values: Any) -> None:
        where = tables.Person.id == person_id
        if not db.execute(update(tables.Person).where(where).values(**values)).rowcount:
            raise NotAllowedError("this study has no such person")

    def _hashed(self, password: str) -> str:
        if not _LEAST_PASSWORD <= len(password) <= _MOST_PASSWORD:
            raise StoreError(
                f"the password has {len(password)} characters; {_LEAST_PASSWORD} or more"
            )
        return _hasher()[0].hash(password)


def _close_assignments(db: Connection, person: Participant) -> None:
    """Give back what a person has not finished."""
    own = tables.Assignment.person_id == person.id
    is_open = tables.Assignment.state == "open"
    db.execute(update(tables.Assignment).where(own, is_open).values(state="expired"))


def _delete_answers(db: Connection, person: Participant) -> None:
    """Remove what a person said, and the places that it took."""
    assignment, item, answer = tables.Assignment, tables.Item, tables.Answer
    own = select(assignment.id).where(assignment.person_id == person.id)
    if person.role == "annotator":
        done = select(assignment.item_id).where(
            assignment.person_id == person.id, assignment.finished.is_not(None)
        )
        db.execute(update(item).where(item.id.in_(done)).values(done=item.done - 1))
    db.execute(delete(answer).where(answer.assignment_id.in_(own)))
    db.execute(delete(assignment).where(assignment.person_id == person.id))
    db.execute(delete(tables.Event).where(tables.Event.person_id == person.id))
    decided = tables.Adjudication
    count = select(func.count()).where(decided.person_id == person.id)
    if db.scalar(count):
        raise StoreError("an owner who has decided on items cannot be deleted; use anonymous")
