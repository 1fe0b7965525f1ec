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

from support.browser import iterate_modes, run_axe

REPORT = "\nimport sys; print('torch is imported:', 'torch' in sys.modules)\n"


@dataclass
class ServedPage:
    """A page and its process.

    Attributes:
        url: Without a slash at the end.
        folder: The folder in which the process works and may store files.
        outside_requests: The requests to other hosts, which a proxy received.
    """

    url: str
    folder: Path
    outside_requests: list[bytes]
    _process: subprocess.Popen

    def stop(self) -> str:
        """Stop it as a terminal does, and return all its output."""
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(300) == 0
        return self.read_output()

    def read_output(self) -> str:
        """Return its output so far."""
        return (self.folder / "output.txt").read_text("utf-8", "replace")


@contextlib.contextmanager
def serve_page(code: str, folder: Path, **environment: str) -> Iterator[ServedPage]:
    """Serve a page while the context lasts.

    Args:
        code: Python that serves at port 0 until it is stopped.
        folder: An empty folder.
        **environment: Variables of the process.
    """
    with _run_proxy() as (proxy, requests), (folder / "output.txt").open("w") as output:
        homes = dict.fromkeys(("HOME", "TMPDIR", "GRADIO_TEMP_DIR", "HF_HOME"), str(folder))
        proxies = {f"{scheme}_proxy": proxy for scheme in ("http", "https", "HTTP", "HTTPS")}
        proxies |= {"no_proxy": "127.0.0.1,localhost"}
        process = subprocess.Popen(
            [sys.executable, "-c", code + REPORT],
            cwd=folder,
            env={**os.environ, **homes, **proxies, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            page = ServedPage("", folder, requests, process)
            page.url = _find_address(page)
            yield page
        finally:
            process.kill()
            process.wait()


def wait_for_scheme(page, scheme: str) -> None:
    """Wait until gradio has followed the browser to `light` or `dark`."""
    dark = str(scheme == "dark").lower()
    page.wait_for_function(f"!!document.querySelector('.dark') === {dark}")


def find_barriers(page) -> list[str]:
    """Return axe's findings in each look, and the looks in which the page is too wide."""
    barriers = []
    for mode in iterate_modes(page):
        wait_for_scheme(page, mode.split()[-1])
        barriers.extend(f"{mode}: {violation}" for violation in run_axe(page))
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            barriers.append(f"{mode}: wider than the window")
    return barriers


def _find_address(page: ServedPage) -> str:
    for _ in range(6000):
        match = re.search(r"(http://127\.0\.0\.1:\d+)/ - stop it", page.read_output())
        if match:
            return match[1]
        if page._process.poll() is not None:
            break
        threading.Event().wait(0.05)
    raise RuntimeError(page.read_output())


@contextlib.contextmanager
def _run_proxy() -> Iterator[tuple[str, list[bytes]]]:
    """Yield the address of a proxy that never answers, and the list of its requests."""
    requests: list[bytes] = []

    def listen(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection:
                    requests.append(connection.recv(200))

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=listen, args=(server,), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", requests
