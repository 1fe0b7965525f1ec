"""Running the service."""

import contextlib
import inspect
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pqpp_annotation.errors import StudyError
from pqpp_annotation.web.security import is_loopback
from pqpp_files.extras import needing
from pqpp_files.foreign.json_values import parse_json

TLS = """\
Everybody on the network can reach this address, and nothing on the way is encrypted.
Put TLS before it (docs/annotation.md, "Behind a reverse proxy", has the few lines for Caddy and
nginx), or give --certificate and --key. Until then nobody but this machine can sign in.
"""

_WORKER = "PQPP_ANNOTATION_WORKER"
_STUCK = 120  # seconds after which a process is ended that answers nothing; a slow start is none
_EVERYWHERE = ("0.0.0.0", "::")
# To listen at, but nowhere that a link could lead to.
ALLOWED = "Sessions go unencrypted over the network, as --allow-http says.\n"


def serve(
    path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    url: str | None = None,
    root_path: str | None = None,
    workers: int = 1,
    allows_http: bool = False,
    certificate: str | None = None,
    key: str | None = None,
) -> None:
    """Serve a study until it is told to stop (Ctrl-C, SIGTERM); open requests are finished first.

    Args:
        path: The study file.
        host: The address to listen at; this machine's own by default.
        url: Where people reach it; kept for the links that are made. If left out, this machine's
            name where the host is all addresses, else the host.
        root_path: What stands before every path, where a proxy serves it below a prefix; the path
            of `url` if left out.
        workers: Processes that serve; more than one needs PostgreSQL.
        allows_http: Let people sign in over a network without TLS.
        certificate: File of a TLS certificate with its chain, in PEM form.
        key: File of its key.

    Raises:
        StudyError: The study file cannot be used, only one of certificate and key is given, or
            the address cannot be listened at.
        StoreError: The database cannot be opened, or another server has it.
        MissingExtraError: The extra `annotate` is not installed.
    """
    if (certificate is None) != (key is None):
        raise StudyError("TLS needs both --certificate and --key; give both or neither")
    for file in filter(None, (certificate, key)):
        if not Path(file).is_file():
            raise StudyError(
                f"there is no file {file}; --certificate and --key name files in PEM form"
            )
    with needing("pqpp annotate serve", "annotate"):
        import uvicorn
        from uvicorn.supervisors import Multiprocess

        from pqpp_annotation.store.database import open_store
        from pqpp_annotation.store.invitations import all_links, keep_url, kept_url
        from pqpp_annotation.study.study import read_study
        from pqpp_annotation.web.app import create_app
        from pqpp_annotation.web.sessions import read_secret
    study, root = read_study(path), _checked_root(url, root_path)
    with contextlib.ExitStack() as held:
        held.enter_context(_ending_quietly())
        store = held.enter_context(contextlib.closing(open_store(study)))
        if workers > 1 and store.is_sqlite:
            raise StudyError("--workers: an SQLite file has one process; use PostgreSQL, or one")
        held.enter_context(store.serving())
        listener = held.enter_context(_listening(host, port))
        secret = read_secret(Path(path).resolve().parent, study.name)
        about: dict[str, Any] = {"allows_http": allows_http, "root_path": root}
        scheme = "http" if certificate is None else "https"
        if not is_loopback(host) and certificate is None:
            sys.stderr.write(ALLOWED if allows_http else TLS)
        _log()
        config = uvicorn.Config(
            create_app(store, secret=secret, **about)
            if workers == 1
            else f"{__name__}:app_of_worker",
            factory=workers > 1,
            workers=workers,
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
        place = here if host in _EVERYWHERE else f"[{host}]" if ":" in host else host
        port = listener.getsockname()[1]
        address = f"{scheme}://{place}:{port}{root}"
        before = kept_url(store)
        known = urlsplit(before).hostname
        if url or known in (None, here.lower(), *_EVERYWHERE) or is_loopback(known):
            keep_url(store, url or address)
        sys.stderr.write(f"{title}\n{url or address}/ - stop it with Ctrl-C\n")
        if (now := kept_url(store)) != before and all_links(store):
            sys.stderr.write(f"In links made before, write {now} in place of {before}\n")
        if workers == 1:
            uvicorn.Server(config).run(sockets=[listener])
        else:
            config.timeout_worker_healthcheck = (
                _STUCK  # 5 kills those of a busy machine over and over
            )
            os.environ[_WORKER] = json.dumps({"path": str(Path(path).resolve()), **about})
            more: dict[str, Any] = {"sockets": [listener]}
            if "target" in inspect.signature(Multiprocess).parameters:  # of older versions
                more["target"] = uvicorn.Server(config).run
            Multiprocess(config, **more).run()


def app_of_worker() -> Any:
    """Return the application of one of several processes, as the one that started it has said."""
    from pqpp_annotation.store.database import open_store
    from pqpp_annotation.study.study import read_study
    from pqpp_annotation.web.app import create_app
    from pqpp_annotation.web.sessions import read_secret

    about = parse_json(os.environ[_WORKER])
    path = Path(about.pop("path"))
    study = read_study(path)
    _log()
    return create_app(open_store(study), secret=read_secret(path.parent, study.name), **about)


def _checked_root(url: str | None, root_path: str | None) -> str:
    """Return what stands before every path, "" for nothing.

    Raises:
        StudyError: The address or the path cannot be one.
    """
    if url is not None and not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", url):
        raise StudyError(f"--url {url!r:.80}: write it like https://study.example.org/colours")
    root = (urlsplit(url or "").path if root_path is None else root_path).rstrip("/")
    if root and not re.fullmatch(r"(/[\w.~-]+)+", root):
        raise StudyError(f"--root-path {root!r:.80}: write it like /colours")
    return root


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Give a socket that listens; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise StudyError(f"{host} port {port}: {said}; name another by --host and --port") from None
    with listener:
        yield listener


@contextlib.contextmanager
def _ending_quietly() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM be the normal way to stop, after which all that is open is closed."""
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
    """Write what was asked for and what went wrong to standard error, one line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("pqpp_annotation", logging.INFO), ("uvicorn", logging.WARNING)):
        log = logging.getLogger(name)
        log.setLevel(level)
        log.handlers[:] = [handler]
        log.propagate = False
