"""The study file: reading, writing and invalid settings."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from sqlalchemy import select
from support.studies import write_study, write_table
from support.two_runs import delay_writes

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.people import add_person
from pqpp_annotation.store.tables import Asset
from pqpp_annotation.store.work import reserve_item, skip_item
from pqpp_annotation.study import add_prompts, make_study, prompts, read_study
from pqpp_annotation.study.images import get_copies
from pqpp_annotation.study.study import parse_study
from pqpp_files.atomic_write import write_file


def test_study_file_round_trip(tmp_path):
    study = write_study(
        tmp_path,
        title="Which images?",
        instructions="Look.\n\nThen say.",
        consent="Do you agree? نعم",
        payment={"per_item": 0.05, "currency": "USD"},
        completion={"code": "ABC"},
        control={"every": 4},
    )
    assert read_study(tmp_path / "study.yaml") == study
    assert (study.payment.per_item, study.payment.max_minutes) == (0.05, 10.0)
    assert (study.control.every, study.completion.code) == (4, "ABC")
    assert study.consent == "Do you agree? نعم" and "نعم" in (tmp_path / "study.yaml").read_text()
    text = (tmp_path / "study.yaml").read_text()
    assert yaml.safe_load(text) == study.to_config()
    assert "# whose votes count" in text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": None}, "name"),
        ({"name": "../a"}, "name"),
        ({"consnt": "x"}, "did you mean 'consent'"),
        ({"people_per_item": 0}, "people_per_item"),
        ({"admission": {"exclude": "all"}}, "exclude"),
        ({"database": "postgresql://a:b@c/d"}, "NAME of an environment"),
        ({"database": "../../x.db"}, "database"),
        ({"completion": {"url": "javascript:alert(1)"}}, "url"),
    ],
)
def test_rejects_invalid_settings(settings, message):
    with pytest.raises(AnnotationError, match=message) as caught:
        parse_study({"name": "a", "kind": "rating", **settings})
    assert "\n" not in str(caught.value) and "a recipe" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "- a\n", "name: [", "a: &x 1\nb: *x\n", "name: a\nkind: rating\n" + "#" * 10**6]
)
def test_rejects_files_that_are_not_studies(tmp_path, text):
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(AnnotationError, match=r"study\.yaml"):
        read_study(path)
    with pytest.raises(AnnotationError, match="create a study file with pqpp annotate init"):
        read_study(tmp_path / "prompts.csv")


def test_make_study_replaces_no_study(tmp_path):
    write_study(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("study.*")}
    with pytest.raises(AnnotationError, match="already exists"):
        write_study(tmp_path)
    with pytest.raises(AnnotationError, match=r"study file must end in \.yaml"):
        make_study(tmp_path / "study.txt", write_table(tmp_path), tmp_path / "images")
    assert {path: path.read_bytes() for path in tmp_path.glob("study.*")} == before


def test_only_one_of_two_runs_makes_a_study_in_a_new_folder(tmp_path, monkeypatch):
    # So that the other run could see the database without the study file.
    delay_writes(monkeypatch, prompts, "write_file", lambda *_: 0.5)
    place = (tmp_path / "new" / "study.yaml", write_table(tmp_path), tmp_path / "images", "rating")
    with ThreadPoolExecutor(2) as pool:
        faults = [run.exception() for run in [pool.submit(make_study, *place) for _ in range(2)]]
    assert sorted(type(fault) for fault in faults if fault) == [AnnotationError]


def test_warns_about_an_image_with_two_prompts(tmp_path, caplog):
    table = write_table(tmp_path)
    name, *_ = sorted(path.name for path in (tmp_path / "images").iterdir())
    row = dict.fromkeys(table.read_text().splitlines()[0].split(","), "")
    row |= {"prompt_id": "q9", "prompt": "a bird", "image": name, "model": "other"}
    table.write_text(f"{table.read_text()}{','.join(row.values())}\n")
    make_study(tmp_path / "study.yaml", table, tmp_path / "images", "rating")
    assert f"several prompts: 1, such as {name} in" in caplog.text
    assert f" and {table}, line 10;" in caplog.text


def test_control_items_depend_on_the_seed(tmp_path):
    prompt_sets = []
    for number, seed in enumerate((0, 0, 1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        study = write_study(folder, prompts=20, control={"count": 5}, seed=seed)
        store = open_store(study)
        member = add_person(store, "m", "control").id
        prompts = set()
        while item := reserve_item(store, member):
            prompts.add(item.prompt)
            skip_item(store, member, item.assignment)
        prompt_sets.append(prompts)
        store.close()
    assert len(prompt_sets[0]) == 5 and prompt_sets[0] == prompt_sets[1] != prompt_sets[2]


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_unused_database_of_a_killed_run_is_replaced(tmp_path, monkeypatch):
    study = write_study(tmp_path)
    (tmp_path / "study.yaml").unlink()  # written last
    remade = write_study(tmp_path)
    assert remade.to_config() == study.to_config()
    store = open_store(remade)
    add_person(store, "ann")
    store.close()
    (tmp_path / "study.yaml").unlink()
    with pytest.raises(AnnotationError, match="already exists"):
        write_study(tmp_path)
    monkeypatch.setattr("pqpp_annotation.store.database.create_store", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_study(tmp_path)
    open_store(remade).close()  # the database of the other study is still there


def test_failed_make_study_leaves_no_files(tmp_path, monkeypatch):
    def write_and_interrupt(*content):
        write_file(*content)
        raise KeyboardInterrupt

    table = write_table(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setattr("pqpp_annotation.study.prompts.write_file", write_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        make_study(tmp_path / "study.yaml", table, tmp_path / "images", "rating")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_interrupt_after_adding_items_keeps_their_images(tmp_path, monkeypatch):
    study, table = write_study(tmp_path, prompts=1), write_table(tmp_path, prompts=40)
    monkeypatch.setattr("pqpp_annotation.store.transactions.Store.close", interrupt)
    with pytest.raises(KeyboardInterrupt):
        add_prompts(study, table)
    monkeypatch.undo()
    store = open_store(read_study(tmp_path / "study.yaml"))
    with store.begin_read() as db:
        copies = set(db.scalars(select(Asset.shown)))
    store.close()
    assert len(copies) > 2 and all(map(get_copies(study).read, copies))
