"""The VQA score: probabilities, stored answers, budgets and refusals."""

import json
import math

import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")
pytest.importorskip("openai", reason="endpoints need pqpp[chat]")

from support.chat_server import serve_chat  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402


def make_completion(answer, tokens=None):
    tops = [{"token": token, "logprob": math.log(p)} for token, p in tokens or ()]
    choice = {"message": {"content": answer}}
    if tokens is not None:
        choice["logprobs"] = {"content": [{"token": answer, "logprob": 0, "top_logprobs": tops}]}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 1}}


def make_words(folder, server):
    """Return the command that scores the images of a folder by a server's model."""
    words = ["assess", "score", "--with", "vqa_score", "--image-dir", str(folder)]
    return [*words, "--chat-url", server.url, "--chat-model", "m"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PQPP_CHAT_KEY", "sk-secret")
    rows = []
    for number, prompt in enumerate(("a red square", "a dog", "a bomb")):
        path = tmp_path / "images" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (16, 12), (250, 9 * number, 0)).save(path)
        rows.append(json.dumps({"file_name": path.name, "prompt": prompt}))
    (tmp_path / "images" / "metadata.jsonl").write_text("\n".join(rows))
    return tmp_path / "images"


def test_scores_by_an_endpoint_within_budget(folder, tmp_path, capsys):
    out, top_tokens = tmp_path / "v.parquet", [("Yes", 0.5), (" yes", 0.2), ("No", 0.1), ("I", 0.1)]
    with serve_chat() as server:
        words = make_words(folder, server)
        words += ["--ledger", str(tmp_path / "calls"), "--output", str(out)]
        assert main([*words, "--max-calls", "2"]) == 2
        assert "calls needed: 3, left: 2" in capsys.readouterr().err
        assert server.requests == []
        server.answer = lambda body: make_completion("Yes", top_tokens)
        server.faults = [None, None, (400, "no", "content_policy_violation")]
        assert main([*words, "--max-calls", "3"]) == 0
        rows = list(read_verdicts(out))
        assert [row["verdict"] for row in rows] == [True, True, None]
        assert rows[0]["score"] == pytest.approx(0.7) and "content_policy" in rows[2]["reason"]
        body = server.requests[0]
        assert body["logprobs"] is True and body["top_logprobs"] == 20 and body["max_tokens"] == 8
        assert body["messages"][0]["content"][1]["text"] == (
            'Does this figure show "a red square"? Please answer yes or no.'
        )
        # Answers are stored by pixels and question, so only the refused image is requested again.
        out.unlink()
        assert main(words) == 0 and len(server.requests) == 4
        everything = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
        assert b"sk-secret" not in everything


def test_budget_ignores_stored_answers_on_other_images(folder, tmp_path, capsys):
    with serve_chat(answer=lambda body: make_completion("Yes")) as server:
        words = [*make_words(folder, server), "--ledger", f"{tmp_path}/calls"]
        assert main([*words, "--output", str(tmp_path / "a.parquet")]) == 0
        for path in folder.glob("[01].png"):  # two other images of the same prompts
            Image.new("RGB", (9, 9), "blue").save(path)
        words += ["--output", str(tmp_path / "b.parquet"), "--max-calls"]
        assert main([*words, "4"]) == 2 and len(server.requests) == 3
        assert "calls needed: 2, left: 1" in capsys.readouterr().err
        assert main([*words, "5"]) == 0 and len(server.requests) == 5


def test_unclear_answers_have_no_verdict(folder, tmp_path):
    replies = [
        make_completion("<think>Well, it", [("<think>", 1.0)]),
        make_completion("Maybe", [("Maybe", 1.0)]),
    ]
    out = tmp_path / "v.parquet"
    with serve_chat() as server:
        server.answer = lambda body: replies.pop(0) if replies else make_completion("No.")
        assert main([*make_words(folder, server), "--output", str(out)]) == 0
    rows = list(read_verdicts(out))
    assert [row["verdict"] for row in rows] == [None, None, False]
    assert [row["score"] for row in rows] == [None] * 3
    cut_off = "its reasoning was cut off; use a model or template without reasoning"
    for row, reason in zip(rows, (cut_off, "neither", "no probabilities"), strict=True):
        assert reason in row["reason"]
