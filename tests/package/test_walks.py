"""How far a prompt, a vote, a dataset's name and a ranking go through the house."""

import shutil

import pytest
from support.walk import walk

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_cli.main import main
from pqpp_metrics.functional import reciprocal_rank


@pytest.mark.parametrize("scores", [[[0.9, 0.8, 0.1]] * 2, [[0.5, 0.5, 0.1]] * 2])
def test_a_reciprocal_rank_of_lists_enters_at_most_twelve_functions(scores):
    way = walk(lambda: reciprocal_rank(scores=scores, relevance=[[0, 1, 0], [1, 0, 0]]))
    assert "reciprocal_rank" in {name for _, name in way.functions} and len(way.functions) <= 12


def test_a_prompt_is_read_once_and_scored(capsys):
    words = ["predict", "a zebra on a table", "--predictor", "n_words"]
    way = walk(lambda: main(words), "zebra", start="Predict.run")
    assert capsys.readouterr().out.count("5.000") == 2
    assert way.stops[0] == "pqpp_cli/predict.py" and way.stops[-1] == "pqpp_cli/output.py"
    assert "pqpp_models/measures/linguistic.py" in way.stops
    assert len(way.stops) <= 12 and way.turns <= 2, way.stops


def test_a_question_is_predicted_and_judged(capsys):
    """It is predicted, predicted without each skill, and without each word."""
    words = ["predict", "a red cat on a zebra crossing"]
    way = walk(lambda: main(words), "zebra", start="Predict.run")
    assert {"pqpp_models/text/static.py", "pqpp_models/verdict/skills.py"} < set(way.stops)
    assert len(way.stops) <= 25 and way.turns <= 8, way.stops


def test_a_question_reads_each_prompt_once(monkeypatch):
    read, texts = Prompt.read.__func__, []
    counted = classmethod(lambda cls, text: texts.append(text) or read(cls, text))
    monkeypatch.setattr(Prompt, "read", counted)
    assert main(["predict", "nine red dogs left of a cat, 4k"]) == 0
    assert len(texts) == len(set(texts)) > 2


def test_the_name_of_a_dataset_reaches_its_loader(real_data, tmp_path):
    words = ["predict", "--dataset", "genai", "--data-dir", str(real_data / "genai")]
    words += ["--predictor", "n_words", "--output", str(tmp_path / "scores.csv")]
    way = walk(lambda: main(words), "genai", "Predict.run", "local_folder")
    assert way.stops[-1] == "pqpp_datasets/location.py"
    assert len(way.stops) <= 8, way.stops


def test_a_vote_passes_each_room_of_build_at_most_once(tmp_path, capsys):
    votes = [
        f"p{number},cat {number},{number}.png,zorro{person},{1 + (number + person) % 5}"
        for number in range(12)
        for person in range(4)
    ]
    table = tmp_path / "votes.csv"
    table.write_text("\n".join(["prompt_id,prompt,image,annotator,label", *votes]) + "\n")
    words = ["build", "--judgments", str(table), "--scale", "1..5", "--model-name", "sdxl"]

    def build():
        shutil.rmtree(tmp_path / "mine", ignore_errors=True)
        assert main([*words, "--output", str(tmp_path / "mine")]) == 0, capsys.readouterr().err

    way = walk(build, "zorro")
    assert {f"pqpp_datasets/own_benchmark/{name}.py" for name in ("generation", "write")} < {
        *way.stops
    }
    assert len(way.stops) <= 20 and way.turns <= 8, way.stops
