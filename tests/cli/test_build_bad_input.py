"""Bad input of `pqpp build`: one error or the stated rule, nothing half-written or replaced."""

from pathlib import Path

import pytest

from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark

HEADER = "prompt,image,model,annotator,label"
GOOD = ["A,i,m,ann,5", "A,i,m,bob,4", "B,j,m,ann,1", "B,j,m,bob,2"]


def file(name, *lines, header=HEADER, encoding="utf-8"):
    Path(name).write_text("\n".join([header, *lines]) + "\n", encoding)
    return name


@pytest.fixture
def kept(tmp_path, monkeypatch, cache, capsys):
    """A benchmark that was built before, and all that is in it."""
    monkeypatch.chdir(tmp_path)
    file("good.csv", *GOOD)
    assert main(["build", "good.csv", "--scale", "likert5", "--output", "b"]) == 0
    capsys.readouterr()
    return contents(tmp_path / "b")


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_invalid_votes_are_one_line_and_replace_no_file(kept, tmp_path, capsys):
    words = ["build", file("v.csv", "café,i,m,ann,5", encoding="latin-1"), "--overwrite"]
    for output in ("b", "new"):
        assert main([*words, "--output", output]) == 2
        found = capsys.readouterr()
        assert found.out == "" and found.err.startswith("pqpp: error: v.csv, line 2: not UTF-8")
        assert found.err.count("\n") == 1
    assert contents(tmp_path / "b") == kept and not (tmp_path / "new").exists()
    file("s.csv", "A,i,m,5", header="prompt,image,model,score")
    for more, hint in ((["b"], "--overwrite"), (["c", "--columns", "label=scores"], "'score'")):
        assert main(["build", "s.csv", "--output", *more]) == 2
        assert hint in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_prompt_without_a_vote_after_exclusion_has_no_score(kept, capsys):
    """Four honest people and one who votes at random, alone on prompt X."""
    import random

    random.seed(0)
    lines = []
    for n in range(120):
        true = random.randint(0, 1)
        votes = {who: true ^ (random.random() > 0.9) for who in "abcd"}
        lines += [f"P{n},i{n},m,h{who},{vote}" for who, vote in votes.items()]
        lines.append(f"P{n},i{n},m,odd,{random.randint(0, 1)}")
    file("v.csv", *lines, "X,x,m,odd,1")
    words = ["build", "v.csv", "--scale", "yes-no", "--exclude", "flagged", "--output", "left"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "flagged: odd" in said and "1 of 121 prompts have no valid vote and no score" in said
    rows = [row for part in load_benchmark("left").values() for row in part]
    assert {row["prompt"] for row in rows if row["m_rate"] is None} == {"X"}
