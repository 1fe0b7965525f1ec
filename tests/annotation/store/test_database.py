"""Opening, copying and sharing a study's database, and what goes wrong with it."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select
from support.processes import run_python
from support.studies import answer, do_all, rows, small_store

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store import tables
from pqpp_annotation.store.answers import iterate_votes
from pqpp_annotation.store.database import copy_database, open_store
from pqpp_annotation.store.people import add_person
from pqpp_annotation.store.work import get_past_items, reserve_item
from pqpp_annotation.study import Study, read_study
from pqpp_cli.main import main

TESTS = str(Path(__file__).parents[2])


def test_a_study_is_the_same_after_it_was_closed(store):
    person = add_person(store, "a").id
    held = reserve_item(store, person)
    answer(store, person, held)
    opened = open_store(read_study(store.study.root / "study.yaml"))
    assert get_past_items(opened, person)[0].state == "done"
    assert list(iterate_votes(opened)) == list(iterate_votes(store))
    assert reserve_item(opened, person) == reserve_item(store, person)
    opened.close()


def test_all_reads_of_a_transaction_see_one_state(store):
    count = select(tables.Person.id)
    with store.begin_read() as db:
        before = db.scalars(count).all()
        add_person(store, "a")
        assert db.scalars(count).all() == before == []
    with store.begin_read() as db:
        assert len(db.scalars(count).all()) == 1


def test_a_study_file_may_change_but_not_what_the_study_is(store):
    path = store.study.root / "study.yaml"
    whole = path.read_text()
    path.write_text(whole.replace("people_per_item: 3", "people_per_item: 5"))
    opened = open_store(read_study(path))
    assert opened.study.people_per_item == 5
    with opened.begin_read() as db:
        assert db.scalar(select(tables.StudyRow.config))["people_per_item"] == 5
    opened.close()
    path.write_text(whole.replace("seed: 0", "seed: 1"))
    with pytest.raises(AnnotationError, match="is 1 in the study file, but 0 in"):
        open_store(read_study(path))


def test_what_is_no_database_of_a_study_is_refused(tmp_path):
    def opened(database):
        return open_store(Study(name="a", kind_name="match", database=database, folder=tmp_path))

    with pytest.raises(AnnotationError, match=r"none\.db not found; create it"):
        opened("none.db")
    (tmp_path / "text.db").write_text("no database" * 1000)
    with pytest.raises(AnnotationError, match=r"text\.db is damaged or not a database"):
        opened("text.db")
    with closing(sqlite3.connect(tmp_path / "empty.db")) as db:
        db.execute("CREATE TABLE other (a)")
    with pytest.raises(AnnotationError, match=r"empty\.db contains no study"):
        opened("empty.db")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE item SET prompt = CAST(x'61ff62' AS TEXT)",  # no UTF-8
        "UPDATE study SET config = '[['",
        "UPDATE answer SET created = 'yesterday'",
        "UPDATE item SET detail = '7'",
        # The library tells of a table's damaged text by an error that is none of its own.
        "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = CAST(x'63ff' AS TEXT) WHERE name = 'item'",
    ],
)
def test_a_damaged_database_is_told_in_a_line(damage, tmp_path, capsys):
    store = small_store(tmp_path)
    do_all(store, add_person(store, "ann").id)
    store.close()
    with closing(sqlite3.connect(store.name)) as db:
        db.executescript(damage)
        db.commit()
    words = ["export", str(tmp_path / "study.yaml"), "--output", str(tmp_path / "made")]
    assert main(["annotate", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "restore a backup" in error
    assert not (tmp_path / "made").exists()


def test_one_server_at_a_time_has_an_sqlite_file(tmp_path):
    store = small_store(tmp_path)
    code = (
        "from pqpp_annotation.store.database import open_store\n"
        "from pqpp_annotation.study import read_study\n"
        "open_store(read_study('study.yaml')).hold_server_lock().__enter__()"
    )
    with store.hold_server_lock():
        other = run_python(code, tmp_path)
        assert "another process already serves this study" in other.stderr
        # Other commands go on.
        assert add_person(open_store(store.study), "a").name == "a"
    with open_store(store.study).hold_server_lock():
        pass


def test_a_backup_while_people_work_is_whole(store, tmp_path):
    if not store.is_sqlite:
        with pytest.raises(AnnotationError, match="pg_dump"):
            copy_database(store, tmp_path / "first.db")
        return

    def copied(name):
        copy_database(store, tmp_path / name)
        return open_store(replace(store.study, database=name))

    people = [add_person(store, f"p{number}").id for number in range(3)]
    threads = [threading.Thread(target=do_all, args=(store, one)) for one in people]
    for thread in threads:
        thread.start()
    first = copied("first.db")
    for thread in threads:
        thread.join()
    for item in iterate_votes(first):
        assert item in list(iterate_votes(store))
    last = copied("last.db")
    assert list(iterate_votes(last)) == list(iterate_votes(store))
    assert rows(last, tables.Person) == rows(store, tables.Person)
    assert do_all(last, add_person(last, "another").id) == []
    for one in (first, last):
        one.close()


WORK = """
import sys, uuid
sys.path.insert(0, {tests!r})
from support.studies import answer
from pqpp_annotation.store.answers import save_answer
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.people import find_person
from pqpp_annotation.store.work import reserve_item
from pqpp_annotation.study import read_study
store = open_store(read_study({path!r}))
person = find_person(store, {name!r}).id
while shown := reserve_item(store, person):
    for image in shown.images:
        client = str(uuid.uuid4())
        save_answer(store, person, shown.assignment, image.id, {{"label": 1}}, client)
        print(client, flush=True)
"""


def test_what_was_saved_is_there_after_a_kill(tmp_path, database):
    store = small_store(tmp_path, prompts=60, people_per_item=2, **database)
    said = []
    for number in range(2):
        add_person(store, f"p{number}")
        code = WORK.format(tests=TESTS, path=str(tmp_path / "study.yaml"), name=f"p{number}")
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path
        )
        for _ in range(7 + 4 * number):
            said.append(process.stdout.readline().strip())
        os.kill(process.pid, signal.SIGKILL)
        said += [line.strip() for line in process.communicate()[0].splitlines() if len(line) == 36]
    with store.begin_read() as db:
        kept = db.scalars(select(tables.Answer.client_id)).all()
    assert len(kept) == len(set(kept)) and set(filter(None, said)) <= set(kept)
    assert len(kept) <= len(said) + 2  # at most one of each was on its way
    store.close()


def test_a_database_is_readable_by_its_owner_alone(tmp_path):
    store = small_store(tmp_path)
    add_person(store, "a")
    for path in tmp_path.glob("*.db*"):
        assert path.stat().st_mode & 0o077 == 0, path
    store.close()
    path = Path(store.name)
    path.chmod(0o644)  # as an earlier version, or a copy, has left it
    store = open_store(read_study(tmp_path / "study.yaml"))
    assert path.stat().st_mode & 0o777 == 0o600
    store.close()
