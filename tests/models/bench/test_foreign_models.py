"""Models of other libraries in a comparison: their own answers, and never code or pickles."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from scipy import stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from support.tiny_models import save_classifier, save_text_encoder

import pqpp
from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_models import PredictorError
from pqpp_models.bench.given import foreign_scores, named_predictor

PROMPTS = ["a cat", "two dogs in the rain", "a man riding a wave", "red", "seven blue boats at sea"]
VALUES = [0.5, 1.5, 1.0, 0.0, 2.0]


@pytest.fixture(scope="module")
def rows():
    return load_benchmark("sample", split="test")


def test_a_function_of_a_module_here(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_lengths.py").write_text(
        "def lengths(prompts):\n    return [len(p) for p in prompts]\n"
        "def odd(prompts):\n    return {}['x']\nnone = 3\n"
    )
    words = ["bench", "--dataset", "sample", "--split", "test", "--target", "mean_rr"]
    assert main([*words, "--predictors", "my_lengths:lengths,n_words", "--format", "json"]) == 0
    found = {row["predictor"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    expected = stats.pearsonr(list(map(len, rows["prompt"])), rows["mean_rr"][:])
    assert found["my_lengths:lengths"]["pearson"] == pytest.approx(expected.statistic, abs=1e-9)
    for name in ("odd", "lengthy", "none"):
        assert main([*words, "--predictors", f"my_lengths:{name}"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"my_lengths:{name}" in line


def test_the_data_may_come_first(rows):
    found = pqpp.bench(rows, {"mine": lambda prompts: [len(p) for p in prompts]}, "mean_rr")
    expected = pqpp.bench({"mine": lambda prompts: [len(p) for p in prompts]}, "mean_rr", rows)
    pd.testing.assert_frame_equal(found, expected)
    (named,) = pqpp.bench("sample", {"mine": "n_words"}, "mean_rr", split="test").to_dict("records")
    assert named["kendall"] == pqpp.bench("n_words", "mean_rr", rows)["kendall"][0]


def test_a_pipeline_of_skops(tmp_path):
    pipeline = make_pipeline(TfidfVectorizer(), Ridge()).fit(PROMPTS, VALUES)
    skops.io.dump(pipeline, tmp_path / "mine.skops")
    found = named_predictor(str(tmp_path / "mine.skops")).predict(PROMPTS)
    np.testing.assert_allclose(found[:, 0], pipeline.predict(PROMPTS), rtol=1e-12)
    grades = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(PROMPTS, [0, 2, 2, 0, 1])
    skops.io.dump(grades, tmp_path / "grades.skops")
    found = named_predictor(str(tmp_path / "grades.skops")).predict(PROMPTS)
    expected = grades.predict_proba(PROMPTS) @ [0, 1, 2]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)


def test_pickles_and_code_are_refused(tmp_path):
    class Trap:
        def __reduce__(self):
            return exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",)

    (tmp_path / "mine.pkl").write_bytes(pickle.dumps(Trap()))
    (tmp_path / "mine.joblib").write_bytes(pickle.dumps(Trap()))
    (tmp_path / "broken.skops").write_bytes(pickle.dumps(Trap()))
    skops.io.dump(make_pipeline(FunctionTransformer(np.char.upper)), tmp_path / "code.skops")
    words = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(PROMPTS, list("abbab"))
    skops.io.dump(words, tmp_path / "words.skops")
    for name, said in (
        ("mine.pkl", "a pickle may run any code and is not read"),
        ("mine.joblib", "a pickle may run any code and is not read"),
        ("broken.skops", "cannot be read as a file of skops"),
        ("code.skops", "holds types that may run code"),
        ("words.skops", "tells apart a, b, which have no order"),
        ("none.skops", "no file"),
    ):
        with pytest.raises(PredictorError, match=said):
            named_predictor(str(tmp_path / name)).predict(PROMPTS)
    assert not (tmp_path / "ran").exists()


def test_a_text_classifier_with_one_label(tmp_path):
    from transformers import BertForSequenceClassification

    tokenizer = save_classifier(tmp_path / "one", 1)
    model = BertForSequenceClassification.from_pretrained(tmp_path / "one").eval()
    with torch.no_grad():
        expected = [model(**tokenizer(p, return_tensors="pt")).logits.item() for p in PROMPTS]
    found = named_predictor(str(tmp_path / "one")).predict(PROMPTS)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)
    assert np.ptp(expected) > 1e-5
    save_classifier(tmp_path / "three", 3)
    with pytest.raises(PredictorError, match="has 3 labels, a score is one"):
        named_predictor(str(tmp_path / "three"))


def test_sentence_transformers_and_setfit(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Dense, Pooling, Transformer

    save_text_encoder(tmp_path / "bert")
    torch.manual_seed(0)
    encoder = Transformer(str(tmp_path / "bert"))
    pooling = Pooling(encoder.get_word_embedding_dimension())
    size = encoder.get_word_embedding_dimension()
    plain = SentenceTransformer(modules=[encoder, pooling], device="cpu")
    scorer = SentenceTransformer(modules=[encoder, pooling, Dense(size, 1)], device="cpu")
    for name, model in (("plain", plain), ("scorer", scorer), ("setfit", plain)):
        model.save(str(tmp_path / name))
    found = named_predictor(str(tmp_path / "scorer")).predict(PROMPTS)
    np.testing.assert_allclose(found, scorer.encode(PROMPTS), atol=1e-6)
    with pytest.raises(PredictorError, match=f"gives {size} numbers a text, a score is one"):
        foreign_scores(str(tmp_path / "plain"))

    (tmp_path / "setfit" / "config_setfit.json").write_text('{"labels": null}')
    (tmp_path / "setfit" / "model_head.pkl").write_bytes(b"\x80\x04.")
    with pytest.raises(PredictorError, match="the head of SetFit is a pickle"):
        foreign_scores(str(tmp_path / "setfit"))
    head = LogisticRegression().fit(plain.encode(PROMPTS), [0, 1, 1, 0, 1])
    skops.io.dump(head, tmp_path / "setfit" / "model_head.skops")
    found = named_predictor(str(tmp_path / "setfit")).predict(PROMPTS)
    expected = head.predict_proba(plain.encode(PROMPTS))[:, 1]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)

    steps = json.loads((tmp_path / "scorer" / "modules.json").read_text())
    steps[1]["type"] = "builtins.exec"
    (tmp_path / "scorer" / "modules.json").write_text(json.dumps(steps))
    with pytest.raises(PredictorError, match="runs code of its own"):
        foreign_scores(str(tmp_path / "scorer"))
