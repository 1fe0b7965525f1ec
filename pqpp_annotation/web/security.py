"""Security of the web service: response headers, refused requests, cookies and secrets."""

import hashlib
import hmac
import logging
import os
import secrets
import time
from pathlib import Path

from itsdangerous import BadSignature, Signer
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pqpp_annotation.errors import AnnotationError
from pqpp_files.atomic_write import lock_folder, write_file
from pqpp_files.paths import join_inside

LOG = logging.getLogger("pqpp_annotation.web")

LARGEST_BODY = 1 << 20
"""Maximum bytes of a request; an answer with a thousand points has a twentieth of that."""

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Links contain a token that other sites must not see; the study's forms need the referrer.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
"""Default response headers, as ASGI expects them."""

LOOPBACK = ("localhost", "127.0.0.1", "::1", "testserver")
"""Host names of this machine."""


class SecurityMiddleware:
    """A middleware that refuses unsafe requests, adds security headers and logs requests.

    The log contains routes instead of paths, as a path can contain a token.
    """

    def __init__(self, app: ASGIApp, root_path: str = "") -> None:
        self.app, self._root = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on and add headers to the response."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["method"] == "HEAD":  # the server omits the body
            scope = {**scope, "method": "GET"}
        scope["root_path"] = root = self._root
        if root and not f"{scope['path']}/".startswith(f"{root}/"):  # the proxy removed the prefix
            scope["path"] = root + scope["path"]
        start, status = time.perf_counter(), 500

        async def add_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], message["headers"]
                known = {name for name, _ in headers}
                headers.extend(pair for pair in HEADERS if pair[0] not in known)
                if scope["scheme"] == "https":
                    headers.append((b"strict-transport-security", b"max-age=31536000"))
            await send(message)

        refusal = _find_refusal(scope)
        try:
            await (refusal or self.app)(scope, receive, add_headers)
        finally:
            if not scope["path"].startswith(f"{root}/static/"):
                route = getattr(scope.get("route"), "path", "(no page)")
                milliseconds = (time.perf_counter() - start) * 1000
                LOG.info("%s %s %d %.0f ms", scope["method"], route, status, milliseconds)


def _find_refusal(scope: Scope) -> ASGIApp | None:
    if scope["method"] == "GET":
        return None
    headers = Headers(scope=scope)
    length = headers.get("content-length", "")
    if not length.isdecimal():
        return PlainTextResponse("Content-Length is missing.", 411)
    if int(length) > LARGEST_BODY:
        return PlainTextResponse(f"The body exceeds {LARGEST_BODY} bytes.", 413)
    # Requests of browsers without this header are checked by the form token only.
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return PlainTextResponse("This request came from another site.", 403)
    return None


LEAST_SECRET = 32


class CookieSigner:
    """A signer of a study's cookies and forms, which also derives random names for images.

    A cookie contains only the id of a visit; the database maps it to the signed-in person.

    Args:
        secret: The signing key; anyone who has it can forge cookies and forms.
        study: Name of the study, so that studies with the same secret have different cookies.

    Example:
        >>> sessions = CookieSigner("x" * 32)
        >>> visit = sessions.create_visit()
        >>> sessions.unsign(sessions.sign(visit)) == visit
        True
        >>> sessions.unsign("forged") is None
        True
    """

    def __init__(self, secret: str, study: str = "") -> None:
        self._cookie_signer = Signer(secret, salt="pqpp-session")
        self._form_signer = Signer(secret, salt="pqpp-form")
        self._image_key = hashlib.sha256(f"pqpp-images {secret}".encode()).digest()
        # Studies on one host need different cookie names.
        digest = hashlib.sha256(f"pqpp-cookie {secret} {study}".encode()).hexdigest()
        self.name = f"pqpp-{digest[:8]}"

    def create_visit(self) -> str:
        """Return the random id of a new visit."""
        return secrets.token_urlsafe(18)

    def sign(self, visit: str) -> str:
        """Return the signed cookie of a visit."""
        return self._cookie_signer.sign(visit).decode()

    def unsign(self, cookie: str | None) -> str | None:
        """Return the visit of a cookie, None if it is absent or forged."""
        try:
            return self._cookie_signer.unsign(cookie or "").decode()
        except (BadSignature, UnicodeError):
            return None

    def make_form_token(self, visit: str) -> str:
        """Return the token that a session's forms and scripts must send."""
        return self._form_signer.get_signature(visit).decode()

    def is_form_token(self, visit: str, token: str) -> bool:
        """Return whether a token belongs to the session."""
        return self._form_signer.verify_signature(visit.encode(), token.encode())

    def get_image_name(self, person_id: int, image: int | str) -> str:
        """Return an image's stable name on a person's pages, which hides the table's order.

        Example:
            >>> sessions = CookieSigner("x" * 32)
            >>> names = [sessions.get_image_name(1, image) for image in (1, 2)]
            >>> len(set(names)), sessions.get_image_name(1, 1) == names[0]
            (2, True)
        """
        message = f"{person_id} {image}".encode()
        return hmac.new(self._image_key, message, hashlib.sha256).hexdigest()[:24]


def read_secret(folder: Path, name: str) -> str:
    """Return the signing key of a study.

    Reads `PQPP_ANNOTATION_SECRET`, or else the file `.NAME.secret`, which the first call creates,
    readable by its owner only.

    Args:
        folder: The study file's folder.

    Raises:
        AnnotationError: The secret has fewer than 32 characters.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> secret = read_secret(folder, "mine")
        >>> read_secret(folder, "mine") == secret, len(secret) >= LEAST_SECRET
        (True, True)
    """
    secret = os.environ.get("PQPP_ANNOTATION_SECRET")
    if secret is not None:
        if len(secret) < LEAST_SECRET:
            raise AnnotationError(f"PQPP_ANNOTATION_SECRET needs {LEAST_SECRET} or more characters")
        return secret
    path = join_inside(folder, f".{name}.secret")
    with lock_folder(folder):  # another process may start at the same time
        if not path.exists():
            write_file(path, secrets.token_urlsafe(48), is_secret=True)
    secret = path.read_text(encoding="ascii", errors="ignore").strip() if path.is_file() else ""
    if len(secret) < LEAST_SECRET:
        raise AnnotationError(f"{path} is damaged; delete the file (everyone must sign in again)")
    return secret
