"""Invitations: links that make a person at first use, and bring the same one back later."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select, update

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.store import tables
from pqpp_annotation.store.people import ROLES
from pqpp_annotation.store.rows import Link, Participant

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store

PERSON_IDS = ("PROLIFIC_PID", "workerId", "participant_id")
"""What recruiting sites call a person's id in a link."""

_DAY = 86_400_000
_MOST = 10_000
_COLUMNS = [getattr(tables.Invitation, name) for name in Link.__dataclass_fields__]


class Invitations:
    """The links of a study; the database has the hash of each token, and nobody the token."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(
        self,
        count: int = 1,
        role: str = "annotator",
        label: str = "",
        days: float = 30,
        is_shared: bool = False,
        person_id: int | None = None,
    ) -> list[tuple[str, Link]]:
        """Make links.

        Args:
            count: How many.
            role: Of who follows them.
            label: A note of the owner's; annotators do not see it.
            days: After which a link expires, for those who come back too.
            is_shared: Whether each is followed by many, whom a recruiting site tells apart.
            person_id: Who comes by them, if that person is there already.

        Returns:
            The token of each, which is kept nowhere, and what is kept.

        Raises:
            NotAllowedError: The count, role or days are impossible.
        """
        if not 1 <= count <= _MOST or not 0 < days <= 3650:
            raise NotAllowedError(
                f"{count} links for {days:g} days: 1 to {_MOST} links, up to 3650 days"
            )
        if role not in ROLES:
            raise NotAllowedError(f"role {role!r:.40} is unknown; choose among {', '.join(ROLES)}")
        if is_shared and role != "annotator":
            raise NotAllowedError(f"role {role}: a shared link is for annotators only")
        now = self._store.clock()
        row = {"role": role, "label": label, "is_shared": is_shared, "person_id": person_id}
        row |= {"created": now, "expires": now + int(days * _DAY)}
        found = []
        with self._store.writing() as db:
            for _ in range(count):
                token = secrets.token_urlsafe(24)
                made = insert(tables.Invitation).values(token_hash=_hashed(token), **row)
                kept = db.execute(made.returning(*_COLUMNS)).one()
                found.append((token, Link(*kept)))
        return found

    def redeem(self, token: str, outside: Mapping[str, Any] | None = None) -> Participant:
        """Return the person of a link; its first use makes one.

        Args:
            token: The end of the link.
            outside: Ids that a recruiting site sent along, such as PROLIFIC_PID; behind a shared
                link one of `PERSON_IDS` tells who it is.

        Raises:
            NotAllowedError: There is no such link, it has expired or was revoked, or it is shared
                and came without an id.
        """
        people = self._store.people
        with self._store.writing(alone=True) as db:
            found = self._valid(db, token)
            if found.person_id is not None:
                return people.get_in(db, found.person_id)
            key = _key_of(found, outside or {}) if found.is_shared else None
            if key is not None:
                known = db.scalar(select(tables.Person.id).where(tables.Person.outside_key == key))
                if known is not None:
                    return people.get_in(db, known)
            name = f"{found.role}-{found.id}"
            if found.is_shared or db.scalar(select(tables.Person.id).filter_by(name=name)):
                name = f"{found.role}-{secrets.token_hex(6)}"
            person = people.add_in(db, name, found.role, outside=outside, outside_key=key)
            if not found.is_shared:
                own = update(tables.Invitation).where(tables.Invitation.id == found.id)
                db.execute(own.values(person_id=person.id))
            return person

    def check(self, token: str) -> Link:
        """Return what is kept of a link that can be followed; changes nothing.

        Raises:
            NotAllowedError: There is no such link, or it has expired or was revoked.
        """
        with self._store.reading() as db:
            return self._valid(db, token)

    def revoke(self, invitation_id: int) -> None:
        """End a link at once; the person whom it made stays.

        Raises:
            NotAllowedError: There is no such link.
        """
        one = tables.Invitation
        with self._store.writing() as db:
            where = update(one).where(one.id == invitation_id, one.revoked.is_(None))
            if db.execute(where.values(revoked=self._store.clock())).rowcount:
                return
            if not db.scalar(select(one.id).where(one.id == invitation_id)):
                raise NotAllowedError(f"there is no invitation {invitation_id}")

    def all(self) -> list[Link]:
        """Return all links, in the order in which they were made."""
        with self._store.reading() as db:
            rows = db.execute(select(*_COLUMNS).order_by(tables.Invitation.id))
            return [Link(*row) for row in rows]

    def _valid(self, db: Connection, token: str) -> Link:
        where = tables.Invitation.token_hash == _hashed(token)
        row = db.execute(select(*_COLUMNS).where(where)).first()
        if row is None:
            raise NotAllowedError("this link is unknown; copy the whole of it")
        found = Link(*row)
        if found.revoked is not None:
            raise NotAllowedError("this link was revoked; ask who sent it for another")
        if found.expires <= self._store.clock():
            raise NotAllowedError("this link has expired; ask who sent it for another")
        return found


def _key_of(found: Link, outside: Mapping[str, Any]) -> str:
    """Return by what a person behind a shared link is known."""
    name = next((name for name in PERSON_IDS if outside.get(name)), None)
    if name is None:
        raise NotAllowedError(
            f"this link needs the id of who follows it ({', '.join(PERSON_IDS)}); open it from "
            "the site that sent you"
        )
    return hashlib.sha256(f"{found.id} {name} {outside[name]}".encode()).hexdigest()


def _hashed(token: str) -> str:
    # A token has 192 random bits, so that a slow hash would add nothing.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
