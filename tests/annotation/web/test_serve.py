"""The server as a process: it starts, outlives a kill, stops cleanly, and says what is wrong."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from support.processes import run_python
from support.studies import small_study

from pqpp_annotation.errors import StudyError
from pqpp_annotation.web.serve import serve
from pqpp_annotation.web.sessions import Sessions, read_secret
from pqpp_annotation.web.site import Limit

ROOT = Path(__file__).parents[3]
CODE = "import sys; from pqpp_cli.main import main; sys.exit(main(sys.argv[1:]))"


@contextlib.contextmanager
def running(folder, port, *options):
    """A served study; yields the process once it answers."""
    command = [sys.executable, "-c", CODE, "annotate", "serve", "study.yaml", "--port", str(port)]
    process = subprocess.Popen(
        [*command, *options], cwd=folder, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        for _ in range(3000):
            assert process.poll() is None, process.stderr.read()
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60).close()
                break
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.fixture
def port():
    """A free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_it_is_back_after_a_kill_and_stops_cleanly(tmp_path, port):
    small_study(tmp_path)
    with running(tmp_path, port) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    secret = (tmp_path / next(tmp_path.glob(".*.secret"))).read_text()
    with running(tmp_path, port) as process:
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0
        said = process.stderr.read()
    assert f"http://127.0.0.1:{port}/ - stop it with Ctrl-C" in said
    assert "Traceback" not in said and "TLS" not in said
    assert (tmp_path / next(tmp_path.glob(".*.secret"))).read_text() == secret
    assert not list(tmp_path.glob("*.db-wal"))  # the database was closed


def test_a_port_that_is_taken_is_told(tmp_path):
    small_study(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(StudyError, match=f"127.0.0.1 port {number}: .*--port"):
            serve(tmp_path / "study.yaml", port=number)


def test_tls_needs_both_files(tmp_path):
    small_study(tmp_path)
    with pytest.raises(StudyError, match="both --certificate and --key"):
        serve(tmp_path / "study.yaml", certificate="a.pem")
    with pytest.raises(StudyError, match=r"a\.pem is no file"):
        serve(tmp_path / "study.yaml", certificate="a.pem", key="b.pem")


def test_a_missing_extra_is_told_in_one_line(tmp_path):
    code = """
import sys
sys.modules["fastapi"] = None
from pqpp_cli.main import main
sys.exit(main(["annotate", "serve", "study.yaml"]))
"""
    ran = run_python(code, tmp_path, **environment())
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1 and "fastapi" in ran.stderr and "annotate" in ran.stderr


def test_the_secret_is_made_once_and_for_its_owner_only(tmp_path, monkeypatch):
    secret = read_secret(tmp_path, "mine")
    assert read_secret(tmp_path, "mine") == secret and len(secret) >= 32
    assert (tmp_path / ".mine.secret").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [".mine.secret"]
    monkeypatch.setenv("PQPP_ANNOTATION_SECRET", "y" * 32)
    assert read_secret(tmp_path, "mine") == "y" * 32
    monkeypatch.setenv("PQPP_ANNOTATION_SECRET", "short")
    with pytest.raises(StudyError, match="has 5 characters"):
        read_secret(tmp_path, "mine")


def test_a_cookie_of_another_secret_is_nobodys():
    one, other = Sessions("a" * 32), Sessions("b" * 32)
    session = one.fresh(person=1)
    assert other.read(one.write(session)) is None
    assert not other.is_form_token(session, one.form_token(session))
    assert not one.is_form_token(one.fresh(person=1), one.form_token(session))


def test_failures_are_forgotten_after_their_time():
    now = [0.0]
    limit = Limit(count=3, seconds=10, clock=lambda: now[0])
    for second in range(3):
        now[0] = second
        limit.failed("a")
    assert limit.wait("a") == 8
    now[0] = 10.5
    assert limit.wait("a") == 0
    for number in range(Limit.MOST_KEYS + 10):
        limit.failed(str(number))
    assert len(limit._failures) <= Limit.MOST_KEYS


def test_the_container_starts_what_there_is():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    words = [
        word
        for start in ("ENTRYPOINT", "CMD")
        for line in lines
        if line.startswith(start)
        for word in json.loads(line.removeprefix(start))
    ]
    from pqpp_cli.commands import named
    from pqpp_files.options.recipe import read_recipe

    command = read_recipe(*named(words[1:]))
    assert (type(command).__name__, command.host, command.port) == (
        "AnnotateServe",
        "0.0.0.0",
        8000,
    )


def test_every_command_of_the_page_is_one(monkeypatch):
    from pqpp_cli.commands import named

    text = (ROOT / "docs" / "annotation.md").read_text("utf-8")
    commands = re.findall(r"^(?:`)?pqpp (annotate [^`#\n&]+)", text, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        assert named(shlex.split(command))[0].__name__.startswith("Annotate")
