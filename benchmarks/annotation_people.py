"""The server and the people of benchmarks/annotation.py: processes, sessions, votes by HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path

from pqpp_annotation.store.database import open_store
from pqpp_annotation.study import Study

PQPP = (sys.executable, "-m", "pqpp_cli.main", "annotate")


@dataclass
class Server:
    """A study's server in a process of its own, which can be killed and started again."""

    study: Study
    port: int = 0
    process: subprocess.Popen | None = None

    def start(self) -> float:
        """Start it, and return after how many seconds it answered."""
        if not self.port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        began = time.monotonic()
        words = [*PQPP, "serve", str(self.study.root / "study.yaml"), "--port", str(self.port)]
        log = (self.study.root / "server.log").open("a")
        self.process = subprocess.Popen(words, stdout=log, stderr=log)
        while time.monotonic() - began < 60:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return time.monotonic() - began
            time.sleep(0.02)
        raise RuntimeError((self.study.root / "server.log").read_text()[-2000:])

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def cpu_seconds(self) -> float:
        """Return the processor time that it has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mebibytes(self) -> float:
        """Return the most memory that it had so far."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024


@dataclass
class Annotator:
    """One browser."""

    server: Server
    token: str
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""
    connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: str | None = None, kind: str = "") -> tuple:
        """Return the status, the headers and the text of an answer.

        A connection that was idle and is closed is opened again, as a browser does.
        """
        try:
            return self._ask(method, path, body, kind)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            return self._ask(method, path, body, kind)

    def _ask(self, method: str, path: str, body: str | None, kind: str) -> tuple:
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = {"Cookie": "; ".join(f"{name}={one}" for name, one in self.cookies.items())}
        headers |= {"X-CSRF-Token": self.csrf, "Origin": f"http://127.0.0.1:{self.server.port}"}
        headers |= {"Content-Type": kind} if kind else {}
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
            text = answer.read().decode()
        except BaseException:
            self.connection.close()
            self.connection = None
            raise
        for value in answer.headers.get_all("Set-Cookie") or ():
            name, _, rest = value.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        return answer.status, answer.headers, text

    def join(self) -> None:
        """Follow the link, as a person does."""
        _, _, page = self.ask("GET", f"/join/{self.token}")
        token = re.search(r'name="csrf"\s+value="([^"]+)"', page)[1]
        form = urllib.parse.urlencode({"csrf": token, "agree": "yes"})
        path, kind = f"/join/{self.token}", "application/x-www-form-urlencoded"
        status, _, text = self.ask("POST", path, form, kind)
        assert status == 303, (status, text[:300])
        self.csrf = json.loads(self.ask("GET", "/api/session")[2])["csrf"]

    def next(self) -> dict | None:
        """Return the next task."""
        status, _, text = self.ask("GET", "/api/next")
        assert status == 200, (status, text[:300])
        return json.loads(text)["task"]

    def save(self, task: dict, image: int, client: str) -> int:
        """Send a vote, and return the status."""
        sent = {"client_id": client, "assignment": task["assignment"], "image": image}
        sent |= {"value": {"label": 1}, "seconds": 1.0}
        return self.ask("POST", "/api/answers", json.dumps(sent), "application/json")[0]


def annotators_of(server: Server, count: int) -> list[Annotator]:
    """Invite people, and let them follow their links."""
    with contextlib.closing(open_store(server.study)) as store:
        tokens = [token for token, _ in store.invitations.create(count)]
    found = [Annotator(server, token) for token in tokens]
    for one in found:
        one.join()
    return found


def all_at_once(work, annotators: list[Annotator]) -> None:
    """Let each annotator work in a thread; raise what went wrong in one."""
    faults: list[BaseException] = []

    def run(one: Annotator) -> None:
        try:
            work(one)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in annotators]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
