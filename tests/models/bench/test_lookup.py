"""Predictions of users in `bench`: tables, functions and refused inputs."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import pqpp
from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_files.errors import FileError
from pqpp_files.shards import cut_table, run_shards
from pqpp_models import Predictor, PredictorError
from pqpp_models.bench.lookup import FunctionPredictor, TablePredictor


@pytest.fixture(scope="module")
def rows():
    return load_benchmark("sample", split="test")


@pytest.fixture
def table(rows, tmp_path, monkeypatch):
    """Write predictions for all but three prompts, shuffled and in two rows each."""
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(0).normal(size=len(rows))
    predictions = pd.DataFrame({"prompt_id": rows["prompt_id"][:], "prompt": rows["prompt"][:]})
    predictions["mine"] = np.array(rows["mean_rr"][:]) + noise
    predictions = predictions.iloc[3:].sample(frac=1, random_state=0)
    pairs = pd.concat([predictions.assign(mine=predictions.mine + shift) for shift in (-0.5, 0.5)])
    pairs.rename(columns={"prompt_id": "query_id"}).to_csv("mine.csv", index=False)
    pairs.drop(columns="prompt_id").rename(columns={"mine": "x:y/z"}).to_parquet("by_text.parquet")
    shards = cut_table(pa.Table.from_pandas(pairs, preserve_index=False), 100)
    run_shards(lambda part: part, shards, "shards", {})
    return predictions


@pytest.mark.parametrize("name", ["mine.csv:mine", "by_text.parquet:x:y/z", "shards:mine"])
def test_table_is_joined_by_id_or_text(rows, table, name, caplog):
    (row,) = pqpp.bench(name, "mean_rr", rows).to_dict("records")
    true = dict(zip(rows["prompt_id"][:], rows["mean_rr"][:], strict=True))
    expected = stats.pearsonr(table.mine, [true[key] for key in table.prompt_id])
    assert row["n"] == len(rows) - 3
    assert row["pearson"] == pytest.approx(expected.statistic, abs=1e-9)
    assert row["pearson_p"] == pytest.approx(expected.pvalue, abs=1e-9)
    assert f"{name} has no prediction for 3 of {len(rows)} prompts" in caplog.text


@pytest.mark.parametrize("data", ["sample --split test --target mean_rr", "own --target own"])
def test_own_predictions_are_compared_as_given(data, rows, table, capsys):
    rows.add_column("own", [*map(len, rows["prompt"])]).to_csv("own/train.csv")
    words = f"bench --dataset {data} --format json --baseline n_words"
    assert main([*words.split(), "--predictors", "n_words,mine.csv:mine"]) == 0
    known, own = json.loads(capsys.readouterr().out)["rows"]
    assert own["kendall"] < 0 and own["oriented"] == "as given"
    assert own["baseline_difference"] == pytest.approx(own["kendall"] - abs(known["kendall"]))


def test_mapping_names_predictors(rows):
    lengths = {prompt: len(prompt.split()) for prompt in rows["prompt"][:]}
    predictors = {
        "mine": lambda prompts: [lengths[prompt] for prompt in prompts],  # is only asked for rows
        "theirs": Predictor.from_pretrained("n_words"),
        "named": "n_words",
    }
    table = pqpp.bench(predictors, "mean_rr", rows).set_index("predictor")
    assert list(table.index) == ["mine", "theirs", "named"]
    assert table.loc["theirs", "kendall"] == table.loc["named", "kendall"]
    r = stats.pearsonr([lengths[text] for text in rows["prompt"][:]], rows["mean_rr"][:]).statistic
    assert table.loc["mine", "pearson"] == pytest.approx(r, abs=1e-9)


def test_polars_and_pandas_have_the_same_results(rows):
    polars = pytest.importorskip("polars")
    frame = rows.to_pandas()[["prompt", "mean_rr"]]
    tables = [pqpp.bench("n_words", "mean_rr", one) for one in (frame, polars.from_pandas(frame))]
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("answer", [[1.0], "words", [[1, 2], [3, 4]]])
def test_rejects_function_without_one_number_per_prompt(answer):
    with pytest.raises(PredictorError):
        FunctionPredictor(lambda prompts: answer, "mine").predict(["a cat", "a dog"])


def test_rejects_unusable_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.csv").write_text("prompt,score\na cat,high\n")
    with pytest.raises(FileError, match="score"):
        TablePredictor("u.csv", "score")
    for name in ("words", "prompt"):  # no column of prompts, or none of these prompts
        (tmp_path / "t.csv").write_text(f"{name},score\na cat,1\n")
        with pytest.raises(PredictorError, match=name):
            TablePredictor("t.csv", "score").predict([{"prompt": "a dog"}])
