"""A study that is served on a free port of this machine, in a thread of the test."""

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from pqpp_annotation.store.access import make_links
from pqpp_annotation.store.database import open_store
from pqpp_annotation.web.serve import create_app
from support.free_port import find_free_port

SECRET = "a secret of the tests, long enough to sign"


def get_token(page) -> str:
    """Return the token that the forms of a page send."""
    return re.search(r'name="csrf" value="([^"]+)"', page.text)[1]


def open_client(store, base_url="http://testserver", **options):
    """Return the client of a new visitor, without a server."""
    app = create_app(store, secret=SECRET, **options)
    client = TestClient(app, base_url=base_url, follow_redirects=False)
    client.store = store
    return client


def join(client, link=None, role="annotator", **form):
    """Follow a link, by default a new one, and press the button; return the response."""
    if link is None:
        [(token, _)] = make_links(client.store, role=role)
        link = f"/join/{token}"
    page = client.get(link, params=form or None)
    if page.status_code != 200:
        return page
    form = {"csrf": get_token(page), "agree": "yes", **form}
    return client.post(link.partition("?")[0], data=form)


def get_next_state(client, headers=None, **body):
    """Return the session's state and token, and the response to a request for the next item."""
    session = client.get("/api/session").json()
    headers = {"X-CSRF-Token": session["csrf"]} | (headers or {})
    return session | client.post("/api/next", json=body, headers=headers).json()


@dataclass
class ServedStudy:
    """A study with its server.

    Attributes:
        url: Its address, without a slash at the end.
        store: Its database.
    """

    study: Any
    store: Any
    url: str
    port: int

    def link(self, role: str = "annotator", **options) -> str:
        """Return a new invitation's link."""
        [(token, _)] = make_links(self.store, 1, role=role, **options)
        return f"{self.url}/join/{token}"

    def start(self) -> None:
        """Start the server, again at the same port after `stop`."""
        app = create_app(self.store, secret=SECRET)
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=self.port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=2,
            lifespan="off",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        for _ in range(12_000):
            if self._server.started:
                return
            time.sleep(0.01)
        raise RuntimeError("the server has not started")

    def stop(self) -> None:
        """Stop the server; the database stays open."""
        self._server.should_exit = True
        self._thread.join(120)


@contextlib.contextmanager
def serve_study(study) -> Iterator[ServedStudy]:
    """Serve a study while the context lasts."""
    port = find_free_port()
    with contextlib.closing(open_store(study)) as store:
        server = ServedStudy(study, store, f"http://127.0.0.1:{port}", port)
        server.start()
        try:
            yield server
        finally:
            server.stop()
