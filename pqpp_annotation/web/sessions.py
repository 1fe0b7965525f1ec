"""Who is asking: a signed cookie that names a session, and the token that forms must bring."""

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from itsdangerous import BadSignature, Signer

from pqpp_annotation.errors import StudyError

LEAST_SECRET = 32
_LETTERS = 24


class Sessions:
    """Makes and reads session cookies, and the names by which pages know images.

    A cookie says nothing but which visit it is; who is signed in by it stands in the database.

    Args:
        secret: Signs them; whoever has it can forge a form.
        study: The study's name; studies that share a secret have cookies of their own by it.

    Example:
        >>> sessions = Sessions("x" * 32)
        >>> visit = sessions.fresh()
        >>> sessions.read(sessions.write(visit)) == visit
        True
        >>> sessions.read("forged") is None
        True
    """

    def __init__(self, secret: str, study: str = "") -> None:
        self._cookie = Signer(secret, salt="pqpp-session")
        self._token = Signer(secret, salt="pqpp-form")
        self._names = hashlib.sha256(f"pqpp-images {secret}".encode()).digest()
        # Studies on one host have cookies of their own, whatever they are called.
        about = f"pqpp-cookie {secret} {study}".encode()
        self.name = "pqpp-" + hashlib.sha256(about).hexdigest()[:8]

    def fresh(self) -> str:
        """Return a new visit."""
        return secrets.token_urlsafe(18)

    def write(self, visit: str) -> str:
        """Return the value of the cookie."""
        return self._cookie.sign(visit).decode()

    def read(self, cookie: str | None) -> str | None:
        """Return the visit of a cookie, None where it is absent or forged."""
        try:
            return self._cookie.unsign(cookie or "").decode()
        except (BadSignature, UnicodeError):
            return None

    def form_token(self, visit: str) -> str:
        """Return the token that every form and script of this session sends back."""
        return self._token.get_signature(visit).decode()

    def is_form_token(self, visit: str, token: str) -> bool:
        """Say whether a token is this session's."""
        return self._token.verify_signature(visit.encode(), token.encode())

    def image_name(self, person_id: int, image: int | str) -> str:
        """Return what a person's pages call an image: the same each time, and in no order.

        Example:
            >>> sessions = Sessions("x" * 32)
            >>> names = [sessions.image_name(1, image) for image in (1, 2)]
            >>> len(set(names)), sessions.image_name(1, 1) == names[0]
            (2, True)
        """
        about = f"{person_id} {image}".encode()
        return hmac.new(self._names, about, hashlib.sha256).hexdigest()[:_LETTERS]


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
