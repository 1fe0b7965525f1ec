"""Opening, copying and locking a study's database, and damaged databases."""

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
from sqlalchemy import select, text
from support.processes import run_python
from support.studies import answer_all, answer_item, create_store, read_rows

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.export import export_study
from pqpp_annotation.store import tables
from pqpp_annotation.store.answers import iterate_votes, read_records
from pqpp_annotation.store.database import copy_database, open_store
from pqpp_annotation.store.people import add_person
from pqpp_annotation.store.work import get_past_items, reserve_item
from pqpp_annotation.study import Study, read_study
from pqpp_cli.main import main

TESTS = str(Path(__file__).parents[2])


def test_reopened_study_is_unchanged(store):
    person = add_person(store, "a").id
    reserved = reserve_item(store, person)
    answer_item(store, person, reserved)
    reopened = open_store(read_study(store.study.root / "study.yaml"))
    assert get_past_items(reopened, person)[0].state == "done"
    assert list(iterate_votes(read_records(reopened))) == list(iterate_votes(read_records(store)))
    assert reserve_item(reopened, person) == reserve_item(store, person)
    reopened.close()


def test_reads_in_a_transaction_see_one_state(store):
    query = select(tables.Person.id)
    with store.begin_read() as db:
        before = db.scalars(query).all()
        add_person(store, "a")
        assert db.scalars(query).all() == before == []
    with store.begin_read() as db:
        assert len(db.scalars(query).all()) == 1


def test_open_store_rejects_changed_seed(store):
    path = store.study.root / "study.yaml"
    text = path.read_text()
    path.write_text(text.replace("people_per_item: 3", "people_per_item: 5"))
    store_after = open_store(read_study(path))
    assert store_after.study.people_per_item == 5
    with store_after.begin_read() as db:
        assert db.scalar(select(tables.StudyRow.config))["people_per_item"] == 5
    store_after.close()
    path.write_text(text.replace("seed: 0", "seed: 1"))
    with pytest.raises(AnnotationError, match="is 1 in the study file, but 0 in"):
        open_store(read_study(path))


def test_open_store_rejects_other_files(tmp_path):
    def open_database(database):
        return open_store(Study(name="a", kind_name="match", database=database, folder=tmp_path))

    with pytest.raises(AnnotationError, match=r"none\.db not found; create it"):
        open_database("none.db")
    (tmp_path / "text.db").write_text("no database" * 1000)
    with pytest.raises(AnnotationError, match=r"text\.db is damaged or not a database"):
        open_database("text.db")
    with closing(sqlite3.connect(tmp_path / "empty.db")) as db:
        db.execute("CREATE TABLE other (a)")
    with pytest.raises(AnnotationError, match=r"empty\.db contains no study"):
        open_database("empty.db")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE item SET prompt = CAST(x'61ff62' AS TEXT)",  # no UTF-8
        "UPDATE study SET config = '[['",
        "UPDATE answer SET created = 'yesterday'",
        "UPDATE item SET detail = '7'",
        # SQLite's library raises UnicodeDecodeError for this one.
        "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = CAST(x'63ff' AS TEXT) WHERE name = 'item'",
    ],
)
def test_damaged_database_gives_a_one_line_error(damage, tmp_path, capsys):
    store = create_store(tmp_path)
    answer_all(store, add_person(store, "ann").id)
    store.close()
    with closing(sqlite3.connect(store.name)) as db:
        db.executescript(damage)
        db.commit()
    arguments = ["export", str(tmp_path / "study.yaml"), "--output", str(tmp_path / "made")]
    assert main(["annotate", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "restore a backup" in error
    assert not (tmp_path / "made").exists()


def test_table_lost_during_an_export_is_one_line(store, tmp_path):
    with store.begin_write() as db:
        db.execute(text("ALTER TABLE answer RENAME TO other"))
    with pytest.raises(AnnotationError, match=r"answer.*restore a backup"):
        export_study(store, tmp_path / "votes")


@pytest.mark.parametrize("change", [Path.unlink, Path("b.db").replace], ids=["delete", "replace"])
def test_file_that_replaces_an_open_database_stays_as_it_is(tmp_path, change, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = create_store(tmp_path)
    backup = copy_database(store, "b.db").read_bytes()
    add_person(store, "a")
    change(path := Path(store.name))
    with pytest.raises(AnnotationError, match=r"\.db was moved, deleted or replaced; stop"):
        add_person(store, "b")
    store.close()
    assert not path.exists() or path.read_bytes() == backup


def test_interrupted_creation_can_be_repeated(tmp_path, database, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("pqpp_annotation.store.database.add_items", interrupt)
        create_store(tmp_path, **database)
    create_store(tmp_path, **database).close()


def interrupt(*_):
    raise KeyboardInterrupt


def test_only_one_process_serves_an_sqlite_file(tmp_path):
    store = create_store(tmp_path)
    code = (
        "from pqpp_annotation.store.database import open_store\n"
        "from pqpp_annotation.study import read_study\n"
        "open_store(read_study('study.yaml')).hold_server_lock().__enter__()"
    )
    with store.hold_server_lock():
        other = run_python(code, tmp_path)
        assert "another process already serves this study" in other.stderr
        # Other commands work.
        assert add_person(open_store(store.study), "a").name == "a"
    with open_store(store.study).hold_server_lock():
        pass


def test_backup_of_a_running_study_is_consistent(store, tmp_path):
    if not store.is_sqlite:
        with pytest.raises(AnnotationError, match="pg_dump"):
            copy_database(store, tmp_path / "first.db")
        return

    def copy_and_open(name):
        copy_database(store, tmp_path / name)
        return open_store(replace(store.study, database=name))

    people = [add_person(store, f"p{number}").id for number in range(3)]
    threads = [threading.Thread(target=answer_all, args=(store, person)) for person in people]
    for thread in threads:
        thread.start()
    first = copy_and_open("first.db")
    for thread in threads:
        thread.join()
    for item in iterate_votes(read_records(first)):
        assert item in list(iterate_votes(read_records(store)))
    last = copy_and_open("last.db")
    assert list(iterate_votes(read_records(last))) == list(iterate_votes(read_records(store)))
    assert read_rows(last, tables.Person) == read_rows(store, tables.Person)
    assert answer_all(last, add_person(last, "another").id) == []
    for backup in (first, last):
        backup.close()


ANSWER_CODE = """
import sys, uuid
sys.path.insert(0, {tests!r})
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


def test_saved_answers_survive_a_kill(tmp_path, database):
    store = create_store(tmp_path, prompts=60, people_per_item=2, **database)
    saved = []
    for number in range(2):
        add_person(store, f"p{number}")
        code = ANSWER_CODE.format(tests=TESTS, path=str(tmp_path / "study.yaml"), name=f"p{number}")
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path
        )
        for _ in range(7 + 4 * number):
            saved.append(process.stdout.readline().strip())
        os.kill(process.pid, signal.SIGKILL)
        saved += [line.strip() for line in process.communicate()[0].splitlines() if len(line) == 36]
    with store.begin_read() as db:
        stored = db.scalars(select(tables.Answer.client_id)).all()
    assert len(stored) == len(set(stored)) and set(filter(None, saved)) <= set(stored)
    assert len(stored) <= len(saved) + 2  # at most one of each was on its way
    store.close()


def test_database_is_readable_by_its_owner_only(tmp_path):
    store = create_store(tmp_path)
    add_person(store, "a")
    for path in tmp_path.glob("*.db*"):
        assert path.stat().st_mode & 0o077 == 0, path
    store.close()
    path = Path(store.name)
    path.chmod(0o644)  # as a copy can have
    store = open_store(read_study(tmp_path / "study.yaml"))
    assert path.stat().st_mode & 0o777 == 0o600
    store.close()
