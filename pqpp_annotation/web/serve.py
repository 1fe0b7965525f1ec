"""The web application of a study: its pages and error responses, and the server."""

import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from sqlalchemy import text
from starlette.exceptions import HTTPException as StarletteHTTPException

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.languages import gettext_noop
from pqpp_annotation.owner import pages as owner
from pqpp_annotation.store.access import get_links, get_server_url, save_server_url
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.transactions import Store
from pqpp_annotation.study.study import read_study
from pqpp_annotation.web import files, joining, work
from pqpp_annotation.web.security import LOG, LOOPBACK, SecurityMiddleware, read_secret
from pqpp_annotation.web.site import PACKAGE, PageRequest, Site, Visit
from pqpp_files.atomic_write import find_full_disk_errno
from pqpp_files.errors import PqppError, reraise
from pqpp_files.names import is_url


def create_app(
    store: Store, *, secret: str, allows_http: bool = False, root_path: str = ""
) -> FastAPI:
    """Return the web application of a study.

    Args:
        secret: The key that signs cookies; if it changes, everybody must sign in again.
        allows_http: Whether to allow unencrypted sessions over a network; on localhost they are
            always allowed.
        root_path: Prefix of all paths behind a proxy, such as `/colours`, whether the proxy removes
            it or not.

    Example:
        >>> app = create_app(store, secret="x" * 48)  # doctest: +SKIP
    """
    app = FastAPI(openapi_url=None)
    app.state.site = Site(store, secret, allows_http)
    app.add_middleware(SecurityMiddleware, root_path=root_path)
    for url, folder in files.FOLDERS.items():
        app.mount(url, files.ScriptFiles(directory=PACKAGE / folder, check_dir=False))
    for module in (joining, work, files, owner):
        app.include_router(module.pages)
    _add_error_handlers(app)

    @app.get("/")
    def redirect_home(visit: Visit) -> Response:
        """Redirect to the person's first page."""
        return visit.redirect(joining.get_home_path(visit.get_person()))

    @app.get("/health")
    def report_health() -> dict[str, str]:
        """Return status ok if the database responds."""
        with store.begin_read() as db:
            db.execute(text("SELECT 1"))
        return {"status": "ok"}

    return app


def _add_error_handlers(app: FastAPI) -> None:
    """Add handlers that return errors as one line: as JSON to scripts, as a page to people."""

    def respond(request: Request, status: int, line: str) -> Response:
        visit = PageRequest(request)
        line = visit.language.gettext(line)
        if visit.path.startswith(("/api/", "/images/", "/health")):
            return JSONResponse({"error": line}, status)
        return visit.render(
            "problem.html", status, line=line, path=visit.path, is_missing=status == 404
        )

    @app.exception_handler(PqppError)
    @app.exception_handler(OSError)
    def handle_error(request: Request, error: PqppError | OSError) -> Response:
        line = str(error)
        status = getattr(error, "status", 507 if find_full_disk_errno(error) else 503)
        if status >= 500:  # the message names a file or the database, so it is only logged
            LOG.error("%s", error)
            line = gettext_noop("the study is unavailable right now; try again")
        return respond(request, status, gettext_noop("the disk is full") if status == 507 else line)

    @app.exception_handler(RequestValidationError)
    def handle_bad_request(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        return respond(request, 422, f"{field}: {first['msg']}")

    @app.exception_handler(StarletteHTTPException)
    def handle_http_error(request: Request, error: HTTPException) -> Response:
        path, line = PageRequest(request).path, str(error.detail)
        if error.status_code == 401 and request.method == "GET" and not path.startswith("/api/"):
            return PageRequest(request).redirect((error.headers or {}).get("X-Page", "/sign-in"))
        if line == "Not Found":
            line = gettext_noop("This page does not exist.")
        response = respond(request, error.status_code, line)
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    def handle_defect(request: Request, error: Exception) -> Response:
        # The server logs the traceback; the browser keeps the answer.
        return respond(request, 500, gettext_noop("something went wrong"))


TLS_WARNING = """\
This address is reachable over the network without encryption, so only this computer can sign in.
Use a reverse proxy with TLS (docs/annotation.md, "Behind a reverse proxy", has examples for Caddy
and nginx), or set --certificate and --key.
"""

_ALL_ADDRESSES = ("0.0.0.0", "::")
HTTP_WARNING = "Sessions are sent unencrypted over the network (--allow-http).\n"


def serve(
    path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    url: str | None = None,
    allows_http: bool = False,
    certificate: str | None = None,
    key: str | None = None,
) -> None:
    """Serve a study until Ctrl-C or SIGTERM; open requests are finished first.

    Args:
        path: The study file.
        host: Address to listen on.
        port: Port to listen on; 0 for any free port.
        url: Public URL, with a path prefix if there is one; stored for links. The default is built
            from the host, or from the computer's name if the host is 0.0.0.0 or ::.
        allows_http: Whether people can sign in over a network without TLS.
        certificate: PEM file with a TLS certificate and its chain.
        key: PEM file with the certificate's key.

    Raises:
        AnnotationError: The study file, database or address is unusable, another process
            serves the study, or only one of certificate and key is set.
    """
    if (certificate is None) != (key is None):
        raise AnnotationError("`certificate` and `key` belong together; set both or neither")
    root = urlsplit(url or "").path.rstrip("/")
    study = read_study(path)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_stop_quietly())
        store = stack.enter_context(contextlib.closing(open_store(study)))
        stack.enter_context(store.hold_server_lock())
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listener = socket.create_server((host, port), family=family, backlog=2048)
        except (OSError, OverflowError, TypeError) as error:  # TypeError: a name too long
            problem = f"{host}, port {port}: {getattr(error, 'strerror', None) or error}"
            raise AnnotationError(f"{problem}; choose another `host` or `port`") from None
        stack.enter_context(listener)
        secret = read_secret(Path(path).resolve().parent, study.name)
        scheme = "http" if certificate is None else "https"
        if host not in LOOPBACK and certificate is None:
            sys.stderr.write(HTTP_WARNING if allows_http else TLS_WARNING)
        config = uvicorn.Config(
            create_app(store, secret=secret, allows_http=allows_http, root_path=root),
            ssl_certfile=certificate,
            ssl_keyfile=key,
            log_config=None,
            access_log=False,  # it would contain the tokens of links
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=5,
            lifespan="off",
        )
        with reraise("`certificate` or `key` is unusable", "give PEM files", AnnotationError):
            config.load()
        hostname = socket.gethostname()
        literal = f"[{host}]" if ":" in host else host
        shown_host = hostname if host in _ALL_ADDRESSES else literal
        address = url or f"{scheme}://{shown_host}:{listener.getsockname()[1]}{root}"
        old_url = get_server_url(store)
        known_hosts = (hostname.lower(), *_ALL_ADDRESSES, *LOOPBACK)
        if url or not is_url(old_url) or urlsplit(old_url).hostname in known_hosts:
            save_server_url(store, address)
        sys.stderr.write(f"{study.title or study.name}\n{address}/ - stop it with Ctrl-C\n")
        if (new_url := get_server_url(store)) != old_url and get_links(store):
            sys.stderr.write(f"Earlier links begin with {old_url}; replace that with {new_url}\n")
        _configure_logging()
        uvicorn.Server(config).run(sockets=[listener])


@contextlib.contextmanager
def _stop_quietly() -> Iterator[None]:
    """End the block without an error on Ctrl-C or SIGTERM."""
    in_main = threading.current_thread() is threading.main_thread()
    # The server finishes open requests, then passes the signal to this handler.
    old_handler = signal.signal(signal.SIGTERM, signal.default_int_handler) if in_main else None
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, old_handler)


def _configure_logging() -> None:
    """Log requests and errors to standard error, one line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("pqpp_annotation", logging.INFO), ("uvicorn", logging.WARNING)):
        log = logging.getLogger(name)
        log.setLevel(level)
        log.handlers[:] = [handler]
        log.propagate = False
