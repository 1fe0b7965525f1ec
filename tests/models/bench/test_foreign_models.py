"""Functions and text classifiers in `bench`: their predictions, and refused pickles and links."""

import json
import pickle

import numpy as np
import pytest
import torch
from scipy import stats
from support.tiny_models import save_classifier

import pqpp
from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_files.errors import PqppError
from pqpp_models import PredictorError
from pqpp_models.bench.lookup import find_scoring_function, load_any_predictor

PROMPTS = ["a cat", "two dogs in the rain", "a man riding a wave", "red", "seven blue boats at sea"]


@pytest.fixture(scope="module")
def rows():
    return load_benchmark("sample", split="test")


def test_runs_function_of_local_module(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_lengths.py").write_text(
        "def lengths(prompts):\n    return [len(p) for p in prompts]\n"
        "def failing(prompts):\n    return {}['x']\nnone = 3\n"
    )
    arguments = ["bench", "--dataset", "sample", "--split", "test", "--target", "mean_rr"]
    assert main([*arguments, "--predictors", "my_lengths:lengths,n_words", "--format", "json"]) == 0
    results = {row["predictor"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    expected = stats.pearsonr(list(map(len, rows["prompt"])), rows["mean_rr"][:])
    assert results["my_lengths:lengths"]["pearson"] == pytest.approx(expected.statistic, abs=1e-9)
    for name in ("failing", "lengthy", "none"):
        assert main([*arguments, "--predictors", f"my_lengths:{name}"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"my_lengths:{name}" in line


def test_bench_loads_rows_by_name(rows):
    by_name = pqpp.bench({"mine": "n_words"}, "mean_rr", "sample", split="test")
    assert by_name["kendall"][0] == pqpp.bench("n_words", "mean_rr", rows)["kendall"][0]
    with pytest.raises(PqppError, match="`split` conflicts with `rows`"):
        pqpp.bench("n_words", "mean_rr", rows, split="test")


def test_rejects_pickles(tmp_path):
    class Trap:
        def __reduce__(self):
            return exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",)

    for ending in ("pkl", "joblib", "skops"):
        (tmp_path / f"mine.{ending}").write_bytes(pickle.dumps(Trap()))
        with pytest.raises(PredictorError, match="pickles"):
            load_any_predictor(str(tmp_path / f"mine.{ending}")).predict(PROMPTS)
    assert not (tmp_path / "ran").exists()


def test_classifier_with_one_label_returns_logits(tmp_path):
    from transformers import BertForSequenceClassification

    tokenizer = save_classifier(tmp_path / "one", 1)
    model = BertForSequenceClassification.from_pretrained(tmp_path / "one").eval()
    with torch.no_grad():
        expected = [model(**tokenizer(p, return_tensors="pt")).logits.item() for p in PROMPTS]
    predictions = load_any_predictor(str(tmp_path / "one")).predict(PROMPTS)
    np.testing.assert_allclose(predictions[:, 0], expected, atol=1e-6)
    assert np.ptp(expected) > 1e-5
    save_classifier(tmp_path / "three", 3)
    with pytest.raises(PredictorError, match="has 3 labels"):
        load_any_predictor(str(tmp_path / "three"))


def test_rejects_config_linked_outside_folder(tmp_path):
    (tmp_path / "private.json").write_text("{}")
    (tmp_path / "config.json").write_text('{"architectures": 1e308}')
    assert find_scoring_function(str(tmp_path)) is None
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").symlink_to("../private.json")
    with pytest.raises(PqppError, match="is outside"):
        find_scoring_function(str(tmp_path / "model"))
