"""`pqpp annotate serve` as a process, and the proxies that stand before it."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from support.free_port import free_port

CODE = "import sys; from pqpp_cli.main import main; sys.exit(main(sys.argv[1:]))"
DOCS = Path(__file__).parents[2] / "docs/annotation.md"


@contextlib.contextmanager
def running(folder, port, *options, answers="/health"):
    """A served study; yields the process once it answers, what it says as its `stderr`."""
    command = [sys.executable, "-c", CODE, "annotate", "serve", "study.yaml", "--port", str(port)]
    said = (
        Path(folder) / f"served-{port}.log"
    )  # a pipe that nobody reads is full after 800 requests
    with said.open("w") as file:
        process = subprocess.Popen([*command, *options], cwd=folder, stderr=file, env=environment())
    process.stderr = said.open()
    try:
        for _ in range(3000):
            assert process.poll() is None, process.stderr.read()
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}{answers}", timeout=60).close()
                break
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def proxy_block(program: str) -> str:
    """What docs/annotation.md says to write for a proxy."""
    text = DOCS.read_text("utf-8").partition("### Behind a reverse proxy")[2]
    caddy, nginx, *_ = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return {"caddy": caddy, "nginx": nginx}[program]


def replaced(text: str, **new: str) -> str:
    """A text with parts replaced that are there."""
    for old, now in new.items():
        assert old in text, old
        text = text.replace(old, now)
    return text


@contextlib.contextmanager
def proxied(program: str, folder: Path, behind: int, root: str):
    """Run nginx or Caddy, as the docs say, with TLS on a free port; yields the study's address."""
    if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
        reason = f"needs {program}: apt-get install {program}"
        pytest.fail(reason) if os.environ.get("PQPP_PROXIES") else pytest.skip(reason)
    front, place = free_port(), folder / program
    place.mkdir()
    certificate, key = place / "study.pem", place / "study.key"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*words, "-out", certificate, "-keyout", key], check=True, capture_output=True)
    block = proxy_block(program)
    config = place / "config"
    if program == "nginx":
        new = {"443": f"127.0.0.1:{front}", "study.example.org": "localhost"}
        new |= {"/etc/ssl/study.pem": str(certificate), "/etc/ssl/study.key": str(key)}
        block = replaced(block, **new, **{"location /": f"location {root}/"})
        paths = [f"{name}_temp_path {place};" for name in ("proxy", "fastcgi", "uwsgi", "scgi")]
        inside = ["access_log off;", f"client_body_temp_path {place};", *paths, block]
        head = f"pid {place}/pid; error_log {place}/log; daemon off; events {{}}\n"
        config.write_text(head + "http {\n" + "\n".join(inside) + "}\n")
        command = ["/usr/sbin/nginx", "-c", str(config), "-e", f"{place}/log"]
    else:
        route = "reverse_proxy"
        block = (
            block.replace(route, f"tls {certificate} {key}\nhandle {root}/* {{\n{route}") + "}\n"
        )
        block = replaced(block, **{"study.example.org": f"https://localhost:{front}"})
        config.write_text("{\nadmin off\nauto_https disable_redirects\n}\n" + block)
        command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(config)]
    # Last: a port may have 443 in it.
    config.write_text(config.read_text().replace("127.0.0.1:8000", f"127.0.0.1:{behind}"))
    files = {name: str(place) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME")}
    with (place / "said").open("w") as said:
        process = subprocess.Popen(command, stderr=said, env=os.environ | files)
        try:
            yield f"https://localhost:{front}{root}"
            assert process.poll() is None, (place / "said").read_text()
        finally:
            process.terminate()
            process.wait(60)
