"""Answers from elsewhere: a GIMBRR file that is half filled in goes on here."""

import csv

import pytest
from PIL import Image
from support.studies import small_store

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.export import export_study
from pqpp_annotation.store.access import redeem_link
from pqpp_annotation.store.answers import count_answers, current_votes, save_answer
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.items import count_items
from pqpp_annotation.store.people import find_person, keep_consent
from pqpp_annotation.store.work import next_item
from pqpp_annotation.study import make_study
from pqpp_annotation.tool_files import import_votes
from pqpp_cli.main import main

ROWS = [(number, model) for number in range(6) for model in ("Dalle", "Stable")]


def name_of(number, model):
    return f"p{number}_{model}.png"


@pytest.fixture
def store(tmp_path):
    """A study of GIMBRR's kind: six prompts, an image of each of two models."""
    (tmp_path / "images").mkdir()
    with (tmp_path / "prompts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt_id", "prompt", "image", "model"])
        for place, (number, model) in enumerate(ROWS):
            name = name_of(number, model)
            Image.new("RGB", (4, 4), (place, 0, 0)).save(tmp_path / "images" / name)
            writer.writerow([f"p{number}", f"{number} books", name, model])
    study = make_study(tmp_path / "s.yaml", tmp_path / "prompts.csv", tmp_path / "images", "match")
    store = open_store(study)
    yield store
    store.close()


def partial(path, answers):
    """Write GIMBRR's own columns; a blank is what is left."""
    lines = ["File_name,Prompt_no,Algorithm,Score"]
    for (number, model), answer in zip(ROWS, answers, strict=False):
        lines.append(f"{name_of(number, model)},p{number},{model},{answer}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_half_filled_file_is_gone_on_with_and_exported_whole(store, tmp_path):
    given = ["True", "False", "True", "True", "False", "", "", "", "", "", "", ""]
    lines, token = import_votes(store, partial(tmp_path / "half.csv", given), "ann")
    assert lines == ["5 answers of ann on 3 items, 2 of these done"]
    person = redeem_link(store, token)
    assert person.name == "ann"
    known = []
    while shown := next_item(store, person.id):
        known.append(len(shown.answers))
        for image in shown.images:
            if image.id not in shown.answers:
                save_answer(
                    store, person.id, shown.assignment, image.id, {"label": 1}, f"answer-{image.id}"
                )
    assert sorted(known) == [0, 0, 0, 1]
    export_study(store, tmp_path / "out")
    rows = {r["File_name"]: r for r in csv.DictReader((tmp_path / "out" / "gimbrr.csv").open())}
    assert len(rows) == len(ROWS)
    for (number, model), answer in zip(ROWS, given, strict=True):
        assert rows[name_of(number, model)]["Score"] == (answer or "True")
    assert count_items(store) and next_item(store, person.id) is None


def test_the_same_file_again_changes_nothing(store, tmp_path):
    path = partial(tmp_path / "half.csv", ["True", "False", "True"])
    import_votes(store, path, "ann")
    before = list(current_votes(store))
    lines, _ = import_votes(store, path, "ann")
    assert lines[-1] == "3 of them were here already"
    assert list(current_votes(store)) == before


def test_a_row_that_fits_nothing_is_named_and_nothing_is_kept(store, tmp_path):
    path = partial(tmp_path / "half.csv", ["True", "False"])
    path.write_text(path.read_text() + "other.png,p1,Dalle,True\n")
    with pytest.raises(AnnotationError, match=r"half.csv, line 4.*'other.png'.*fits no image"):
        import_votes(store, path, "ann")
    path = partial(tmp_path / "again.csv", ["True"])
    path.write_text(path.read_text() + f"{name_of(0, 'Dalle')},p0,Dalle,False\n")
    with pytest.raises(AnnotationError, match="another row says something else"):
        import_votes(store, path, "ann")
    with pytest.raises(AnnotationError, match="holds no answer"):
        import_votes(store, partial(tmp_path / "none.csv", ["", ""]), "ann")
    assert count_answers(store) == 0 and find_person(store, "ann") is None


def test_consent_comes_before_answers(tmp_path):
    store = small_store(tmp_path, kind="match", prompts=2, consent="Agree?")
    (tmp_path / "a.csv").write_text("prompt_id,image,label\nq0,0-sdxl.png,1\n")
    lines, token = import_votes(store, tmp_path / "a.csv", "ann")
    assert "consent" in lines[0] and count_answers(store) == 0
    keep_consent(store, redeem_link(store, token).id)
    lines, _ = import_votes(store, tmp_path / "a.csv", "ann")
    assert lines == ["1 answers of ann on 1 items, 0 of these done"]
    store.close()


def test_the_command_prints_a_link_to_the_rest(store, tmp_path, capsys):
    path = partial(tmp_path / "half.csv", ["True", "False", "True"])
    words = ["annotate", "import", str(tmp_path / "s.yaml"), "--file", str(path), "--name", "ann"]
    assert main([*words, "--address", "https://study.example.org/"]) == 0
    said, link = capsys.readouterr().out.splitlines()
    assert said == "3 answers of ann on 2 items, 1 of these done"
    token = link.removeprefix("https://study.example.org/join/")
    assert redeem_link(store, token).name == "ann"
    path.write_text(path.read_text().replace("True", "perhaps"))
    assert main(words) == 2
    assert "perhaps" in capsys.readouterr().err
