"""The Hub's HTTP server on loopback: reads requests, lets things go wrong, sends answers."""

import contextlib
import http.server
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .api import Hub
from .faults import Fault, Faults
from .messages import Account, Refusal, Request, Response, make_expired_error
from .store import Store

DEFAULT_ACCOUNTS = {
    "hf_tester": Account("tester", organizations=("pqpp",)),
    "hf_reader": Account("tester", write=False),
    "hf_other": Account("other"),
    "hf_expired": Account("tester", expired=True),
}


@dataclass
class LocalHub:
    """A Hub that runs.

    Attributes:
        url: What `HF_ENDPOINT` must be.
        hub: What answers; its `store` and `accounts` may be looked into and changed.
        faults: What will go wrong.
        requests: "METHOD /path?query" of every request, in the order they came.
    """

    hub: Hub
    url: str = ""
    faults: Faults = field(default_factory=Faults)
    requests: list[str] = field(default_factory=list)

    def environment(self, home: Path, token: str | None = "hf_tester") -> dict[str, str]:
        """Return the variables with which a fresh process talks to this Hub and no other.

        Args:
            home: A folder for its caches.
            token: The access token, none for nobody's.
        """
        settings = {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_OFFLINE": "0",
            "HF_DATASETS_OFFLINE": "0",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        return {**settings, "HF_TOKEN": token or ""}


@contextlib.contextmanager
def serve(accounts: Mapping[str, Account] = DEFAULT_ACCOUNTS) -> Iterator[LocalHub]:
    """Run a Hub on the loopback interface while the context lasts.

    Args:
        accounts: Token to whom it stands for.
    """
    hub = LocalHub(Hub(Store(), accounts))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(hub))
    server.daemon_threads = True
    hub.url = hub.hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _make_handler(hub: LocalHub) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body go out in two writes, which Nagle's rule would keep apart by 40 ms.
        disable_nagle_algorithm = True

        def _serve(self):
            path, _, query = self.path.partition("?")
            headers = {name.lower(): value for name, value in self.headers.items()}
            line = f"{self.command} {self.path}"
            hub.requests.append(line)
            fault = hub.faults.take(line)
            if _has_kind(fault, "cut_request"):
                self.rfile.read(int(headers.get("content-length", 0)) // 2)
                self.close_connection = True
                return
            body = self.rfile.read(int(headers.get("content-length", 0)))
            if _has_kind(fault, "altered"):
                body = _change_byte(body)
            request = Request(self.command, path, urllib.parse.parse_qs(query), headers, body)
            response = None if _has_kind(fault, "drop") else _answer(hub.hub, request, fault)
            if _has_kind(fault, "drop", "lost"):
                self.close_connection = True
                return
            self._send(response, fault)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve

        def _send(self, response: Response, fault: Fault | None):
            body = response.body
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if _has_kind(fault, "cut"):
                self.close_connection = True
                body = body[: len(body) // 2]
            if self.command != "HEAD":
                with contextlib.suppress(ConnectionError):  # the client may have been killed
                    self.wfile.write(body)

        def log_message(self, *_):
            """Keep the tests' output free of requests."""

    return Handler


def _has_kind(fault: Fault | None, *kinds: str) -> bool:
    return fault is not None and fault.kind in kinds


def _change_byte(body: bytes) -> bytes:
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :] if body else body


def _answer(hub: Hub, request: Request, fault: Fault | None) -> Response:
    if _has_kind(fault, "status"):
        response = Refusal(fault.status, "this went wrong on purpose").to_response()
        if fault.retry_after is not None:
            response.headers["Retry-After"] = str(fault.retry_after)
        return response
    if _has_kind(fault, "expired"):
        return make_expired_error().to_response()
    if _has_kind(fault, "slow"):
        time.sleep(fault.seconds)
    return hub.answer(request)
