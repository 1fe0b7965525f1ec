"""`pqpp fit`: results, replaced predictors and refused inputs."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from models.text.test_ridge import PROMPTS, RATES
from scipy.stats import spearmanr

from pqpp_cli.main import main
from pqpp_models import Predictor, PredictorError
from pqpp_models.text.ridge.fitting import fit
from pqpp_models.text.ridge.forms import BASE_SLOPE
from pqpp_models.text.ridge.scores import read_score_table

ROWS = [
    {"caption": prompt, "match_rate": rate, "rating": 5 * rate, "note": "x"}
    for prompt, (rate,) in zip(PROMPTS, RATES.tolist(), strict=True)
]


@pytest.fixture(autouse=True)
def _cache(cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name: str) -> str:
    """Write the rows as CSV."""
    rows = [list(ROWS[0]), *(map(str, row.values()) for row in ROWS)]
    Path(name).write_text("".join(",".join(row) + "\n" for row in rows), "utf-8")
    return name


def run_fit(*arguments: str, output: str = "mine") -> Predictor:
    assert main(["fit", *arguments, "--output", output]) == 0
    return Predictor.from_pretrained(f"./{output}")


def test_fit_to_a_table_equals_the_function(capsys):
    expected = fit(PROMPTS, RATES, ["match_rate"])
    predictor = run_fit(write("rates.csv"), "--column", "caption", "--targets", "match_rate")
    np.testing.assert_allclose(predictor.predict(PROMPTS), expected.predict(PROMPTS), atol=1e-5)
    assert predictor.details["data"] == "rates.csv"
    spearman = expected.details["training"]["cross_validation"]["match_rate"]["spearman"]
    assert f"{spearman:.3f}" in capsys.readouterr().out
    Path("one.csv").write_text("prompt_id,prompt,rate\n1,a cat,0.5\n")
    assert [*read_score_table("one.csv").columns] == ["rate"]


def test_existing_predictor_is_replaced_only_with_overwrite(capsys, monkeypatch):
    arguments = [write("rates.csv"), "--column", "caption", "--targets"]
    targets = run_fit(*arguments, "rating").targets
    assert main(["fit", *arguments, "match_rate", "--output", "mine"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert Predictor.from_pretrained("./mine").targets == targets == ("rating",)
    assert run_fit(*arguments, "match_rate", "--overwrite").targets == ("match_rate",)
    other = Path("other/of another run")
    monkeypatch.setattr(Predictor, "render_card", lambda _: other.mkdir(parents=True) or "")
    assert main(["fit", *arguments, "match_rate", "--output", "other"]) == 2
    assert [*Path("other").iterdir()] == [other]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rates.csv", "--targets", "nope"), "--targets nope: rates.csv has no such column"),
        (("few.csv", "--targets", "match_rate"), "at least 20 prompts"),
        (("few.csv", "--targets", "rating\u200f"), "without commas, control characters or outer"),
    ],
)
def test_invalid_fit_input_is_one_line(arguments, message, capsys):
    lines = Path(write("rates.csv")).read_text("utf-8").splitlines(keepends=True)
    Path("few.csv").write_text("".join(lines[:6]).replace("rating", "rating\u200f"), "utf-8")
    assert main(["fit", *arguments, "--column", "caption", "--output", "mine"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.slow
@pytest.mark.realdata
def test_fit_to_training_data_of_the_network_has_no_results(real_data, tmp_path, capsys):
    from pqpp_metrics.functional import pearson_qpp

    arguments = ["--data-dir", str(real_data / "pqpp" / "v1.0"), "--targets", "mean_hbpp"]
    predictor = run_fit("pqpp-v1.0", *arguments)
    output = capsys.readouterr().out
    assert "5997 of these 5997 prompts are training data" in output and "Pearson" not in output
    assert predictor.details["training"]["cross_validation"] == {}
    assert "There are no results, because the network has learned\n5997" in predictor.render_card()
    text = (real_data / "pqpp" / "v1.0" / "dataset" / "validation.csv").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    predicted = predictor.predict([row["best_caption"] for row in rows], "mean_hbpp")[:, 0]
    true = [float(row["avg_generative_score"]) for row in rows]
    assert pearson_qpp(predicted, true)["pearson_qpp"] > 0.57


def test_base_helps_with_few_prompts():
    cases = Path(__file__).parents[1] / "models" / "verdict" / "cases.tsv"
    prompts = [line.split("\t")[0] for line in cases.read_text("utf-8").splitlines()[1:]]
    base = Predictor.from_pretrained("static").predict(prompts, "alignment")[:, 0]
    random = np.random.default_rng(0)
    # Ratings of another generator: as predicted, but better on signs, with noise.
    ratings = 5 * base + np.array(["sign" in prompt for prompt in prompts])
    ratings += random.normal(0, 0.3, len(prompts))
    order = random.permutation(len(prompts))
    judged, others = order[:24], order[24:]
    rows = [{"prompt": prompts[row], "rating": ratings[row]} for row in judged]
    Path("few.json").write_text(json.dumps(rows), "utf-8")
    based = run_fit("few.json", "--targets", "rating", "--base", "alignment", output="based")
    assert based.details["training"]["network"] == "static"
    assert f"and `alignment` of that\nnetwork, with {BASE_SLOPE} " in based.render_card()
    plain = run_fit("few.json", "--targets", "rating")
    with_base, without_base = (
        spearmanr(predictor.predict([prompts[row] for row in others])[:, 0], ratings[others])[0]
        for predictor in (based, plain)
    )
    assert with_base > without_base + 0.1
    with pytest.raises(PredictorError, match=r"`base` must be one of .*'nix'"):
        fit(PROMPTS, RATES, "rate", base="nix")
