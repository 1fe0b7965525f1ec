"""A page of gradio, served by a separate process, with its output and its requests."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.browser import in_every_look, violations

END = "\nimport sys; print('torch is imported:', 'torch' in sys.modules)\n"


@dataclass
class ServedPage:
    """A page and its process.

    Attributes:
        url: Without a slash at the end.
        place: The folder in which the process works and may keep files.
        asked_outside: The requests to other hosts, which a proxy received.
    """

    url: str
    place: Path
    asked_outside: list[bytes]
    _process: subprocess.Popen

    def stop(self) -> str:
        """Stop it as a terminal does, and return all its output."""
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(300) == 0
        return self.said()

    def said(self) -> str:
        """Return its output so far."""
        return (self.place / "said.txt").read_text("utf-8", "replace")


@contextlib.contextmanager
def serving_page(code: str, place: Path, **environment: str) -> Iterator[ServedPage]:
    """Serve a page while the context lasts.

    Args:
        code: Python that serves at port 0 until it is stopped.
        place: An empty folder.
        **environment: Variables of the process.
    """
    with _proxy() as (proxy, asked), (place / "said.txt").open("w") as said:
        homes = dict.fromkeys(("HOME", "TMPDIR", "GRADIO_TEMP_DIR", "HF_HOME"), str(place))
        proxies = {f"{scheme}_proxy": proxy for scheme in ("http", "https", "HTTP", "HTTPS")}
        proxies |= {"no_proxy": "127.0.0.1,localhost"}
        process = subprocess.Popen(
            [sys.executable, "-c", code + END],
            cwd=place,
            env={**os.environ, **homes, **proxies, **environment},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            page = ServedPage("", place, asked, process)
            page.url = _address(page)
            yield page
        finally:
            process.kill()
            process.wait()


def wait_for_scheme(page, scheme: str) -> None:
    """Wait until gradio has followed the browser to `light` or `dark`."""
    dark = str(scheme == "dark").lower()
    page.wait_for_function(f"!!document.querySelector('.dark') === {dark}")


def barriers(page) -> list[str]:
    """Return axe's findings in each look, and the looks in which the page is too wide."""
    found = []
    for how in in_every_look(page):
        wait_for_scheme(page, how.split()[-1])
        found.extend(f"{how}: {one}" for one in violations(page))
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{how}: wider than the window")
    return found


def _address(page: ServedPage) -> str:
    for _ in range(6000):
        found = re.search(r"(http://127\.0\.0\.1:\d+)/ - stop it", page.said())
        if found:
            return found[1]
        if page._process.poll() is not None:
            break
        threading.Event().wait(0.05)
    raise RuntimeError(page.said())


@contextlib.contextmanager
def _proxy() -> Iterator[tuple[str, list[bytes]]]:
    """Yield the address of a proxy that never answers, and the list of its requests."""
    asked: list[bytes] = []

    def listen(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                came, _ = server.accept()
                with came:
                    asked.append(came.recv(200))

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=listen, args=(server,), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
