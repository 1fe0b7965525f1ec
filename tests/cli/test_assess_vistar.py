"""`pqpp assess vistar`: outputs, call limits and refused options."""

import json

import pytest

pytest.importorskip("rapidocr", reason="text rendering needs pqpp[assess]")

from support.chat_server import serve_chat
from support.drawn_texts import draw_text

from pqpp_cli.main import main
from pqpp_datasets.vistar.vistar import LEVELS
from pqpp_feedback.assess.verdicts import read_verdicts


@pytest.fixture
def folder(tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    image, text = draw_text(0)
    image.save(images / "a.png")
    image.convert("CMYK").save(images / "b.jpg")
    image.resize((4, 4)).save(images / "c.png")
    for name in "abc":
        (images / f"{name}.txt").write_text(f'A sign: "{text}"')
    return images


def test_text_rendering_needs_no_model(folder, tmp_path, capsys):
    out, again = tmp_path / "v.parquet", tmp_path / "w.parquet"
    command = ["assess", "vistar", "--only", "text_rendering"]
    assert main([*command, "--image-dir", str(folder), "--output", str(out)]) == 0
    rows = list(read_verdicts(out))
    assert "rows without verdict and score: 1; most often: " in capsys.readouterr().err
    assert [row["score"] == 1.0 for row in rows] == [True, True, False]
    assert rows[0]["routine"] == "after-vistar-text_rendering"
    assert rows[2]["score"] is None and "4" in rows[2]["reason"]
    assert main([*command, "--evidence", str(out), "--output", str(again)]) == 0
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize(
    "words, message",
    [
        (["--only", "smell"], "unknown score 'smell'; choose one of characters"),
        (["--only", "light", "--model", "detector=no-such"], "detector: no-such is neither"),
    ],
)
def test_invalid_vistar_options_are_one_line(folder, tmp_path, capsys, words, message):
    out = tmp_path / "v.parquet"
    command = ["assess", "vistar", "--image-dir", str(folder), "--output", str(out), *words]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert message in error and error.strip().count("\n") == 0


def answer_hwpq(body):
    """Return a questionnaire if one is requested, else true for every question."""
    schema = body["response_format"]["json_schema"]["schema"]
    if "L1" not in schema["properties"]:
        return json.dumps({name: True for name in schema["properties"]})
    pair = {"node": "sign", "question_weight": 1, "P": "A sign?", "N": "No sign?"}
    return json.dumps({n: {"level_weight": 0.25, "questions": [pair]} for n in LEVELS})


def test_hwpq_respects_the_limits_of_an_endpoint(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PQPP_CHAT_KEY", "sk-secret")
    out, stored = tmp_path / "v.parquet", tmp_path / "kept"
    with serve_chat(answer=answer_hwpq) as server:
        command = ["assess", "vistar", "--only", "hwpq", "--image-dir", str(folder)]
        command += ["--chat-url", server.url, "--chat-model", "m", "--output", str(out)]
        command += ["--questionnaires", str(stored / "q"), "--ledger", str(stored / "a")]
        # 1 questionnaire, and 2 x 3 questions for each of the 2 images that can be opened.
        assert main([*command, "--max-calls", "12"]) == 2
        assert "calls needed: 13, left: 12" in capsys.readouterr().err
        assert server.requests == []
        assert main([*command, "--max-calls", "13", "--prices", "1,2", "--max-cost", "9"]) == 0
        error = capsys.readouterr().err
        # Two images can be opened, and both have the same prompt.
        assert len(server.requests) == 1 + 2 * 2 * 3 and "13 calls" in error and "spent" in error
        rows = list(read_verdicts(out))
        # Both questions of each pair are answered yes, so no fact is confirmed.
        assert [row["score"] for row in rows] == [0.0, 0.0, None]
        assert "0 of 24 answers unreadable" in rows[0]["reason"]
        assert main(command) == 0 and len(server.requests) == 13  # all answers are in the ledger
        written = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
        assert b"sk-secret" not in written and "sk-secret" not in error
        server.requests.clear()
        other = ["--questionnaires", str(stored / "r"), "--ledger", str(stored / "b"), "--batch"]
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        out.rename(tmp_path / "first.parquet")
        assert main([*command[:-4], *other, "--max-calls", "13", "--prices", "1,2"]) == 0
        # The first call of each kind is not batched.
        assert len(server.requests) == 2 and len(server.batches) == 1
        assert [row["score"] for row in read_verdicts(out)] == [0.0, 0.0, None]
