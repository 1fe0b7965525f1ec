"""`pqpp rewrite` with a local model, and a study of its rewrites."""

import csv
import json

import pytest
from support.draw import COMMAND
from support.two_runs import delay_writes, run_at_once

from pqpp_annotation.store.people import add_person
from pqpp_annotation.store.work import reserve_item
from pqpp_cli.main import main
from pqpp_engines.errors import EngineError
from pqpp_engines.rewrite import Judge, rewriting
from pqpp_engines.rewrite.judge import UNCONFIRMED


def test_local_model_respects_call_limit(tmp_path, capsys):
    """A random model writes no valid rewrite, so prompts stay unchanged after three tries."""
    pytest.importorskip("torch")
    from support.tiny_chat import save_text_chat

    save_text_chat(tmp_path / "writer")
    words = ["rewrite", "a dog", "--target", "mean_hbpp", "--chat-model", str(tmp_path / "writer"),
             "--count", "1", "--max-calls"]  # fmt: skip
    assert main([*words, "3"]) == 0
    out, err = capsys.readouterr()
    assert "(unchanged)" in out and "3 calls" in err
    assert main([*words, "2"]) == 2
    assert "calls needed: 1, left: 0" in capsys.readouterr().err
    assert main([*words[:-1], "--predictor", str(tmp_path / "writer")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_study_works_with_generate_and_annotate(tmp_path, capsys, monkeypatch):
    pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    judge = Judge("mean_hbpp", confidence=0.5)
    tried = [("a couch dog on", "a dog on a couch"), ("sofa red big a", "a big red sofa"),
             ("horse street brown a", "a brown horse in a street"), ("a cat", "a cat")]  # fmt: skip
    accepted = [pair for pair in tried if judge(pair[0], [pair[1]])[0].reason == UNCONFIRMED]
    assert accepted  # word salad is predicted to do worse
    rows = "".join(f"{one},{other}\n" for one, other in tried)
    (tmp_path / "c.csv").write_text(f"prompt,candidate\n{rows}")
    ids = "".join(f"id{at},{one}\n" for at, (one, _) in enumerate(tried))
    (tmp_path / "p.csv").write_text(f"prompt_id,prompt\n{ids}")
    words = ["rewrite", "--file", "p.csv", "--target", "mean_hbpp", "--candidates", "c.csv",
             "--confidence", "0.5", "--output", "out.csv", "--study", "ab", "--model-name", "drawn",
             "--images-per-prompt", "2"]  # fmt: skip
    assert main(words) == 0
    assert f"a study of {len(accepted)} prompts to ab" in capsys.readouterr().err
    assert main(["generate", "--command", COMMAND, "--model-name", "drawn", "--file",
                 "ab/prompts.csv", "--images-per-prompt", "2",
                 "--output", "made"]) == 0  # fmt: skip
    assert main(["annotate", "init", "ab.yaml", "--file", "ab/pairs.csv", "--image-dir",
                 "made/images", "--kind", "preference"]) == 0  # fmt: skip
    from pqpp_annotation.store.database import open_store
    from pqpp_annotation.study.study import read_study

    store = open_store(read_study(tmp_path / "ab.yaml"))
    item = reserve_item(store, add_person(store, "ann").id)
    store.close()
    assert item.prompt in [one for one, _ in accepted] and len(item.images) == 2
    with (tmp_path / "ab/pairs.csv").open() as file:
        pairs = list(csv.DictReader(file))
    assert len(pairs) == 4 * len(accepted)
    assert {row["prompt"] for row in pairs} == {one for one, _ in accepted}  # the original is shown
    first = (tmp_path / "made/images" / pairs[0]["image"]).with_suffix(".json")
    assert json.loads(first.read_text())["prompt"] == pairs[0]["prompt"]
    other = (tmp_path / "made/images" / pairs[1]["image"]).with_suffix(".json")
    assert json.loads(other.read_text())["prompt"] == dict(accepted)[pairs[1]["prompt"]]


def test_two_runs_do_not_mix_the_files_of_a_study(tmp_path, monkeypatch):
    def get_delay(path, content):
        return 0.5 if "cat" in content and path.name == rewriting.PAIRS else 0

    def run(prompt):
        rewriting.write_study(tmp_path / "ab", ["1"], [prompt], [f"{prompt} at night"], "sdxl", 1)

    delay_writes(monkeypatch, rewriting, "write_file", get_delay)
    run_at_once(run, "a cat", "a dog")
    names = (rewriting.PROMPTS, rewriting.PAIRS)
    assert len({"dog" in (tmp_path / "ab" / name).read_text() for name in names}) == 1
    (tmp_path / "ab" / rewriting.PAIRS).unlink()
    with pytest.raises(EngineError, match="not from an earlier study"):
        run("a bird")
