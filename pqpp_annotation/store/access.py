"""Who is let in: links, browsers that are signed in, and how often something may be tried."""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, and_, bindparam, delete, func, select, update

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.people import add_person, check_role, find_person, get_person
from pqpp_annotation.store.tables import (
    Assignment,
    Attempt,
    Invitation,
    Leaver,
    Person,
    Session,
    StudyRow,
)
from pqpp_annotation.store.transactions import Store, Transaction, reads, writes, writes_alone

PERSON_IDS = ("PROLIFIC_PID", "workerId", "participant_id")
"""What recruiting sites call a person's id in a link."""

_DAY = 86_400_000
_MOST = 10_000


@writes
def make_links(
    db: Transaction,
    count: int = 1,
    role: str = "annotator",
    label: str = "",
    days: float = 30,
    is_shared: bool = False,
    person_id: int | None = None,
) -> list[tuple[str, Invitation]]:
    """Make links.

    Args:
        role: Role of the people who follow them.
        label: A note of the owner's; annotators do not see it.
        days: After which a link expires.
        is_shared: Whether many people follow each link, whom a recruiting site identifies.
        person_id: The person who gets the links, if already known.

    Returns:
        The token of each link, which is not stored, and its stored record.

    Raises:
        AnnotationError: The count, role or days are impossible.
    """
    if not 1 <= count <= _MOST or not 0 < days <= 3650:
        raise AnnotationError(f"{count} links for {days:g} days: use 1 to {_MOST}, up to 3650 days")
    check_role(role)
    if is_shared and role != "annotator":
        raise AnnotationError(f"role {role}: a shared link is for annotators only; remove it")
    row = {"role": role, "label": label, "is_shared": is_shared, "person_id": person_id}
    row["expires"] = db.now() + int(days * _DAY)
    tokens = [secrets.token_urlsafe(24) for _ in range(count)]
    links = [Invitation(token_hash=_hash_token(token), **row) for token in tokens]
    db.add_all(links)
    db.flush()
    return list(zip(tokens, links, strict=True))


@writes_alone
def redeem_link(
    db: Transaction, token: str, outside: Mapping[str, Any] | None = None, browser: str = ""
) -> Person:
    """Return the person of a link; its first use makes one.

    An id behind a shared link can be typed by anyone, so the first browser that uses it owns
    it: any other is refused until the owner lets it in.

    Args:
        token: The end of the link.
        outside: Ids that a recruiting site sent along, such as PROLIFIC_PID; behind a shared
            link one of `PERSON_IDS` identifies the person.
        browser: The browser's secret; needed for a shared link.

    Raises:
        AnnotationError: The link does not exist, has expired or was revoked; or it is shared
            and has no id, or an id that another browser owns; or the person with this id used
            another link, or has left.
    """
    link = check_link(db, token)
    if link.person_id is not None:
        return get_person(db, link.person_id)
    key = _get_outside_key(db, link, outside or {})
    if db.scalar(select(Leaver.key).where(Leaver.key == key)):
        raise AnnotationError("you have left this study; there is nothing more to do", 403)
    earlier = db.scalar(select(Person).where(Person.outside_key == key).with_for_update())
    if earlier is not None and key is not None:
        # Whose browser this is, a link of one's own cannot tell, neither this one nor another.
        if not link.is_shared or db.scalar(
            select(Invitation.id).where(Invitation.person_id == earlier.id).limit(1)
        ):
            raise AnnotationError("this id belongs to another link; open that one", 403)
        return _bind_browser(earlier, browser)
    name = f"{link.role}-{link.id}"
    if link.is_shared or find_person(db, name):
        name = f"{link.role}-{secrets.token_hex(6)}"
    person = add_person(db, name, link.role, outside=outside, outside_key=key)
    if not link.is_shared:
        link.person_id = person.id
        return person
    return _bind_browser(person, browser)


@reads
def has_joined(db: Transaction, link: Invitation, outside: Mapping[str, Any]) -> bool:
    """Return whether the person of a link has joined before.

    Raises:
        AnnotationError: An id is missing, or is a placeholder like `{{%PROLIFIC_PID%}}`.
    """
    if link.person_id is not None:
        return True
    key = Person.outside_key == _get_outside_key(db, link, outside)
    return db.scalar(select(Person.id).where(key)) is not None


def _bind_browser(person: Person, browser: str) -> Person:
    """Return a person whom this browser holds, or who is nobody's yet."""
    if not browser:
        raise AnnotationError("this link needs cookies; allow them in your browser", 403)
    kept = _hash_token(browser)
    person.browser = person.browser or kept
    if person.browser != kept:
        raise AnnotationError(
            "this id was first used in another browser; continue there, or ask the sender of the "
            "link to allow this one",
            403,
        )
    return person


@reads
def check_link(db: Transaction, token: str) -> Invitation:
    """Return the record of a usable link, without changing anything.

    Raises:
        AnnotationError: The link does not exist, has expired or was revoked.
    """
    link = db.scalar(select(Invitation).where(Invitation.token_hash == _hash_token(token)))
    if link is None:
        raise AnnotationError("this link is unknown; copy the whole address", 403)
    if link.revoked is not None:
        raise AnnotationError("this link was revoked; ask the sender for a new one", 403)
    if link.expires <= db.now():
        raise AnnotationError("this link has expired; ask the sender for a new one", 403)
    return link


@writes
def revoke_link(db: Transaction, invitation_id: int) -> None:
    """End a link at once, and the sessions that began with it; the person whom it made stays.

    Raises:
        AnnotationError: The link does not exist.
    """
    link = db.get(Invitation, invitation_id)
    if link is None:
        raise AnnotationError(f"there is no invitation {invitation_id}", 403)
    link.revoked = link.revoked or db.now()
    db.execute(delete(Session).where(Session.invitation_id == invitation_id))


@reads
def get_server_url(db: Transaction) -> str:
    """Return the server's last known address; by default this machine."""
    return db.scalar(select(StudyRow.url)) or "http://127.0.0.1:8000"


@writes
def save_server_url(db: Transaction, url: str) -> None:
    """Save the server's public address, for links."""
    db.execute(update(StudyRow).values(url=url.rstrip("/")))


@reads
def get_links(db: Transaction) -> Sequence[Invitation]:
    """Return all links, in the order in which they were made."""
    return db.scalars(select(Invitation).order_by(Invitation.id)).all()


def _get_outside_key(db: Transaction, link: Invitation, outside: Mapping[str, Any]) -> str | None:
    """Return the key of a person from a recruiting site; None without an id."""
    name = next((name for name in PERSON_IDS if outside.get(name)), None)
    if link.role != "annotator" or (name is None and not link.is_shared):
        return None
    if name is None or re.search(r"[{}%$]", outside[name]):
        raise AnnotationError(
            "your id is missing from this address (PROLIFIC_PID, workerId or participant_id). Open "
            "the study again from the site that sent you; if that does not help, contact the "
            "researcher",
            403,
        )
    return _hash_token(f"{db.scalar(select(StudyRow.salt))} {name} {outside[name]}")


def _hash_token(token: str) -> str:
    # A token has 192 random bits, so that a slow hash would add nothing.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


DAYS = 90
"""How long a session lasts at most; one that began with a link ends with it."""

_PERSON = (
    select(Person)
    .join(Session, Session.person_id == Person.id)
    .where(Session.visit == bindparam("visit"), Session.expires > bindparam("now"))
    .where(Person.withdrawn.is_(None))
)
_ITEM = _PERSON.with_only_columns(Person.id, Assignment.item_id).outerjoin(
    Assignment, and_(Assignment.person_id == Person.id, Assignment.id == bindparam("assignment"))
)


@writes
def start_session(db: Transaction, visit: str, person_id: int, invitation_id: int) -> None:
    """Sign a browser in as a person.

    Args:
        visit: The value of its cookie; only the hash is stored.
        invitation_id: The link that the person followed.
    """
    expires = min(db.now() + DAYS * _DAY, db.get_one(Invitation, invitation_id).expires)
    db.execute(delete(Session).where(Session.expires <= db.now()))
    row = {"person_id": person_id, "invitation_id": invitation_id, "expires": expires}
    db.add(Session(visit=_hash_token(visit), **row))


@reads
def get_session_person(db: Transaction, visit: str) -> Person | None:
    """Return the signed-in person; None if the session has ended or the person has left."""
    return db.scalar(_PERSON, {"visit": _hash_token(visit), "now": db.now()})


@reads
def get_session_item(db: Transaction, visit: str, assignment_id: int) -> Row | None:
    """Return `id` of who is signed in, and `item_id` of an assignment, None if it is another's."""
    about = {"visit": _hash_token(visit), "now": db.now(), "assignment": assignment_id}
    return db.run(_ITEM, **about).first()


@writes
def end_session(db: Transaction, visit: str) -> None:
    """Sign a browser out."""
    db.execute(delete(Session).where(Session.visit == _hash_token(visit)))


class Limit:
    """At most `count` attempts of a key in `seconds`.

    An attempt is counted before it is made, so that many at once are not all let in.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study()
        >>> store.clock = lambda: 0
        >>> limit = Limit(store, "links", count=2, seconds=60)
        >>> limit.take("a"), limit.take("a"), limit.take("a"), limit.take("b")
        (0, 0, 60, 0)
        >>> store.close()
    """

    def __init__(self, store: Store, name: str, count: int, seconds: float) -> None:
        self._store, self._name = store, name
        self._count, self._milliseconds = count, int(seconds * 1000)

    def take(self, *keys: str) -> int:
        """Count an attempt, and return 0; or how many seconds it has to wait, and count nothing."""
        key, recent = (
            _hash_token("\n".join((self._name, *keys))),
            select(func.count(), func.min(Attempt.created)),
        )
        with self._store.writing(alone=True) as db:
            since = db.now() - self._milliseconds
            recent = recent.where(Attempt.key == key, Attempt.created > since)
            tries, first = db.execute(recent).one()
            if tries >= self._count:
                return max(1, round((first + self._milliseconds - db.now()) / 1000))
            db.execute(delete(Attempt).where(Attempt.created <= db.now() - 3_600_000))
            db.add(Attempt(key=key, created=db.now()))
        return 0
