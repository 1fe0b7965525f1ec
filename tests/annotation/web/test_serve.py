"""The server as a process: it starts, outlives a kill, stops cleanly, and says what is wrong."""

import os
import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import pytest
from support.free_port import free_port
from support.served_process import running
from support.studies import rows, small_store, small_study

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
    return free_port()


def test_it_is_back_after_a_kill_and_stops_cleanly(tmp_path, port):
    small_study(tmp_path)
    with running(tmp_path, port) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    secret = (tmp_path / next(tmp_path.glob(".*.secret"))).read_text()
    url = "https://lab.example.org:8443/colours"
    with running(tmp_path, port, "--url", url, answers="/colours/health") as process:
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0
        said = process.stderr.read()
    assert f"{url}/ - stop it with Ctrl-C" in said
    assert "Traceback" not in said and "TLS" not in said
    assert (tmp_path / next(tmp_path.glob(".*.secret"))).read_text() == secret
    assert not list(tmp_path.glob("*.db-wal"))  # the database was closed


def test_links_lead_to_where_serve_was_told_that_it_is_reached(tmp_path, port, monkeypatch, capsys):
    small_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    monkeypatch.setattr("pqpp_annotation.web.serve._configure_logging", lambda: None)

    def link():
        assert main(["annotate", "invite", "study.yaml"]) == 0
        return capsys.readouterr().out.partition("/join/")[0]

    def served(*options):
        assert main(["annotate", "serve", "study.yaml", "--port", str(port), *options]) == 0
        return capsys.readouterr().err

    assert link() == "http://127.0.0.1:8000"
    served("--host", "0.0.0.0", "--allow-http")
    assert link() == f"http://{socket.gethostname()}:{port}"
    assert f"http://127.0.0.1:{port}/ - stop it with Ctrl-C" in served()
    assert link() == f"http://127.0.0.1:{port}"  # neither was told as the place to reach it
    url = "https://lab.example.org:8443/colours"
    said = served("--url", url)
    assert f"begin with http://127.0.0.1:{port}; replace that with {url}\n" in said
    assert link() == url
    served()  # to look at it at home moves no link
    assert link() == url


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "study.example"}, r"`url` must be like .*; got 'study\.example'"),
        ({"url": "https://a.example/a b"}, r"`url` must be like .*a b'"),
    ],
)
def test_what_cannot_be_served_is_told(tmp_path, port, options, said):
    small_study(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(AnnotationError, match=said):
        serve(tmp_path / "study.yaml", port=port, **options)
    assert signal.getsignal(signal.SIGTERM) is before and not (tmp_path / ".study.secret").exists()


@pytest.mark.daily
def test_several_processes_serve_one_study(tmp_path, port, new_postgresql, monkeypatch):
    """Each knows who is signed in at the other, and shows what was added."""
    ports = port, free_port()
    monkeypatch.setenv("STUDY_DATABASE", new_postgresql())
    store = small_store(tmp_path, prompts=1, database="$STUDY_DATABASE")
    [(token, _)] = make_links(store)
    with running(tmp_path, ports[0]), running(tmp_path, ports[1]):
        bases = [f"http://127.0.0.1:{port}" for port in ports]
        with httpx.Client(base_url=bases[0]) as client:
            page = client.get(f"/join/{token}").text
            form = {"csrf": re.search(r'name="csrf" value="([^"]+)"', page)[1], "agree": "yes"}
            assert client.post(f"/join/{token}", data=form).status_code == 303
            cookies = dict(client.cookies)

        def next_states():
            asked = (
                httpx.post(f"{base}/api/next", json={}, cookies=cookies, headers=headers)
                for base in bases
            )
            return [answered.json() for answered in asked]

        session = httpx.get(f"{bases[1]}/api/session", cookies=cookies).json()
        headers = {"X-CSRF-Token": session["csrf"]}
        first = {state["task"]["assignment"] for state in next_states()}
        assert len(first) == 1
        more = tmp_path / "more.csv"
        more.write_text("prompt_id,prompt,image\nnew,What was added.,0-sdxl.png\n")
        assert add_prompts(store.study, more) == 1
        assert {state["progress"]["study_total"] for state in next_states()} == {2}
        skipped = {"assignment": first.pop()}
        httpx.post(f"{bases[0]}/api/skip", json=skipped, cookies=cookies, headers=headers)
        for state in next_states():
            assert state["task"]["prompt"] == "What was added."
            [image] = state["task"]["images"]
            assert httpx.get(f"{bases[1]}{image['url']}", cookies=cookies).status_code == 200
    store.close()


def test_the_secret_is_made_once_and_for_its_owner_only(tmp_path, monkeypatch):
    secret = read_secret(tmp_path, "mine")
    assert read_secret(tmp_path, "mine") == secret and len(secret) >= 32
    assert (tmp_path / ".mine.secret").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [".mine.secret"]
    monkeypatch.setenv("PQPP_ANNOTATION_SECRET", "y" * 32)
    assert read_secret(tmp_path, "mine") == "y" * 32
    monkeypatch.setenv("PQPP_ANNOTATION_SECRET", "short")
    with pytest.raises(AnnotationError, match="needs 32 or more"):
        read_secret(tmp_path, "mine")


def test_a_cookie_of_another_secret_is_nobodys():
    one, other = CookieSigner("a" * 32), CookieSigner("b" * 32)
    visit = one.create_visit()
    assert other.unsign(one.sign(visit)) is None and one.name != other.name
    assert not other.is_form_token(visit, one.make_form_token(visit))
    assert not one.is_form_token(one.create_visit(), one.make_form_token(visit))


def test_attempts_are_counted_before_they_are_made_and_forgotten_after_their_time(tmp_path):
    store = small_store(tmp_path)
    now = [store.clock()]
    store.clock = lambda: now[0]
    attempt = partial(count_attempt, store, most=3, seconds=10)
    with ThreadPoolExecutor(16) as pool:
        waits = list(pool.map(lambda _: attempt("a"), range(40)))
    assert waits.count(0) == 3  # of many at once
    now[0] += 2_000
    assert attempt("a") == 8 and attempt("b") == attempt("a", "b") == 0
    now[0] += 8_500
    assert attempt("a") == 0
    now[0] += 3_600_000
    assert attempt("c") == 0
    assert len(rows(store, Attempt)) == 1  # a flood does not stay
    store.close()
