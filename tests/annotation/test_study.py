"""The study file: what it may say, what is refused, and that it is read back as it was written."""

import pytest
import yaml
from support.studies import small_study, write_table

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.people import add_person
from pqpp_annotation.store.work import reserve_item, skip_item
from pqpp_annotation.study import make_study, read_study
from pqpp_annotation.study.study import parse_study


def test_a_study_file_is_read_back_as_it_was_written(tmp_path):
    study = small_study(
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
    "given",
    [
        {"name": None},
        {"name": "../a"},
        {"consnt": "x"},
        {"people_per_item": 0},
        {"admission": {"exclude": "all"}},
        {"database": "postgresql://a:b@c/d"},
        {"database": "../../x.db"},
        {"completion": {"url": "javascript:alert(1)"}},
    ],
)
def test_impossible_settings_are_refused(given):
    with pytest.raises(AnnotationError) as caught:
        parse_study({"name": "a", "kind": "rating", **given})
    assert "\n" not in str(caught.value) and "a recipe" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "- a\n", "name: [", "a: &x 1\nb: *x\n", "name: a\nkind: rating\n" + "#" * 10**6]
)
def test_what_is_no_study_file_is_refused(tmp_path, text):
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(AnnotationError, match=r"study\.yaml"):
        read_study(path)
    with pytest.raises(AnnotationError, match="create a study file with pqpp annotate init"):
        read_study(tmp_path / "prompts.csv")


def test_a_study_that_is_there_stays(tmp_path):
    small_study(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("study.*")}
    with pytest.raises(AnnotationError, match="already exists"):
        small_study(tmp_path)
    with pytest.raises(AnnotationError, match=r"study file must end in \.yaml"):
        make_study(tmp_path / "study.txt", write_table(tmp_path), tmp_path / "images")
    assert {path: path.read_bytes() for path in tmp_path.glob("study.*")} == before


def test_an_image_with_two_prompts_is_named(tmp_path, caplog):
    table = write_table(tmp_path)
    name, *_ = sorted(path.name for path in (tmp_path / "images").iterdir())
    row = dict.fromkeys(table.read_text().splitlines()[0].split(","), "")
    row |= {"prompt_id": "q9", "prompt": "a bird", "image": name, "model": "other"}
    table.write_text(f"{table.read_text()}{','.join(row.values())}\n")
    make_study(tmp_path / "study.yaml", table, tmp_path / "images", "rating")
    assert f"several prompts: 1, such as {name} in" in caplog.text
    assert f" and {table}, line 10;" in caplog.text


def test_control_items_are_drawn_by_the_seed(tmp_path):
    drawn = []
    for number, seed in enumerate((0, 0, 1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        study = small_study(folder, prompts=20, control={"count": 5}, seed=seed)
        store = open_store(study)
        member = add_person(store, "m", "control").id
        prompts = set()
        while shown := reserve_item(store, member):
            prompts.add(shown.prompt)
            skip_item(store, member, shown.assignment)
        drawn.append(prompts)
        store.close()
    assert len(drawn[0]) == 5 and drawn[0] == drawn[1] != drawn[2]


def test_a_run_that_was_killed_before_the_study_file_is_made_anew(tmp_path):
    study = small_study(tmp_path)
    (tmp_path / "study.yaml").unlink()  # which comes last
    again = small_study(tmp_path)
    assert again.to_config() == study.to_config()
    store = open_store(again)
    add_person(store, "ann")  # whose answers may follow
    store.close()
    (tmp_path / "study.yaml").unlink()
    with pytest.raises(AnnotationError, match="already exists"):
        small_study(tmp_path)


def test_a_failure_behind_the_database_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    table = write_table(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setattr("pqpp_annotation.study.prompts.write_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_study(tmp_path / "study.yaml", table, tmp_path / "images", "rating")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
