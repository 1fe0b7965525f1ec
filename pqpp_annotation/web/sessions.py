"""Who is asking: a signed cookie that says which person, and the token that forms must bring."""

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from itsdangerous import BadSignature, Signer, URLSafeTimedSerializer

from pqpp_annotation.errors import StudyError

DAYS = 90
"""How long a session lasts without a visit."""

LEAST_SECRET = 32


@dataclass(frozen=True)
class Session:
    """What the cookie holds.

    Attributes:
        visit: Random; new at every sign-in.
        person: The person's id, None for a visitor.
        count: The person's session counter when it was made; `end_sessions` counts it up.
    """

    visit: str
    person: int | None = None
    count: int = 0


class Sessions:
    """Makes and reads session cookies.

    Args:
        secret: Signs them; whoever has it can be anybody.

    Example:
        >>> sessions = Sessions("x" * 32)
        >>> session = sessions.fresh(person=7, count=1)
        >>> sessions.read(sessions.write(session)) == session
        True
        >>> sessions.read("forged") is None
        True
    """

    def __init__(self, secret: str) -> None:
        self._cookie = URLSafeTimedSerializer(secret, salt="pqpp-session")
        self._token = Signer(secret, salt="pqpp-form")

    def fresh(self, person: int | None = None, count: int = 0) -> Session:
        """Return a new session."""
        return Session(secrets.token_urlsafe(18), person, count)

    def write(self, session: Session) -> str:
        """Return the value of the cookie."""
        return self._cookie.dumps([session.visit, session.person, session.count])

    def read(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie, None where it is absent, forged or too old."""
        try:
            return Session(*self._cookie.loads(cookie or "", max_age=DAYS * 86400))
        except (BadSignature, TypeError):
            return None

    def form_token(self, session: Session) -> str:
        """Return the token that every form and script of this session sends back."""
        return self._token.get_signature(session.visit).decode()

    def is_form_token(self, session: Session, token: str) -> bool:
        """Say whether a token is this session's."""
        return self._token.verify_signature(session.visit.encode(), token.encode())


def read_secret(folder: Path, name: str) -> str:
    """Return the secret of a study: of the environment, else of a file made at the first use.

    Args:
        folder: Where the study file is.
        name: The study's name; the file is `.NAME.secret`, readable by its owner only.

    Raises:
        StudyError: `PQPP_ANNOTATION_SECRET` is too short to protect anything.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> secret = read_secret(folder, "mine")
        >>> read_secret(folder, "mine") == secret, len(secret) >= LEAST_SECRET
        (True, True)
    """
    given = os.environ.get("PQPP_ANNOTATION_SECRET")
    if given is not None:
        if len(given) < LEAST_SECRET:
            raise StudyError(
                f"PQPP_ANNOTATION_SECRET has {len(given)} characters; give at least {LEAST_SECRET}"
            )
        return given
    path = folder / f".{name}.secret"
    if not path.exists():
        _write_once(path, secrets.token_urlsafe(48))
    kept = path.read_text(encoding="ascii").strip()
    if len(kept) < LEAST_SECRET:
        raise StudyError(f"{path} is damaged; delete it, and everybody signs in again")
    return kept


def _write_once(path: Path, secret: str) -> None:
    """Write a new secret for its owner's eyes; another process may be first."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secret)
        with contextlib.suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)
