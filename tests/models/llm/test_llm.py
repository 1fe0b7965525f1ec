"""The LLM predictor: requests, ratings, budget and checkpoints."""

import json
import math
import re

import numpy as np
import pytest

pytest.importorskip("openai", reason="an endpoint needs pqpp[chat]")

from support.chat_server import serve_chat

from pqpp_backbones.chat.chat import Budget
from pqpp_backbones.chat.ledger import Ledger
from pqpp_backbones.chat.models import Endpoint
from pqpp_backbones.errors import ModelError, ServiceError
from pqpp_cli.main import main
from pqpp_models import Predictor, PredictorError
from pqpp_models.llm.predictor import LlmPredictor

THINGS = ["cat", "dog", "robot", "tree", "boat", "house", "lamp", "chair", "cloud", "river"]
PROMPTS = [
    f"a {one} beside a {other}" + " and a hat" * n
    for n in range(3)
    for one, other in zip(THINGS, THINGS[1:] + THINGS[:1], strict=True)
]
RATINGS = [5.0 - prompt.count("hat") for prompt in PROMPTS]  # fmt: skip


def read_prompts(body):
    return re.findall(r"Prompt: (.*)\nDigit:(?: (\d))?", body["messages"][1]["content"])


def answer_with_probabilities(body):
    """Rate prompts 9, 5 or 1 by their number of hats, with probabilities of two digits."""
    level = 9 - 4 * read_prompts(body)[-1][0].count("hat")
    tops = [
        {"token": f" {level}", "logprob": math.log(0.6)},
        {"token": str(level - 1), "logprob": math.log(0.2)},
    ]
    tokens = [{"token": str(level), "top_logprobs": tops}]
    choice = {"message": {"content": str(level)}, "logprobs": {"content": tokens}}
    return {"choices": [choice]}


@pytest.fixture
def server():
    with serve_chat(answer=answer_with_probabilities) as state:
        yield state


def fit_predictor(server, **limits):
    chat = Endpoint(server.url, "qwen", Budget(**limits))
    return LlmPredictor.fit(
        chat, PROMPTS, RATINGS, ["mean_rating"], "mine", {"mean_rating": (1, 5)}
    )


def test_ratings_are_expected_digits_and_calibrated(server):
    predictor = fit_predictor(server)
    assert len(server.requests) == 30 and server.requests[0]["top_logprobs"] == 20
    # Ratings 9, 5, 1 minus a quarter map to 5, 4, 3, so a step is a quarter.
    assert predictor.scales["mean_rating"] == pytest.approx([1, 5, 2.75 + 0.0625, 0.25])
    assert predictor.details["training"]["cross_validation"]["mean_rating"]["spearman"] == 1
    predictions = predictor.predict(["a new thing", "a hat", " ", "a hat and a hat"])
    np.testing.assert_allclose(predictions[:, 0], [5, 4, np.nan, 3])
    before = len(server.requests)
    predictor.predict(["a hat", "a new thing"])
    assert len(server.requests) == before
    server.answer = lambda body: "I say 5."  # without probabilities, the digit is read
    assert predictor.predict(["one hat"])[0, 0] == pytest.approx(4.0625)
    server.answer = lambda body: "<think>5 hats"
    assert np.isnan(predictor.predict(["a red hat"])).all()


def test_examples_exclude_the_prompt(server):
    predictor = fit_predictor(server)
    for body in server.requests:
        *examples, (prompt, _) = read_prompts(body)
        assert len(examples) == 8 and prompt not in dict(examples)
        assert {"0", "9"} <= {level for _, level in examples}
        assert all(level == f"{9 - 4.5 * text.count('hat'):.0f}" for text, level in examples)
    predictor.predict(["a robot and a cloud"])
    nearest = [text for text, _ in read_prompts(server.requests[-1])[4:-1]]
    assert all("robot" in text or "cloud" in text for text in nearest)


def test_checks_budget_first_and_pays_replies_once(server, tmp_path):
    with pytest.raises(ServiceError, match="calls needed: 30, left: 29"):
        fit_predictor(server, max_calls=29)
    assert not server.requests
    fit_predictor(server, max_calls=30, ledger=Ledger(tmp_path / "calls"))
    fit_predictor(server, max_calls=30, ledger=Ledger(tmp_path / "calls"))
    assert len(server.requests) == 30


def test_bench_uses_endpoint_from_environment(server, tmp_path, monkeypatch, capsys):
    table, folder = tmp_path / "ratings.csv", tmp_path / "llm"
    rows = (f"{prompt},{rating}\n" for prompt, rating in zip(PROMPTS, RATINGS, strict=True))
    table.write_text("prompt,mean_rating\n" + "".join(rows))
    arguments = ["fit", str(table), "--targets", "mean_rating", "--output", str(folder)]
    assert main([*arguments, "--chat-url", server.url, "--chat-model", "qwen"]) == 0
    assert "Spearman 1.000 on 30" in capsys.readouterr().out
    assert server.url not in "".join(file.read_text("latin-1") for file in folder.iterdir())
    with pytest.raises(PredictorError, match="'qwen'; set PQPP_CHAT_URL"):
        Predictor.from_pretrained(folder).predict(["a cat"])
    fresh = tmp_path / "fresh.csv"
    fresh.write_text("prompt,mean_rating\nx hat,4\ny,5\nz hat hat,3\n")
    bench = ["bench", "--dataset", str(fresh), "--predictors", f"{folder},n_words"]
    bench += ["--format", "json"]
    monkeypatch.setenv("PQPP_CHAT_URL", server.url)
    monkeypatch.setenv("PQPP_MAX_CALLS", "2")
    assert main(bench) == 2 and "calls needed" in capsys.readouterr().err
    monkeypatch.setenv("PQPP_MAX_CALLS", "3")
    assert main(bench) == 0
    rows = json.loads(capsys.readouterr().out)
    assert '"pearson": 1.0' in json.dumps(rows) and "llm" in json.dumps(rows)


@pytest.mark.parametrize(("name", "value"), [
    ("scales", [[1, 5, 0, "a"]]), ("scales", [[1, 5, 0]]), ("scales", []), ("values", [[1.0]]),
    ("prompts", [7] * 30), ("prompts", []), ("chat_model", None),
])  # fmt: skip
def test_rejects_damaged_checkpoints(server, tmp_path, name, value):
    path = fit_predictor(server).save_pretrained(tmp_path / "llm") / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(ModelError, match="llm predictor cannot be loaded"):
        Predictor.from_pretrained(path.parent)


def test_fits_local_model(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from support.tiny_chat import save_text_chat

    from pqpp_backbones.chat.models import load_local_chat

    path = str(save_text_chat(tmp_path / "tiny"))
    chat = load_local_chat(path, device="cpu")
    monkeypatch.setattr("pqpp_models.llm.predictor.parse_rating", lambda one: one.probs["7"] * 9)
    predictor = LlmPredictor.fit(chat, PROMPTS, RATINGS, ["mean_rating"], calibrated=4)
    folder = predictor.save_pretrained(tmp_path / "llm")
    assert str(tmp_path) not in (folder / "config.json").read_text()
    monkeypatch.setenv("PQPP_CHAT_MODEL", path)
    expected = predictor.predict(["a hat"])
    np.testing.assert_array_equal(Predictor.from_pretrained(folder).predict(["a hat"]), expected)
