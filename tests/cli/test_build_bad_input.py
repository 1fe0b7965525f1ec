"""Invalid input of `pqpp build`: one-line errors, and existing files stay unchanged."""

from pathlib import Path

import pytest

from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark

HEADER = "prompt,image,model,annotator,label"
GOOD = ["A,i,m,ann,5", "A,i,m,bob,4", "B,j,m,ann,1", "B,j,m,bob,2"]


def write_rows(name, *lines, header=HEADER, encoding="utf-8"):
    Path(name).write_text("\n".join([header, *lines]) + "\n", encoding)
    return name


@pytest.fixture
def old_files(tmp_path, monkeypatch, cache, capsys):
    """The files of an existing benchmark."""
    monkeypatch.chdir(tmp_path)
    write_rows("good.csv", *GOOD)
    assert main(["build", "good.csv", "--scale", "likert5", "--output", "b"]) == 0
    capsys.readouterr()
    return read_files(tmp_path / "b")


def read_files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_invalid_votes_are_one_line_and_replace_no_file(old_files, tmp_path, capsys):
    words = ["build", write_rows("v.csv", "café,i,m,ann,5", encoding="latin-1"), "--overwrite"]
    for folder in ("b", "new"):
        assert main([*words, "--output", folder]) == 2
        output = capsys.readouterr()
        assert output.out == "" and output.err.startswith("pqpp: error: v.csv, line 2: not UTF-8")
        assert output.err.count("\n") == 1
    assert read_files(tmp_path / "b") == old_files and not (tmp_path / "new").exists()
    write_rows("s.csv", "A,i,m,5", header="prompt,image,model,score")
    for more, hint in ((["b"], "--overwrite"), (["c", "--columns", "label=scores"], "'score'")):
        assert main(["build", "s.csv", "--output", *more]) == 2
        assert hint in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_prompt_without_votes_after_exclusion_has_no_score(old_files, capsys):
    """Four honest annotators, and a random one, who alone rates prompt X."""
    import random

    random.seed(0)
    lines = []
    for n in range(120):
        true = random.randint(0, 1)
        votes = {who: true ^ (random.random() > 0.9) for who in "abcd"}
        lines += [f"P{n},i{n},m,h{who},{vote}" for who, vote in votes.items()]
        lines.append(f"P{n},i{n},m,odd,{random.randint(0, 1)}")
    write_rows("v.csv", *lines, "X,x,m,odd,1")
    words = ["build", "v.csv", "--scale", "yes-no", "--exclude", "flagged", "--output", "left"]
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "flagged: odd" in output and "1 of 121 prompts have no valid vote and no score" in output
    rows = [row for part in load_benchmark("left").values() for row in part]
    assert {row["prompt"] for row in rows if row["m_rate"] is None} == {"X"}
