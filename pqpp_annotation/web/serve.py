"""Running the service: its pages, what each error looks like to a person and to a script."""

import contextlib
import logging
import re
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
from pqpp_annotation.web.security import LOG, Guard, is_loopback, read_secret
from pqpp_annotation.web.site import PACKAGE, Here, PageRequest, Site
from pqpp_files.atomic_write import get_full_errno


def create_app(
    store: Store, *, secret: str, allows_http: bool = False, root_path: str = ""
) -> FastAPI:
    """Return the web application of a study.

    Args:
        store: The open database.
        secret: Signs the cookies; the same after a restart, or everybody has to sign in again.
        allows_http: Send sessions unencrypted over a network too. On this machine's own address
            they always may.
        root_path: The prefix of every path, if a proxy serves the study below a prefix, like
            `/colours`; whether the proxy removes it or not.

    Example:
        >>> app = create_app(store, secret="x" * 48)  # doctest: +SKIP
    """
    app = FastAPI(openapi_url=None)
    app.state.site = Site(store, secret, allows_http)
    app.add_middleware(Guard, root_path=root_path)
    for url, folder in files.FOLDERS.items():
        app.mount(url, files.Scripts(directory=PACKAGE / folder, check_dir=False))
    for module in (joining, work, files, owner):
        app.include_router(module.pages)
    _add_errors(app)

    @app.get("/")
    def start(visit: Here) -> Response:
        """Redirect to the person's first page."""
        return visit.redirect(joining.get_home(visit.get_person()))

    @app.get("/health")
    def health() -> dict[str, str]:
        """Report that the service runs and its database answers."""
        with store.reading() as db:
            db.execute(text("SELECT 1"))
        return {"status": "ok"}

    return app


def _add_errors(app: FastAPI) -> None:
    """Show every error in one line: as JSON to a script, as a page to a person."""

    def respond(request: Request, status: int, line: str) -> Response:
        visit = PageRequest(request)
        line = visit.language.gettext(line)
        if visit.path.startswith(("/api/", "/images/", "/health")):
            return JSONResponse({"error": line}, status)
        return visit.render(
            "problem.html", status, line=line, path=visit.path, is_missing=status == 404
        )

    @app.exception_handler(AnnotationError)
    def handle_study_error(request: Request, error: AnnotationError) -> Response:
        if error.status == 503:  # it names the database, which is nobody's business but the log's
            LOG.error("%s", error)
            line = gettext_noop("the study is unavailable right now; try again")
            return respond(request, error.status, line)
        return respond(request, error.status, str(error))

    @app.exception_handler(RequestValidationError)
    def handle_bad_request(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return respond(request, 422, f"{where}: {first['msg']}")

    @app.exception_handler(StarletteHTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        path, line = PageRequest(request).path, str(error.detail)
        if error.status_code == 401 and request.method == "GET" and not path.startswith("/api/"):
            page = (error.headers or {}).get("X-Page", "/sign-in")
            return PageRequest(request).redirect(page)
        if line == "Not Found":
            line = gettext_noop("This page does not exist.")
        response = respond(request, error.status_code, line)
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(OSError)
    def full(request: Request, error: OSError) -> Response:
        if not get_full_errno(error):
            raise error
        LOG.error("%s", error)
        return respond(request, 507, gettext_noop("the disk is full"))

    @app.exception_handler(Exception)
    def handle_defect(request: Request, error: Exception) -> Response:
        # The trace goes to the log, by the server; the person keeps the answer in the browser.
        return respond(request, 500, gettext_noop("something went wrong"))


TLS = """\
Everybody on the network can reach this address, and nothing on the way is encrypted.
Put TLS before it (docs/annotation.md, "Behind a reverse proxy", has the few lines for Caddy and
nginx), or give --certificate and --key. Until then nobody but this machine can sign in.
"""

_EVERYWHERE = ("0.0.0.0", "::")
# To listen at, but nowhere that a link could lead to.
ALLOWED = "Sessions go unencrypted over the network, as --allow-http says.\n"


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
    """Serve a study until it is stopped (Ctrl-C, SIGTERM); open requests are finished first.

    Args:
        path: The study file.
        host: The address to listen at; this machine's own by default.
        url: Where people reach it, below a prefix too; kept for the links that are made. If left
            out, this machine's name where the host is all addresses, else the host.
        allows_http: Let people sign in over a network without TLS.
        certificate: File of a TLS certificate with its chain, in PEM form.
        key: File of its key.

    Raises:
        AnnotationError: The study file or its database cannot be used, another server uses it, only
            one of certificate and key is given, or the address is not available.
    """
    if (certificate is None) != (key is None):
        raise AnnotationError("TLS needs both --certificate and --key; give both or neither")
    if url is not None and not re.fullmatch(r"https?://[^\s/?#]+(/[\w.~-]+)*/?", url):
        raise AnnotationError(f"--url {url!r:.80}: write it like https://study.example.org/colours")
    root = urlsplit(url or "").path.rstrip("/")
    study = read_study(path)
    with contextlib.ExitStack() as held:
        held.enter_context(_end_quietly())
        store = held.enter_context(contextlib.closing(open_store(study)))
        held.enter_context(store.serving())
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listener = socket.create_server((host, port), family=family, backlog=2048)
        except (OSError, OverflowError) as error:
            said = getattr(error, "strerror", None) or str(error)
            line = f"{host} port {port}: {said}; choose others by --host, --port"
            raise AnnotationError(line) from None
        held.enter_context(listener)
        secret = read_secret(Path(path).resolve().parent, study.name)
        scheme = "http" if certificate is None else "https"
        if not is_loopback(host) and certificate is None:
            sys.stderr.write(ALLOWED if allows_http else TLS)
        _log()
        config = uvicorn.Config(
            create_app(store, secret=secret, allows_http=allows_http, root_path=root),
            ssl_certfile=certificate,
            ssl_keyfile=key,
            log_config=None,
            access_log=False,  # it would hold the tokens of links; ours says the route only
            server_header=False,
            timeout_graceful_shutdown=5,
            lifespan="off",
        )
        title = study.title or study.name
        here = socket.gethostname()
        shown_host = here if host in _EVERYWHERE else f"[{host}]" if ":" in host else host
        port = listener.getsockname()[1]
        address = f"{scheme}://{shown_host}:{port}{root}"
        before = get_server_url(store)
        known_host = urlsplit(before).hostname
        if url or known_host in (None, here.lower(), *_EVERYWHERE) or is_loopback(known_host):
            save_server_url(store, url or address)
        sys.stderr.write(f"{title}\n{url or address}/ - stop it with Ctrl-C\n")
        if (now := get_server_url(store)) != before and get_links(store):
            sys.stderr.write(f"Earlier links begin with {before}; replace that with {now}\n")
        uvicorn.Server(config).run(sockets=[listener])


@contextlib.contextmanager
def _end_quietly() -> Iterator[None]:
    """Treat Ctrl-C and SIGTERM as the normal way to stop, and close everything."""
    in_main = threading.current_thread() is threading.main_thread()
    # The server finishes what it has begun, then hands the signal on to what stood here.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if in_main else None
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, before)


def _log() -> None:
    """Log requests and errors to standard error, one line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("pqpp_annotation", logging.INFO), ("uvicorn", logging.WARNING)):
        log = logging.getLogger(name)
        log.setLevel(level)
        log.handlers[:] = [handler]
        log.propagate = False
