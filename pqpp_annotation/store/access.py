"""Access to a study: invitation links, signed-in browsers and rate limits."""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, select, update

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.people import add_person, check_role, find_person, get_person
from pqpp_annotation.store.tables import Attempt, Invitation, Leaver, Person, Session, StudyRow
from pqpp_annotation.store.transactions import Transaction, reads, writes, writes_locked

PERSON_IDS = ("PROLIFIC_PID", "workerId", "participant_id")
"""URL parameters in which recruiting sites send a person's id."""

_DAY = 86_400_000
_MOST_LINKS = 10_000


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
    """Create invitation links.

    Args:
        role: Role of the people who join with them.
        label: The owner's note, hidden from annotators.
        days: Days until the links expire.
        is_shared: Whether many people use each link, identified by a recruiting site.
        person_id: The person whom the links sign in; None for new people.

    Returns:
        The token of each link, which is not stored, and the link's record.

    Raises:
        AnnotationError: The count, role or days are invalid.
    """
    if not 1 <= count <= _MOST_LINKS or not 0 < days <= 3650:
        allowed = f"expected 1 to {_MOST_LINKS} links, valid for up to 3650 days"
        raise AnnotationError(f"{allowed}; got links: {count}, days: {days:g}")
    check_role(role)
    if is_shared and role != "annotator":
        raise AnnotationError(f"shared links are for annotators; remove the role {role!r}")
    row = {"role": role, "label": label, "is_shared": is_shared, "person_id": person_id}
    row["expires"] = db.now() + int(days * _DAY)
    tokens = [secrets.token_urlsafe(24) for _ in range(count)]
    links = [Invitation(token_hash=_hash_token(token), **row) for token in tokens]
    db.add_all(links)
    db.flush()
    return list(zip(tokens, links, strict=True))


@writes_locked
def redeem_link(
    db: Transaction, token: str, outside: Mapping[str, Any] | None = None, browser: str = ""
) -> Person:
    """Return the person who uses a link; the first use adds the person.

    As anyone can type an id into a shared link, an id belongs to the first browser that uses it;
    other browsers are refused until the owner allows a new one.

    Args:
        token: The last part of the link.
        outside: Ids from a recruiting site, such as PROLIFIC_PID; on a shared link, one of
            `PERSON_IDS` identifies the person.
        browser: The browser's secret cookie; required on a shared link.

    Raises:
        AnnotationError: The link is unknown, expired or revoked; a shared link has no id, or the
            id of another browser; or the person with this id used another link or has left.
    """
    link = get_link(db, token)
    if link.person_id is not None:
        return get_person(db, link.person_id)
    key = _hash_recruiter_id(db, link, outside or {})
    if db.scalar(select(Leaver.key).where(Leaver.key == key)):
        raise AnnotationError("you have left this study; there is nothing more to do", 403)
    existing = db.scalar(select(Person).where(Person.outside_key == key).with_for_update())
    if existing is not None and key is not None:
        # A personal link, this one or an earlier one, does not identify the browser.
        if not link.is_shared or db.scalar(
            select(Invitation.id).where(Invitation.person_id == existing.id).limit(1)
        ):
            raise AnnotationError("this ID was used with another link; open that link", 403)
        return _bind_browser(existing, browser)
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
    """Return whether the person who uses a link has joined before.

    Raises:
        AnnotationError: An id is missing or a placeholder, such as `{{%PROLIFIC_PID%}}`.
    """
    if link.person_id is not None:
        return True
    is_same_id = Person.outside_key == _hash_recruiter_id(db, link, outside)
    return db.scalar(select(Person.id).where(is_same_id)) is not None


def _bind_browser(person: Person, browser: str) -> Person:
    """Bind a person's id to their first browser, and refuse any other; return the person."""
    if not browser:
        raise AnnotationError("this link needs cookies; allow cookies in your browser", 403)
    browser_hash = _hash_token(browser)
    person.browser = person.browser or browser_hash
    if person.browser != browser_hash:
        raise AnnotationError(
            "your ID is used in another browser; use that one, or ask the sender to allow this one",
            403,
        )
    return person


@reads
def get_link(db: Transaction, token: str) -> Invitation:
    """Return the record of a valid link.

    Raises:
        AnnotationError: The link is unknown, expired or revoked.
    """
    link = db.scalar(select(Invitation).where(Invitation.token_hash == _hash_token(token)))
    if link is None:
        raise AnnotationError("this link is unknown; check that you copied the whole address", 403)
    if link.revoked is not None:
        raise AnnotationError("this link was revoked; ask the sender for a new link", 403)
    if link.expires <= db.now():
        raise AnnotationError("this link has expired; ask the sender for a new link", 403)
    return link


@writes
def revoke_link(db: Transaction, invitation_id: int) -> None:
    """Revoke a link and end its sessions; the person stays in the study.

    Raises:
        AnnotationError: The link does not exist.
    """
    link = db.get(Invitation, invitation_id)
    if link is None:
        raise AnnotationError(f"link {invitation_id} not found; check the number", 403)
    link.revoked = link.revoked or db.now()
    db.execute(delete(Session).where(Session.invitation_id == invitation_id))


@reads
def get_server_url(db: Transaction) -> str:
    """Return the server's last known URL; by default, http://127.0.0.1:8000."""
    return db.scalar(select(StudyRow.url)) or "http://127.0.0.1:8000"


@writes
def save_server_url(db: Transaction, url: str) -> None:
    """Save the server's public URL, for links."""
    db.execute(update(StudyRow).values(url=url.rstrip("/")))


@reads
def get_links(db: Transaction) -> Sequence[Invitation]:
    """Return all links, oldest first."""
    return db.scalars(select(Invitation).order_by(Invitation.id)).all()


def _hash_recruiter_id(db: Transaction, link: Invitation, outside: Mapping[str, Any]) -> str | None:
    """Return the salted hash of the id that a recruiting site gave a person; None without one."""
    name = next((name for name in PERSON_IDS if outside.get(name)), None)
    if link.role != "annotator" or (name is None and not link.is_shared):
        return None
    if name is None or re.search(r"[{}%$]", outside[name]):
        raise AnnotationError(
            "your ID is missing (PROLIFIC_PID, workerId or participant_id); open the study again "
            "from the site that sent you",
            403,
        )
    return _hash_token(f"{db.scalar(select(StudyRow.salt))} {name} {outside[name]}")


def _hash_token(token: str) -> str:
    # Tokens have 192 random bits, so a slow hash is not needed.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


DAYS = 90
"""Maximum duration of a session, which also ends when its link expires."""

_SESSION_PERSON = (
    select(Person)
    .join(Session, Session.person_id == Person.id)
    .where(Session.visit == bindparam("visit"), Session.expires > bindparam("now"))
    .where(Person.withdrawn.is_(None))
)


@writes
def start_session(db: Transaction, visit: str, person_id: int, invitation_id: int) -> None:
    """Sign a browser in as a person.

    Args:
        visit: The cookie's value; only its hash is stored.
        invitation_id: The link that the person used.
    """
    expires = min(db.now() + DAYS * _DAY, db.get_one(Invitation, invitation_id).expires)
    db.execute(delete(Session).where(Session.expires <= db.now()))
    row = {"person_id": person_id, "invitation_id": invitation_id, "expires": expires}
    db.add(Session(visit=_hash_token(visit), **row))


@reads
def get_session_person(db: Transaction, visit: str) -> Person | None:
    """Return the signed-in person; None if the session has ended or the person has left."""
    return db.scalar(_SESSION_PERSON, {"visit": _hash_token(visit), "now": db.now()})


@writes
def end_session(db: Transaction, visit: str) -> None:
    """Sign a browser out."""
    db.execute(delete(Session).where(Session.visit == _hash_token(visit)))


@writes_locked
def count_attempt(db: Transaction, *keys: str, most: int = 60, seconds: float = 600) -> int:
    """Count an attempt and return 0; over the limit, return the seconds to wait instead.

    Attempts are counted before they are made, so that simultaneous ones cannot exceed the limit.

    Args:
        keys: What is attempted, and by whom.
        most: Maximum number of attempts with these keys within `seconds`.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study()
        >>> store.clock = lambda: 0
        >>> [count_attempt(store, key, most=2, seconds=60) for key in ("a", "a", "a", "b")]
        [0, 0, 60, 0]
        >>> store.close()
    """
    key, milliseconds = _hash_token("\n".join(keys)), int(seconds * 1000)
    recent = select(func.count(), func.min(Attempt.created))
    recent = recent.where(Attempt.key == key, Attempt.created > db.now() - milliseconds)
    tries, first = db.execute(recent).one()
    if tries >= most:
        return max(1, round((first + milliseconds - db.now()) / 1000))
    db.execute(delete(Attempt).where(Attempt.created <= db.now() - 3_600_000))
    db.add(Attempt(key=key, created=db.now()))
    return 0
