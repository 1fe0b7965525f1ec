"""Candidates by WordNet or a model in process, and a study that asks people about rewrites."""

import csv
import json

import numpy as np
import pytest
from support.draw import COMMAND

from pqpp_annotation.store.people import add_person
from pqpp_annotation.store.work import next_item
from pqpp_cli.main import main
from pqpp_engines.rewrite import Judge, Synonyms

pytestmark = pytest.mark.nltk


def test_synonyms_beside_a_word_and_in_its_place():
    assert Synonyms(4)("a couch") == ["a couch sofa", "a sofa", "a couch lounge", "a lounge"]
    assert Synonyms(2)("A couch.") == ["A couch sofa", "A sofa"]
    assert Synonyms(9)("xqzt vrrk") == [] == Synonyms(9)("two dogs")  # a plural has none
    assert all("couchsurfing" in one for one in Synonyms(5)("couchsurfing on a couch"))


def test_an_expansion_goes_by_the_same_judge_and_keeps_the_meaning(real_data):
    texts = [
        one["Text"] for one in json.loads((real_data / "conqa/seed.json").read_text()).values()
    ]
    judge = Judge("mean_p10", "static-train", confidence=0.9)
    verdicts = [verdict for text in texts for verdict in judge(text, Synonyms(6)(text))]
    assert len(verdicts) > 200
    assert np.mean([one.accepted for one in verdicts]) < 0.02


def test_a_model_in_this_process_writes_within_its_limits(tmp_path, capsys):
    """A random one replies nonsense, so that every prompt is kept after three tries."""
    pytest.importorskip("torch")
    from support.tiny_chat import save_text_chat

    save_text_chat(tmp_path / "writer")
    words = ["rewrite", "a dog", "--target", "mean_hbpp", "--chat-model", str(tmp_path / "writer"),
             "--count", "1", "--most-calls"]  # fmt: skip
    assert main([*words, "3"]) == 0
    out, err = capsys.readouterr()
    assert "(kept)" in out and "3 calls" in err
    assert main([*words, "2"]) == 2
    assert "1 calls are needed, 0 are allowed" in capsys.readouterr().err
    assert main([*words[:-1], "--predictor", str(tmp_path / "writer")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_study_of_rewrites_is_taken_by_generate_and_annotate(tmp_path, capsys, monkeypatch):
    pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    judge = Judge("mean_hbpp", confidence=0.5)
    tried = [("a couch dog on", "a dog on a couch"), ("sofa red big a", "a big red sofa"),
             ("horse street brown a", "a brown horse in a street"), ("a cat", "a cat")]  # fmt: skip
    better = [pair for pair in tried if judge(pair[0], [pair[1]])[0].accepted]
    assert better  # word salad is predicted to do worse
    rows = "".join(f"{one},{other}\n" for one, other in tried)
    (tmp_path / "c.csv").write_text(f"prompt,candidate\n{rows}")
    ids = "".join(f"id{at},{one}\n" for at, (one, _) in enumerate(tried))
    (tmp_path / "p.csv").write_text(f"prompt_id,prompt\n{ids}")
    words = ["rewrite", "--file", "p.csv", "--target", "mean_hbpp", "--candidates", "c.csv",
             "--confidence", "0.5", "--output", "out.csv", "--study", "ab", "--model-name", "drawn",
             "--images-per-prompt", "2"]  # fmt: skip
    assert main(words) == 0
    assert f"a study of {len(better)} prompts is in ab" in capsys.readouterr().err
    assert main(["generate", "--command", COMMAND, "--model-name", "drawn", "--file",
                 "ab/prompts.csv", "--images-per-prompt", "2",
                 "--output", "made"]) == 0  # fmt: skip
    assert main(["annotate", "init", "ab.yaml", "--file", "ab/pairs.csv", "--image-dir",
                 "made/images", "--kind", "preference"]) == 0  # fmt: skip
    from pqpp_annotation.store.database import open_store
    from pqpp_annotation.study.study import read_study

    store = open_store(read_study(tmp_path / "ab.yaml"))
    shown = next_item(store, add_person(store, "ann").id)
    store.close()
    assert shown.prompt in [one for one, _ in better] and len(shown.images) == 2
    with (tmp_path / "ab/pairs.csv").open() as file:
        pairs = list(csv.DictReader(file))
    assert len(pairs) == 4 * len(better)
    assert {row["prompt"] for row in pairs} == {one for one, _ in better}  # the original is shown
    first = (tmp_path / "made/images" / pairs[0]["image"]).with_suffix(".json")
    assert json.loads(first.read_text())["prompt"] == pairs[0]["prompt"]
    other = (tmp_path / "made/images" / pairs[1]["image"]).with_suffix(".json")
    assert json.loads(other.read_text())["prompt"] == dict(better)[pairs[1]["prompt"]]
