"""Automatic metrics in place of human ratings, and the columns of the paper's tables."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_models import PredictorError
from pqpp_models.bench.lookup import join_by_prompt
from pqpp_models.bench.protocol import Predictions, evaluate_predictions, list_experiment_columns
from pqpp_models.bench.run import list_metric_columns, parse_target
from pqpp_models.bench.split import Split
from pqpp_models.bench.tables import format_heading


@pytest.mark.parametrize(
    ("column", "target"),
    [
        ("glide_hpsv2", "glide_hbpp"),
        ("SDXL_ImageReward", "sdxl_hbpp"),
        ("clip_p@10", "clip_p10"),
        ("blip2_clip_rr", "blip2_rr"),
        ("mean_p10", "mean_p10"),
        ("clip_score", None),  # CLIPScore is not a retrieval model
        ("glide", None),
    ],
)
def test_parses_target_from_metric_name(column, target):
    assert parse_target(column) == target


def test_named_pairs_override_parsed_targets():
    columns = ["sdxl_hpsv2", "score", "clip_rr"]
    cells = list_metric_columns(columns, {"score": "mean_hbpp"}, ["sdxl_hbpp", "mean_hbpp"])
    assert [(cell.target, cell.predicted) for cell in cells] == [
        ("sdxl_hpsv2", "sdxl_hbpp"),
        ("score", "mean_hbpp"),
    ]


def test_join_averages_duplicates_and_prefers_ids():
    table = {"prompt_id": ["2.0", 1, 2, 1.0], "prompt": [["w"], *"xyz"], "m": [1, 2, 4, math.nan]}
    rows = {"prompt_id": ["1", "2", "3"], "prompt": ["x", "y", "z"]}
    assert join_by_prompt(table, rows, ["m"]) == {"m": [2.0, 2.5, None]}
    del table["prompt_id"]
    assert join_by_prompt(table, rows, ["m"]) == {"m": [2.0, 4.0, None]}


def test_correlates_only_complete_pairs():
    generator = np.random.default_rng(0)
    true, metric = generator.normal(size=(2, 30))
    ratings = [None if i % 7 == 0 else x for i, x in enumerate(true)]
    values = [None if i % 5 == 0 else x for i, x in enumerate(metric)]
    (cell,) = list_metric_columns(["a→b"], {"a→b": "mean_hbpp"}, ["mean_hbpp"])
    people = Predictions("people", ("mean_hbpp",), np.array([ratings], float).T)
    (result,) = evaluate_predictions([people], {"a→b": values}, Split(None, "x", "y"), [cell])
    both = [i for i in range(30) if i % 5 and i % 7]
    expected = stats.pearsonr(true[both], metric[both]).statistic
    assert result.n == len(both) and format_heading(result) == "a→b [mean_hbpp]"
    assert result.pearson == pytest.approx(expected, abs=1e-12)


def test_cross_dataset_columns_need_another_source():
    cells = list_experiment_columns("cross-dataset", ["mean_hbpp"], ["mscoco", "drawbench"])
    assert [(cell.target, cell.source) for cell in cells] == [("mean_hbpp", "drawbench")]
    with pytest.raises(PredictorError, match="no row has a source other than mscoco"):
        list_experiment_columns("cross-dataset", ["mean_rr"], ["mscoco"])


def test_correlates_metrics_of_file(cache, tmp_path, capsys):
    import pandas as pd

    sample = load_benchmark("sample", split="test")
    prompts, scores = sample["prompt"][:], sample["sdxl_hbpp"][:]
    noise = np.random.default_rng(1).normal(size=len(prompts))
    table = pd.DataFrame({"prompt": prompts, "sdxl_hps": scores + noise, "image": "x"})
    table.iloc[3:].to_csv(tmp_path / "hps.csv", index=False)
    common = ["bench", "--dataset", "sample", "--split", "test", "--table", "automatic-metrics"]
    common += ["--predictors", "static,n_words"]
    arguments = ["--metrics", str(tmp_path / "hps.csv"), "--format", "json"]
    assert main([*common, *arguments, "--baseline", "n_words"]) == 0
    rows = {row["predictor"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert list(rows) == ["static", "n_words", "human judgments"]
    assert {row["n"] for row in rows.values()} == {len(prompts) - 3}
    expected = stats.kendalltau(scores[3:], (scores + noise)[3:]).statistic
    assert rows["human judgments"]["kendall"] == pytest.approx(expected, abs=1e-9)
    assert 0 <= rows["static"]["baseline_p"] <= 1
    assert main(common) == 2
    out, error = capsys.readouterr()
    assert "--metrics" in error and out == "" and error.count("\n") == 1
