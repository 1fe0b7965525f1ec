"""The server process: start, restart, URLs, secrets and rate limits."""

import os
import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import pytest
from support.free_port import find_free_port
from support.served_process import run_server
from support.studies import create_store, read_rows, write_study

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.access import count_attempt, make_links
from pqpp_annotation.store.tables import Attempt
from pqpp_annotation.study import add_prompts
from pqpp_annotation.web.security import CookieSigner, read_secret
from pqpp_annotation.web.serve import serve
from pqpp_cli.main import main

ROOT = Path(__file__).parents[3]


@pytest.fixture
def port():
    """A free port."""
    return find_free_port()


def test_server_restarts_after_a_kill_and_stops_cleanly(tmp_path, port):
    write_study(tmp_path)
    with run_server(tmp_path, port) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    secret = (tmp_path / next(tmp_path.glob(".*.secret"))).read_text()
    url = "https://lab.example.org:8443/colours"
    with run_server(tmp_path, port, "--address", url, path="/colours/health") as process:
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0
        output = process.stderr.read()
    assert f"{url}/ - stop it with Ctrl-C" in output
    assert "Traceback" not in output and "TLS" not in output
    assert (tmp_path / next(tmp_path.glob(".*.secret"))).read_text() == secret
    assert not list(tmp_path.glob("*.db-wal"))  # the database was closed


def test_links_use_the_public_url(tmp_path, port, monkeypatch, capsys):
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    monkeypatch.setattr("pqpp_annotation.web.serve._configure_logging", lambda: None)

    def get_base():
        assert main(["annotate", "invite", "study.yaml"]) == 0
        return capsys.readouterr().out.partition("/join/")[0]

    def run_serve(*options):
        assert main(["annotate", "serve", "study.yaml", "--port", str(port), *options]) == 0
        return capsys.readouterr().err

    assert get_base() == "http://127.0.0.1:8000"
    run_serve("--host", "0.0.0.0", "--allow-http")
    assert get_base() == f"http://{socket.gethostname()}:{port}"
    assert f"http://127.0.0.1:{port}/ - stop it with Ctrl-C" in run_serve()
    assert get_base() == f"http://127.0.0.1:{port}"
    url = "https://lab.example.org:8443/colours"
    output = run_serve("--address", url)
    assert f"begin with http://127.0.0.1:{port}; replace that with {url}\n" in output
    assert get_base() == url
    run_serve()  # without --address, links stay
    assert get_base() == url
    for command in ("init", "invite", "serve"):
        for address in ("study.example", "https://a b", "http://[::"):
            assert main(["annotate", command, "study.yaml", "--address", address]) == 2
            assert address in capsys.readouterr().err
    monkeypatch.setattr("pqpp_annotation.web.serve.get_server_url", lambda _: "http://[::")
    run_serve()


@pytest.mark.parametrize(
    "address",
    [
        {"host": "ü" * 70},
        {"certificate": "no.pem", "key": "no.pem"},
    ],
)
def test_rejects_invalid_addresses(tmp_path, port, address):
    write_study(tmp_path)
    old_handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(AnnotationError, match=next(iter(address))):
        serve(tmp_path / "study.yaml", port=port, **address)
    assert signal.getsignal(signal.SIGTERM) is old_handler
    assert any(tmp_path.glob(".*.secret")) == ("key" in address)


@pytest.mark.daily
def test_two_processes_share_sessions_and_prompts(tmp_path, port, make_postgresql, monkeypatch):
    ports = port, find_free_port()
    monkeypatch.setenv("STUDY_DATABASE", make_postgresql())
    store = create_store(tmp_path, prompts=1, database="$STUDY_DATABASE")
    [(token, _)] = make_links(store)
    with run_server(tmp_path, ports[0]), run_server(tmp_path, ports[1]):
        bases = [f"http://127.0.0.1:{port}" for port in ports]
        with httpx.Client(base_url=bases[0]) as client:
            page = client.get(f"/join/{token}").text
            form = {"csrf": re.search(r'name="csrf" value="([^"]+)"', page)[1], "agree": "yes"}
            assert client.post(f"/join/{token}", data=form).status_code == 303
            cookies = dict(client.cookies)

        def next_states():
            responses = (
                httpx.post(f"{base}/api/next", json={}, cookies=cookies, headers=headers)
                for base in bases
            )
            return [response.json() for response in responses]

        session = httpx.get(f"{bases[1]}/api/session", cookies=cookies).json()
        headers = {"X-CSRF-Token": session["csrf"]}
        assignments = {state["task"]["assignment"] for state in next_states()}
        assert len(assignments) == 1
        table = tmp_path / "more.csv"
        table.write_text("prompt_id,prompt,image\nnew,What was added.,0-sdxl.png\n")
        assert add_prompts(store.study, table) == 1
        assert {state["progress"]["study_total"] for state in next_states()} == {2}
        skipped = {"assignment": assignments.pop()}
        httpx.post(f"{bases[0]}/api/skip", json=skipped, cookies=cookies, headers=headers)
        for state in next_states():
            assert state["task"]["prompt"] == "What was added."
            [image] = state["task"]["images"]
            assert httpx.get(f"{bases[1]}{image['url']}", cookies=cookies).status_code == 200
    store.close()


def test_secret_is_created_once_with_owner_only_access(tmp_path, monkeypatch):
    secret = read_secret(tmp_path, "mine")
    assert read_secret(tmp_path, "mine") == secret and len(secret) >= 32
    assert (tmp_path / ".mine.secret").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [".mine.secret"]
    os.mkfifo(tmp_path / ".pipe.secret")
    with pytest.raises(AnnotationError, match="damaged"):
        read_secret(tmp_path, "pipe")
    monkeypatch.setenv("PQPP_ANNOTATION_SECRET", "y" * 32)
    assert read_secret(tmp_path, "mine") == "y" * 32
    monkeypatch.setenv("PQPP_ANNOTATION_SECRET", "short")
    with pytest.raises(AnnotationError, match="needs 32 or more"):
        read_secret(tmp_path, "mine")


def test_cookie_of_another_secret_is_invalid():
    first, second = CookieSigner("a" * 32), CookieSigner("b" * 32)
    visit = first.create_visit()
    assert second.unsign(first.sign(visit)) is None and first.name != second.name
    assert not second.is_form_token(visit, first.make_form_token(visit))
    assert not first.is_form_token(first.create_visit(), first.make_form_token(visit))


def test_count_attempt_limits_concurrent_and_recent_attempts(tmp_path):
    store = create_store(tmp_path)
    now = [store.clock()]
    store.clock = lambda: now[0]
    attempt = partial(count_attempt, store, most=3, seconds=10)
    with ThreadPoolExecutor(16) as pool:
        waits = list(pool.map(lambda _: attempt("a"), range(40)))
    assert waits.count(0) == 3
    now[0] += 2_000
    assert attempt("a") == 8 and attempt("b") == attempt("a", "b") == 0
    now[0] += 8_500
    assert attempt("a") == 0
    now[0] += 3_600_000
    assert attempt("c") == 0
    assert len(read_rows(store, Attempt)) == 1  # old attempts are deleted
    store.close()
