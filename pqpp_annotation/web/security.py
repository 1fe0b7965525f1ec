"""What every answer of the server carries, what no request may bring, and who is asking."""

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
from pqpp_files.atomic_write import lock_folder, write_whole

LOG = logging.getLogger("pqpp_annotation.web")

LARGEST_BODY = 1 << 20
"""Bytes of a request; the largest answer, a thousand points, has a twentieth of it."""

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # A link holds a token: no other site may learn it, but our own forms must say where they are.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
"""As ASGI expects them; a page may replace one."""

LOOPBACK = ("localhost", "127.0.0.1", "::1", "testserver")


class Guard:
    """Refuses requests of other sites and large bodies; adds the headers; keeps the log.

    The log contains the route, never the path: a path may contain a token.
    """

    def __init__(self, app: ASGIApp, root_path: str = "") -> None:
        self.app, self._root = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["method"] == "HEAD":  # the server leaves the body out
            scope = {**scope, "method": "GET"}
        scope["root_path"] = root = self._root
        if root and not f"{scope['path']}/".startswith(f"{root}/"):  # the proxy has taken it off
            scope["path"] = root + scope["path"]
        began, status = time.perf_counter(), 500

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
                took = (time.perf_counter() - began) * 1000
                LOG.info("%s %s %d %.0f ms", scope["method"], route, status, took)


def _find_refusal(scope: Scope) -> ASGIApp | None:
    """Return the answer to a request that goes no further, None if it may go on."""
    if scope["method"] == "GET":
        return None
    headers = Headers(scope=scope)
    length = headers.get("content-length", "")
    if not length.isdecimal():
        return PlainTextResponse("Say how long the body is.", 411)
    if int(length) > LARGEST_BODY:
        return PlainTextResponse(f"A body may have {LARGEST_BODY} bytes.", 413)
    # Of browsers that do not say where a request comes from, only the token of the form is known.
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return PlainTextResponse("This request came from another site.", 403)
    return None


def is_loopback(host: str | None) -> bool:
    """Return whether a host name is this machine.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("example.org")
        (True, False)
    """
    return host in LOOPBACK


LEAST_SECRET = 32
_LETTERS = 24


class Sessions:
    """Makes and reads session cookies, and the names by which pages know images.

    A cookie contains only the id of a visit; the database knows who is signed in.

    Args:
        secret: Signs them; whoever has it can forge a form.
        study: The study's name; it separates the cookies of studies that share a secret.

    Example:
        >>> sessions = Sessions("x" * 32)
        >>> visit = sessions.create_visit()
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

    def create_visit(self) -> str:
        """Return a new visit."""
        return secrets.token_urlsafe(18)

    def write(self, visit: str) -> str:
        """Return the value of the cookie."""
        return self._cookie.sign(visit).decode()

    def read(self, cookie: str | None) -> str | None:
        """Return the visit of a cookie, None if it is absent or forged."""
        try:
            return self._cookie.unsign(cookie or "").decode()
        except (BadSignature, UnicodeError):
            return None

    def make_form_token(self, visit: str) -> str:
        """Return the token that every form and script of this session sends back."""
        return self._token.get_signature(visit).decode()

    def is_form_token(self, visit: str, token: str) -> bool:
        """Return whether a token belongs to the session."""
        return self._token.verify_signature(visit.encode(), token.encode())

    def name_image(self, person_id: int, image: int | str) -> str:
        """Return an image's stable name on a person's pages, which reveals no order.

        Example:
            >>> sessions = Sessions("x" * 32)
            >>> names = [sessions.name_image(1, image) for image in (1, 2)]
            >>> len(set(names)), sessions.name_image(1, 1) == names[0]
            (2, True)
        """
        about = f"{person_id} {image}".encode()
        return hmac.new(self._names, about, hashlib.sha256).hexdigest()[:_LETTERS]


def read_secret(folder: Path, name: str) -> str:
    """Return the secret of a study: of the environment, else of a file made at the first use.

    Args:
        folder: The study file's folder.
        name: The study's name; the file is `.NAME.secret`, readable by its owner only.

    Raises:
        AnnotationError: `PQPP_ANNOTATION_SECRET` is too short to protect anything.

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
            raise AnnotationError(
                f"PQPP_ANNOTATION_SECRET has {len(secret)} characters; give at least {LEAST_SECRET}"
            )
        return secret
    path = folder / f".{name}.secret"
    with lock_folder(folder):  # another process may start as well
        if not path.exists():
            write_whole(path, secrets.token_urlsafe(48), is_secret=True)
    kept = path.read_text(encoding="ascii").strip()
    if len(kept) < LEAST_SECRET:
        raise AnnotationError(f"{path} is damaged; delete it (everyone must sign in again)")
    return kept
