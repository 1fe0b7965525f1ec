"""The demo: a whole small study out of nothing."""

import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from pqpp_annotation.demo import make_demo
from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.owner.overview import Watch
from pqpp_annotation.store.people import add_person, keep_consent
from pqpp_annotation.store.work import next_item


@pytest.mark.slow
def test_the_demo_is_half_done_and_finds_who_clicked_at_random(tmp_path):
    path, store = make_demo(tmp_path / "demo")
    look = Watch(store).look()
    assert path.is_file() and 0.5 < look.progress.share < 1
    states = {row.name: row.state for row in look.people if row.role == "annotator"}
    assert states == {"anna": "admitted", "boris": "admitted", "random-clicker": "refused"}
    assert len(look.days) >= 3 and look.disputes
    person = add_person(store, "me", "annotator").id
    keep_consent(store, person)
    assert next_item(store, person).purpose == "training"
    store.close()


def test_the_demo_takes_no_folder_of_others(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(AnnotationError):
        make_demo(tmp_path)


@pytest.mark.slow
def test_the_command_serves_it_and_prints_both_links(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "pqpp_cli.main", "annotate", "demo", "--no-browser"]
    command += ["--output", str(tmp_path / "demo"), "--port", str(port)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        lines = [running.stderr.readline() for _ in range(3)]
        links = [line.split()[0] for line in lines[1:]]
        assert all(link.startswith(f"http://127.0.0.1:{port}/join/") for link in links)
        for _ in range(1000):
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/health", timeout=60
                ) as answer:
                    assert answer.status == 200
                break
            except OSError:
                time.sleep(0.2)
        else:
            pytest.fail("it does not answer")
        with urllib.request.urlopen(links[0], timeout=60) as page:
            assert b"How well does each picture show the prompt?" in page.read()
    finally:
        running.terminate()
        running.wait(20)
