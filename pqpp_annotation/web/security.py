"""What every answer of the server carries, and what no request may bring."""

import logging
import time

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
"""As ASGI has them; a page may set one of its own instead."""

LOOPBACK = ("localhost", "127.0.0.1", "::1", "testserver")


class Guard:
    """Refuses requests of other sites and large bodies; adds the headers; keeps the log.

    The log says the route, never the path: a path may hold a token.
    """

    def __init__(self, app: ASGIApp, root_path: str = "") -> None:
        self.app, self._root = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
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

        refusal = _refusal(scope)
        try:
            await (refusal or self.app)(scope, receive, add_headers)
        finally:
            if not scope["path"].startswith(f"{root}/static/"):
                route = getattr(scope.get("route"), "path", "(no page)")
                took = (time.perf_counter() - began) * 1000
                LOG.info("%s %s %d %.0f ms", scope["method"], route, status, took)


def _refusal(scope: Scope) -> ASGIApp | None:
    """Return the answer to a request that goes no further, None where it may go on."""
    if scope["method"] in ("GET", "HEAD"):
        return None
    headers = Headers(scope=scope)
    length = headers.get("content-length", "")
    if not length.isdecimal():
        return PlainTextResponse("Say how long the body is.", 411)
    if int(length) > LARGEST_BODY:
        return PlainTextResponse(f"A body may have {LARGEST_BODY} bytes.", 413)
    # Browsers say where a request comes from; older ones name the origin alone, in which a proxy's
    # port may stand that is not in `Host`.
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    is_own = site in ("same-origin", "none")
    if site is None:
        is_own = origin is None or origin.partition("://")[2] in _own_names(headers)
    return None if is_own else PlainTextResponse("This came from another site.", 403)


def _own_names(headers: Headers) -> set[str]:
    """Return what this site may be called; no page of another site can set these headers."""
    hosts = {headers.get("host", ""), headers.get("x-forwarded-host", "")} - {""}
    port = headers.get("x-forwarded-port", "")
    return hosts | {f"{host.partition(':')[0]}:{port}" for host in hosts if port.isdecimal()}


def is_loopback(host: str | None) -> bool:
    """Say whether a host name is this machine itself.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("example.org")
        (True, False)
    """
    return host in LOOPBACK
