"""A chat endpoint on loopback with configurable answers and faults."""

import contextlib
import http.server
import json
import re
import threading
import urllib.parse
from dataclasses import dataclass, field


@dataclass
class ChatServer:
    """The answers and faults of the endpoint, and the requests that it received.

    Attributes:
        answer: Called with the body of a request; returns the text of the reply, or all of it as a
            dict where the endpoint is of another kind.
        faults: One a request, used up in order: None, a status, a status with what is said and
            perhaps a code, a status with a body (JSON or bytes) and perhaps headers, `slow`, `cut`
            or `endless`.
        asked: The bodies that came.
        files: The contents that were uploaded, and those of the batches' replies.
        names: The names of all headers that came.
        batches: The batches; each has its replies when it is looked at for the second time.
        keys: The Authorization headers that came.
    """

    url: str = ""
    answer: object = lambda body: "{}"
    faults: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    keys: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    batches: dict = field(default_factory=dict)
    names: set = field(default_factory=set)

    def start(self, asked):
        """Start a batch."""
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {"id": name, "object": "batch", "status": "validating", **asked}
        return self.batches[name]

    def look_at(self, name):
        """Return a batch, and go on with it."""
        batch = self.batches[name]
        if batch["status"] == "in_progress":
            batch |= {"status": "completed", "output_file_id": f"of {name}"}
            lines = map(self._reply, self.files[batch["input_file_id"]].splitlines())
            self.files[f"of {name}"] = b"\n".join(json.dumps(line).encode() for line in lines)
        elif batch["status"] == "validating":
            batch["status"] = "in_progress"
        return batch

    def _reply(self, line):
        asked = json.loads(line)
        said = self.answer(asked["body"])
        status, body = said if isinstance(said, tuple) else (200, complete(said))
        return {"custom_id": asked["custom_id"], "response": {"status_code": status, "body": body}}


def complete(text):
    """Return a whole reply of a text; what is whole stays as it is."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    whole = {"choices": [{"message": {"content": text}}], "usage": usage}
    return text if isinstance(text, dict) else whole


@contextlib.contextmanager
def serve_chat():
    """Run an endpoint on a free port of the loopback interface while the context lasts."""
    state, over = ChatServer(), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            _, _, kind, name, *_ = f"{self.path.partition('?')[0]}/".split("/")
            if kind == "files":
                return self._send(200, state.files[urllib.parse.unquote(name)])
            if name:
                return self._send(200, state.look_at(name))
            return self._send(200, {"object": "list", "data": [*state.batches.values()]})

        def do_POST(self):
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            state.names |= set(self.headers)
            if self.path.endswith("/files"):
                name = f"file-{len(state.files)}"
                state.files[name] = re.search(rb"filename.*?\r\n\r\n(.*?)\r\n--", raw, re.S)[1]
                return self._send(200, {"id": name, "object": "file"})
            body = json.loads(raw)
            if self.path.endswith("/batches"):
                started = state.start(body)
                fault = state.faults.pop(0) if state.faults else (200, started)
                return self._send(*fault)
            state.asked.append(body)
            state.keys.append(self.headers.get("Authorization"))
            fault = state.faults.pop(0) if state.faults else None
            if isinstance(fault, tuple) and not isinstance(fault[1], str):
                return self._send(*fault)
            if isinstance(fault, tuple):
                error = dict(zip(("message", "code"), fault[1:], strict=False))
                return self._send(fault[0], {"error": error})
            if isinstance(fault, int):
                key = self.headers.get("Authorization", "")
                return self._send(fault, {"error": {"message": f"refused\n{key}"}})
            if fault == "slow":
                over.wait(60)
            if fault in ("cut", "endless"):
                self.send_response(200)
                self.send_header("Content-Length", "1000" if fault == "cut" else str(10**9))
                self.end_headers()
                with contextlib.suppress(OSError):
                    while fault == "endless" and not over.is_set():
                        self.wfile.write(b" " * 65536)
                return None
            return self._send(200, complete(state.answer(body)))

        def _send(self, status, found, headers=()):
            raw = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            for name, value in dict(headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(raw)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
