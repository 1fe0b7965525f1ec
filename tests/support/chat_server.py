"""A chat endpoint on loopback with configurable answers and faults."""

import contextlib
import http.server
import json
import re
import threading
import urllib.parse
from dataclasses import dataclass, field

import pytest


@dataclass
class ChatServer:
    """The answers and faults of the endpoint, and the requests that it received.

    Attributes:
        answer: Called with the body of a request; returns the text of the reply, or all of it as a
            dict where the endpoint is of another kind.
        faults: One per request, used up in order: None, a status, a status with a message and
            perhaps a code, a status with a body (JSON or bytes) and perhaps headers, `slow`, `cut`
            or `endless`.
        requests: The bodies of the requests.
        files: The contents that were uploaded, and those of the batches' replies.
        header_names: The names of all headers that came.
        batches: The batches; each has its replies when it is requested for the second time.
        authorizations: The Authorization headers that came.
    """

    url: str = ""
    answer: object = lambda body: "{}"
    faults: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    authorizations: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    batches: dict = field(default_factory=dict)
    header_names: set = field(default_factory=set)

    def start_batch(self, entry):
        """Start a batch."""
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {"id": name, "object": "batch", "status": "validating", **entry}
        return self.batches[name]

    def advance_batch(self, name):
        """Return a batch, and advance its state."""
        batch = self.batches[name]
        if batch["status"] == "in_progress":
            batch |= {"status": "completed", "output_file_id": f"of {name}"}
            lines = map(self._reply, self.files[batch["input_file_id"]].splitlines())
            self.files[f"of {name}"] = b"\n".join(json.dumps(line).encode() for line in lines)
        elif batch["status"] == "validating":
            batch["status"] = "in_progress"
        return batch

    def _reply(self, line):
        entry = json.loads(line)
        answer = self.answer(entry["body"])
        status, body = answer if isinstance(answer, tuple) else (200, make_reply(answer))
        return {"custom_id": entry["custom_id"], "response": {"status_code": status, "body": body}}


def make_reply(text):
    """Return a complete reply with a text; a reply is returned as it is."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    reply = {"choices": [{"message": {"content": text}}], "usage": usage}
    return text if isinstance(text, dict) else reply


@contextlib.contextmanager
def serve_chat(**options):
    """Run an endpoint on a free loopback port, which no proxy hides, while the context lasts."""
    state, closing = ChatServer(**options), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            _, _, kind, name, *_ = f"{self.path.partition('?')[0]}/".split("/")
            if kind == "files":
                return self._send(200, state.files[urllib.parse.unquote(name)])
            if name:
                return self._send(200, state.advance_batch(name))
            return self._send(200, {"object": "list", "data": [*state.batches.values()]})

        def do_POST(self):
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            state.header_names |= set(self.headers)
            if self.path.endswith("/files"):
                name = f"file-{len(state.files)}"
                state.files[name] = re.search(rb"filename.*?\r\n\r\n(.*?)\r\n--", raw, re.S)[1]
                return self._send(200, {"id": name, "object": "file"})
            body = json.loads(raw)
            if self.path.endswith("/batches"):
                batch = state.start_batch(body)
                fault = state.faults.pop(0) if state.faults else (200, batch)
                return self._send(*fault)
            state.requests.append(body)
            state.authorizations.append(self.headers.get("Authorization"))
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
                closing.wait(60)
            if fault in ("cut", "endless"):
                self.send_response(200)
                self.send_header("Content-Length", "1000" if fault == "cut" else str(10**9))
                self.end_headers()
                with contextlib.suppress(OSError):
                    while fault == "endless" and not closing.is_set():
                        self.wfile.write(b" " * 65536)
                return None
            return self._send(200, make_reply(state.answer(body)))

        def _send(self, status, content, headers=()):
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
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
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NO_PROXY", "127.0.0.1")
            yield state
    finally:
        closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
