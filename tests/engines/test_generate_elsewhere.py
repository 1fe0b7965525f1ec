"""Images from an endpoint that misbehaves."""

import base64
import hashlib
import io
import json
import logging

import pytest

pytest.importorskip("openai", reason="an endpoint needs pqpp[chat]")

from PIL import Image
from support.chat_server import serve_chat

from pqpp_backbones.chat.chat import Budget, ServiceError
from pqpp_engines.generate import EndpointGenerator, derive_seed, generate
from pqpp_engines.generate.endpoint import KEY

SECRET = "sk-very-secret"
PROMPTS = [{"prompt_id": f"p-{n}", "prompt": text} for n, text in enumerate(
    ("a red cat on a mat", "a blue dog", "two green birds"))]  # fmt: skip


def drawn(seed, style="PNG"):
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (seed % 251, seed // 251 % 251, 0)).save(buffer, style)
    return buffer.getvalue()


def answer(body):
    image = base64.b64encode(drawn(body.get("seed", 5))).decode()
    return {"data": [{"b64_json": image, "revised_prompt": f"nice {body['prompt']}"}]}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv(KEY, SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve_chat() as state:
        state.answer = answer
        yield state


def endpoint(server, **options):
    return EndpointGenerator(server.url, "some/Flux", **options)


def told_of(folder, name):
    return json.loads((folder / "images" / name).with_suffix(".json").read_text())


def test_what_is_sent_and_what_is_kept(server, tmp_path):
    made = generate(endpoint(server, height=64, width=32), PROMPTS, tmp_path, 2)
    assert made.made == 6 and len(server.asked) == 6
    body, seed = server.asked[1], derive_seed("p-0", "flux", 1) % 2**31
    assert body == {"model": "some/Flux", "n": 1, "response_format": "b64_json", "size": "32x64",
                    "prompt": PROMPTS[0]["prompt"], "seed": seed}  # fmt: skip
    assert server.keys == [f"Bearer {SECRET}"] * 6
    told = told_of(tmp_path, "p-0/flux_1.png")
    image = (tmp_path / "images/p-0/flux_1.png").read_bytes()
    files = image, drawn(body["seed"])
    assert len({Image.open(io.BytesIO(file)).tobytes() for file in files}) == 1
    assert told["seed"] == body["seed"] and told["revised_prompt"] == "nice a red cat on a mat"
    assert told["model_id"] == "some/Flux" and told["endpoint"] == server.url
    assert told["sha256"] == hashlib.sha256(image).hexdigest() and SECRET not in json.dumps(told)
    assert generate(endpoint(server, height=64, width=32), PROMPTS, tmp_path, 2).skipped == 6
    assert len(server.asked) == 6


def test_an_answer_without_an_image_is_paid_and_asked_for_once(server, tmp_path):
    whole = base64.b64encode(drawn(1)).decode()
    answers = [{"data": [{"b64_json": one}]} for one in (whole[:50], "%%", None)]
    answers += [{"data": []}, {"data": None}, {"data": [{"url": "https://a.test/1.png"}]}]
    answers += [
        {"data": [{name: f"data:image/png;base64,{whole}"}]} for name in ("b64_json", "url")
    ]
    replies, budget = iter(answers), Budget(price_call=0.04)
    server.answer = lambda body: next(replies)
    rows = [{"prompt_id": f"p-{n}", "prompt": "a cat"} for n in range(8)]
    made = generate(endpoint(server, budget=budget), rows, tmp_path, 1)
    assert (made.made, made.refused, len(server.asked)) == (2, 6, 8)
    assert "the reply is a URL instead of the requested b64_json" in made.last_refusal
    assert budget.ledger.spent == pytest.approx(0.32)


def test_a_slow_one_is_given_up_and_what_was_made_stays(server, tmp_path):
    assert generate(endpoint(server), PROMPTS[:1], tmp_path, 1).made == 1
    server.faults = ["slow", "slow"]
    with pytest.raises(ServiceError):
        generate(endpoint(server, timeout=0.2, tries=2), PROMPTS, tmp_path, 1)
    assert len(list(tmp_path.rglob("*.png"))) == 1
    again = generate(endpoint(server), PROMPTS, tmp_path, 1)
    assert (again.made, again.skipped) == (2, 1)


@pytest.mark.parametrize("status", [401, 404])
def test_a_refusal_is_one_line_without_the_key(server, tmp_path, status, caplog):
    server.faults = [status]
    with caplog.at_level(logging.DEBUG), pytest.raises(ServiceError) as caught:
        generate(endpoint(server), PROMPTS, tmp_path, 1)
    said = str(caught.value)
    assert f"status {status}, refused Bearer ***" in said and "\n" not in said
    assert SECRET not in said + caplog.text + repr(vars(endpoint(server)))
    assert len(server.asked) == 1 and not list(tmp_path.rglob("*.png"))


def test_what_an_endpoint_does_not_know_is_left_out_and_told(server, tmp_path):
    server.faults = [(400, "Unknown parameter: 'response_format'."), (422, "extra field: seed")]
    generate(endpoint(server), PROMPTS[:2], tmp_path, 1)
    assert [("seed" in one, "response_format" in one) for one in server.asked] == [
        (True, True), (True, False), (False, False), (False, False)]  # fmt: skip
    assert told_of(tmp_path, "p-1/flux_0.png")["seed"] is None


def test_a_prompt_against_its_rules_has_no_image_and_the_others_do(server, tmp_path, capsys):
    server.faults = [None, (400, "Your request was rejected by the safety system.")]
    made = generate(endpoint(server), PROMPTS, tmp_path, 1)
    assert (made.made, made.refused) == (2, 1) and "safety system" in made.last_refusal
    assert not (tmp_path / "images/p-1").exists()
    assert generate(endpoint(server), PROMPTS, tmp_path, 1).made == 1


def test_calls_and_money_are_limited(server, tmp_path):
    server.faults = [429, None, 429]
    budget = Budget(max_calls=4, price_call=0.04)
    with pytest.raises(ServiceError):
        generate(endpoint(server, budget=budget), PROMPTS, tmp_path, 1)
    assert len(server.asked) == 4 and budget.ledger.spent == pytest.approx(0.08)
    assert len(list(tmp_path.rglob("*.png"))) == 2
    budget = Budget(max_cost=0.1, price_call=0.04)
    with pytest.raises(ServiceError, match=r"0\.12"):
        generate(endpoint(server, budget=budget), PROMPTS, tmp_path / "two", 1)
    assert len(server.asked) == 4  # refused before anything was asked
    assert generate(endpoint(server, budget=budget), PROMPTS, tmp_path, 1).made == 1  # what is left
