"""Predictions of one's own in a comparison: tables, functions, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pqpp
from pqpp_datasets.load import load_benchmark
from pqpp_files.errors import FileError
from pqpp_models import Predictor, PredictorError
from pqpp_models.bench.lookup import FunctionPredictor, TablePredictor


@pytest.fixture(scope="module")
def rows():
    return load_benchmark("sample", split="test")


@pytest.fixture
def table(rows, tmp_path, monkeypatch):
    """Predictions of all prompts but three, in another order, some in two rows."""
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(0).normal(size=len(rows))
    made = pd.DataFrame({"prompt_id": rows["prompt_id"][:], "prompt": rows["prompt"][:]})
    made["mine"] = np.array(rows["mean_rr"][:]) + noise
    made = made.iloc[3:].sample(frac=1, random_state=0)
    twice = pd.concat([made.assign(mine=made.mine - 0.5), made.assign(mine=made.mine + 0.5)])
    twice.to_csv("mine.csv", index=False)
    twice.drop(columns="prompt_id").to_parquet("by_text.parquet")
    return made


@pytest.mark.parametrize("file", ["mine.csv", "by_text.parquet"])
def test_a_table_is_compared_by_id_or_text(rows, table, file, caplog):
    (found,) = pqpp.bench(f"{file}:mine", "mean_rr", rows).to_dict("records")
    true = dict(zip(rows["prompt_id"][:], rows["mean_rr"][:], strict=True))
    expected = stats.pearsonr(table.mine, [true[key] for key in table.prompt_id])
    assert found["n"] == len(rows) - 3
    assert found["pearson"] == pytest.approx(expected.statistic, abs=1e-9)
    assert found["pearson_p"] == pytest.approx(expected.pvalue, abs=1e-9)
    assert f"{file}:mine has no prediction for 3 of {len(rows)} prompts" in caplog.text


def test_functions_and_predictors_have_names_of_ones_own(rows):
    words = Predictor.from_pretrained("n_words")
    given = {
        "mine": lambda prompts: [len(prompt.split()) for prompt in prompts],
        "theirs": words,
        "named": "n_words",
    }
    found = pqpp.bench(given, "mean_rr", rows).set_index("predictor")
    assert list(found.index) == ["mine", "theirs", "named"]
    assert found.loc["theirs", "kendall"] == found.loc["named", "kendall"]
    expected = [len(prompt.split()) for prompt in rows["prompt"][:]]
    r = stats.pearsonr(expected, rows["mean_rr"][:]).statistic
    assert found.loc["mine", "pearson"] == pytest.approx(r, abs=1e-9)


@pytest.mark.parametrize("answer", [[1.0], "words", [[1, 2], [3, 4]]])
def test_a_function_answers_with_a_number_a_prompt(answer):
    with pytest.raises(PredictorError):
        FunctionPredictor(lambda prompts: answer, "mine").predict(["a cat", "a dog"])


def test_what_cannot_be_compared_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("text,score\na cat,1\n")
    (tmp_path / "u.csv").write_text("prompt,score\na cat,high\n")
    with pytest.raises(PredictorError):
        TablePredictor("t.csv", "score").predict([{"prompt": "a cat"}])
    with pytest.raises(FileError, match="score"):
        TablePredictor("u.csv", "score")
    with pytest.raises(PredictorError):
        (tmp_path / "v.csv").write_text("prompt,score\na cat,1\n")
        TablePredictor("v.csv", "score").predict([{"prompt": "a dog"}])
