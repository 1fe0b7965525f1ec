"""Captions and prompts that the trainers read or generate."""

import pytest

pytest.importorskip("torch")

from pqpp_files.errors import PqppError
from pqpp_models.text.training.data import make_up_prompts, read_captions, read_parti_prompts


def test_reads_distinct_captions_without_known_prompts(tmp_path):
    path = tmp_path / "captions.txt"
    path.write_text("A cat.\na cat\n\nA dog!\nTwo birds\n", "utf-8")
    assert read_captions(str(path), ["a dog"]) == ["A cat.", "Two birds"]


def test_rejects_unusable_captions(tmp_path):
    (tmp_path / "blank.txt").write_text("\n\n", "utf-8")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    for name in ("blank.txt", "bytes.txt", "absent.txt"):
        with pytest.raises(PqppError, match=name):
            read_captions(str(tmp_path / name), [])


def test_made_up_prompts_are_deterministic():
    captions = ["A red cat on a mat.", "Two dogs run."]
    first = make_up_prompts(captions, ["robot", "nebula"], 60, seed=1)
    assert first == make_up_prompts(captions, ["robot", "nebula"], 60, seed=1)
    assert len(first) == 60 and all(first)
    assert first != make_up_prompts(captions, ["robot", "nebula"], 60, seed=2)
    with pytest.raises(PqppError, match="no word of 4 or more letters"):
        make_up_prompts(captions, [], 60, seed=1)


def test_reads_captions_from_table(tmp_path):
    (tmp_path / "c.csv").write_text("id;caption\n1;A cat.\n2;a cat\n3;Two birds\n", "utf-8")
    assert read_captions(str(tmp_path / "c.csv"), []) == ["A cat.", "Two birds"]


def test_keeps_quotes_of_parti_prompts(tmp_path):
    path = tmp_path / "PartiPrompts.tsv"
    path.write_text('Prompt\tCategory\na sign "no\tText\n"a"\u2028\x85cat\tAnimals\n', "utf-8")
    assert read_parti_prompts(str(path)) == ['a sign "no', '"a"\u2028\x85cat']
    path.write_text("prompt\tCategory\n", "utf-8")
    with pytest.raises(PqppError, match="is not PartiPrompts"):
        read_parti_prompts(str(path))
