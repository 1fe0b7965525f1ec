"""`pqpp rewrite` with a file of candidates and with an endpoint."""

import json

import numpy as np
import pytest
from support.chat_server import serve_chat

from pqpp_cli.main import main

REWRITES = ["a dog on a red couch", "a couch", "three dogs on a couch", "a couch"]


def test_reads_candidates_from_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.csv").write_text("prompt,candidate\na dog on a couch,a couch\na cat,a cat\n")
    words = ["rewrite", "a dog on a couch", "a horse", "--target", "mean_hbpp", "--candidates",
             "c.csv", "--keep", "kept.jsonl", "--format", "json"]  # fmt: skip
    assert main(words) == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)
    assert rows[0]["mean_hbpp_gain"] == rows[0]["alignment_gain"] == 0
    assert [row["rewritten"] for row in rows] == ["a dog on a couch", "a horse"]
    assert not rows[0]["changed"] and rows[0]["best"] == "a dog on a couch"
    assert "0 of 2 rewritten; 0 with a better candidate; 1 candidate" in err
    assert "add --entailment MODEL" in err
    [verdicts] = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert verdicts["reason"] == "perhaps lost: dog" and verdicts["original"] == "a dog on a couch"
    assert main(["rewrite", "a bird", *words[3:]]) == 2
    assert "has no candidate for these prompts" in capsys.readouterr().err


def test_shows_two_gains_and_applies_entailment_model(tmp_path, capsys, monkeypatch):
    torch = pytest.importorskip("torch")
    from support.tiny_models import save_classifier
    from transformers import AutoTokenizer, BertForSequenceClassification

    from pqpp_models.predict import predict

    monkeypatch.chdir(tmp_path)
    original, rewrite = "please would u give me an image of a couch dog on", "a dog on a couch"
    (tmp_path / "c.csv").write_text(f"prompt,candidate\n{original},{rewrite}\n")
    names = {0: "contradiction", 1: "entailment", 2: "neutral"}
    save_classifier(tmp_path / "nli", 3, id2label=names)
    save_classifier(tmp_path / "other", 2)
    words = ["rewrite", original, "--candidates", "c.csv", "--keep", "kept.jsonl"]
    assert main(words) == 0
    output = capsys.readouterr().out
    targets = ("alignment", "mean_hbpp")
    values = {target: predict([original, rewrite], target)[target] for target in targets}
    for target in targets:
        assert f"{target} gain" in output and f"{np.diff(values[target])[0]:+.3f}" in output
    assert main([*words, "--entailment", "nli"]) == 0
    [verdicts] = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    tokens = AutoTokenizer.from_pretrained("nli")(
        [rewrite, original], [original, rewrite], return_tensors="pt", padding=True
    )
    with torch.no_grad():
        logits = BertForSequenceClassification.from_pretrained("nli").eval()(**tokens).logits
    assert verdicts["entailment"] == pytest.approx(float(logits.softmax(1)[:, 1].min()), abs=1e-5)
    assert verdicts["entailment"] < 0.5 and not verdicts["accepted"]
    assert verdicts["reason"].startswith("another meaning")
    assert main([*words, "--entailment", "other"]) == 2
    assert "has no label 'entailment' (LABEL_0, LABEL_1)" in capsys.readouterr().err


def test_judges_rewrites_from_endpoint(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PQPP_CHAT_KEY", "sk-secret-123")
    reply = json.dumps({"rewrites": REWRITES})
    with serve_chat(answer=lambda body: reply, faults=[503]) as server:
        words = ["rewrite", "a dog on a couch", "--target", "mean_hbpp", "--chat-url", server.url,
                 "--chat-model", "tiny", "--keep", "kept.jsonl", "--confidence", "0.5"]  # fmt: skip
        assert main(words) == 0
        assert server.authorizations[-1] == "Bearer sk-secret-123"
        assert "4 rewrites" in server.requests[0]["messages"][1]["content"]
    verdicts = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert sorted(one["prompt"] for one in verdicts) == sorted(REWRITES[:3])  # each once
    verdicts = {one["prompt"]: one for one in verdicts}
    assert verdicts["a couch"]["lost"] == ["dog"]
    assert verdicts["three dogs on a couch"]["reason"] == "numbers differ: none became 3"
    assert not any(one["accepted"] for one in verdicts.values())
    out, err = capsys.readouterr()
    assert "2 calls" in err and "secret" not in out + err + (tmp_path / "kept.jsonl").read_text()


def test_writes_results_when_calls_run_out_or_fail(tmp_path, capsys):
    reply = json.dumps({"rewrites": ["a dog sits"]})
    with serve_chat(answer=lambda body: reply, faults=[503]) as server:
        words = ["rewrite", "a dog", "a cat", "--target", "mean_hbpp", "--chat-url", server.url,
                 "--chat-model", "tiny", "--keep", str(tmp_path / "kept.jsonl"), "--output",
                 str(tmp_path / "out.csv")]  # fmt: skip
        assert main([*words, "--max-calls", "2"]) == 2
        error = capsys.readouterr().err
        assert "calls needed: 1, left: 0" in error
        assert "later prompts are unchanged" in error
        assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 1
        assert len((tmp_path / "out.csv").read_text().splitlines()) == 3
        server.faults = [None, 401]
        assert main(words) == 2
        assert "status 401" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"return_dict": False}, {"id2label": {"-7": "entailment"}}])
def test_entailment_model_that_fails_is_refused(tmp_path, change):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file, save_file
    from support.tiny_models import save_classifier

    from pqpp_engines.errors import EngineError
    from pqpp_engines.rewrite.judge import Entailment

    save_classifier(tmp_path, 3, id2label={0: "entailment", 1: "neutral", 2: "other"})
    path, weights = tmp_path / "config.json", tmp_path / "model.safetensors"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    if "id2label" in change:  # which also determines the number of outputs
        tensors = load_file(weights)
        for name in ("classifier.weight", "classifier.bias"):
            tensors[name] = tensors[name][:1].to(torch.float32).clone()
        save_file(tensors, weights, {"format": "pt"})
    with pytest.raises(EngineError, match="entailment failed"):
        Entailment(str(tmp_path))("a cat", ["a dog"])
