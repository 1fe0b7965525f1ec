"""A small HTTP server on loopback that serves bytes, with configurable faults."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class FileServer:
    """The files and faults of the server, and the requests that it received.

    Attributes:
        files: Path to bytes.
        faults: One fault a request, used up in order: `None`, a status like 503, or `cut`.
        requests: The path and the Range header of each request that came.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list = field(default_factory=list)
    requests: list[tuple[str, str | None]] = field(default_factory=list)


@contextlib.contextmanager
def serve() -> Iterator[FileServer]:
    """Run a server on a free port of the loopback interface while the context lasts."""
    state = FileServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            byte_range = self.headers.get("Range")
            state.requests.append((self.path, byte_range))
            fault = state.faults.pop(0) if state.faults else None
            body = state.files.get(self.path)
            if isinstance(fault, int) or body is None:
                self.send_error(fault if isinstance(fault, int) else 404)
                return
            start = int(byte_range.removeprefix("bytes=").rstrip("-")) if byte_range else 0
            if start and start >= len(body):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            rest = body[start:]
            self.wfile.write(rest[: len(rest) // 2] if fault == "cut" else rest)

        def log_message(self, *_):
            """Keep the tests' output free of requests."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
