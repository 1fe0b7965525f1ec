"""Running the service."""

import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from pqpp_annotation.errors import StudyError
from pqpp_annotation.web.security import is_loopback
from pqpp_files.extras import needing

TLS = """\
Everybody on the network can reach this address, and nothing on the way is encrypted.
Put TLS before it (docs/annotation.md, "Behind a reverse proxy", has the few lines for Caddy and
nginx), or give --certificate and --key. Until then nobody but this machine can sign in.
"""

ALLOWED = "Sessions go unencrypted over the network, as --allow-http says.\n"


def serve(
    path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    allows_http: bool = False,
    certificate: str | None = None,
    key: str | None = None,
) -> None:
    """Serve a study until it is told to stop (Ctrl-C, SIGTERM); open requests are finished first.

    Args:
        path: The study file.
        host: The address to listen at; this machine's own by default.
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
            raise StudyError(f"{file} is no file; --certificate and --key name files in PEM form")
    with needing("pqpp annotate serve", "annotate"):
        import uvicorn

        from pqpp_annotation.store.database import open_store
        from pqpp_annotation.study.study import read_study
        from pqpp_annotation.web.app import create_app
        from pqpp_annotation.web.sessions import read_secret
    study = read_study(path)
    secret = read_secret(Path(path).resolve().parent, study.name)
    with (
        _ending_quietly(),
        contextlib.closing(open_store(study)) as store,
        store.serving(),
        _listening(host, port) as listener,
    ):
        app = create_app(store, secret=secret, allows_http=allows_http)
        scheme = "http" if certificate is None else "https"
        if not is_loopback(host) and certificate is None:
            sys.stderr.write(ALLOWED if allows_http else TLS)
        _log()
        config = uvicorn.Config(
            app,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            log_config=None,
            access_log=False,  # it would hold the tokens of links; ours says the route only
            server_header=False,
            timeout_graceful_shutdown=5,
            lifespan="off",
        )
        title = study.title or study.name
        place = f"[{host}]" if ":" in host else host
        port = listener.getsockname()[1]
        sys.stderr.write(f"{title}\n{scheme}://{place}:{port}/ - stop it with Ctrl-C\n")
        uvicorn.Server(config).run(sockets=[listener])


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
    if threading.current_thread() is threading.main_thread():
        # The server finishes what it has begun, then hands the signal on to what stood here.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        yield


def _log() -> None:
    """Write what was asked for and what went wrong to standard error, one line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("pqpp_annotation", logging.INFO), ("uvicorn", logging.WARNING)):
        log = logging.getLogger(name)
        log.setLevel(level)
        log.handlers[:] = [handler]
        log.propagate = False
