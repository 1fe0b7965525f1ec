"""Images from an endpoint: requests, refusals, timeouts and budgets."""

import base64
import hashlib
import io
import json

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


def draw_image(seed, style="PNG"):
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (seed % 251, seed // 251 % 251, 0)).save(buffer, style)
    return buffer.getvalue()


def make_reply(body):
    image = base64.b64encode(draw_image(body.get("seed", 5))).decode()
    return {"data": [{"b64_json": image, "revised_prompt": f"nice {body['prompt']}"}]}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv(KEY, SECRET)
    with serve_chat(answer=make_reply) as state:
        yield state


def connect(server, **options):
    return EndpointGenerator(server.url, "some/Flux", **options)


def read_metadata(folder, name):
    return json.loads((folder / "images" / name).with_suffix(".json").read_text())


def test_sends_seed_and_records_metadata(server, tmp_path):
    summary = generate(connect(server, height=64, width=32), PROMPTS, tmp_path, 2)
    assert summary.made == 6 and len(server.requests) == 6
    body, seed = server.requests[1], derive_seed("p-0", "flux", 1) % 2**31
    assert body == {"model": "some/Flux", "n": 1, "response_format": "b64_json", "size": "32x64",
                    "prompt": PROMPTS[0]["prompt"], "seed": seed}  # fmt: skip
    assert server.authorizations == [f"Bearer {SECRET}"] * 6
    metadata = read_metadata(tmp_path, "p-0/flux_1.png")
    image = (tmp_path / "images/p-0/flux_1.png").read_bytes()
    files = image, draw_image(body["seed"])
    assert len({Image.open(io.BytesIO(file)).tobytes() for file in files}) == 1
    assert metadata["seed"] == body["seed"]
    assert metadata["revised_prompt"] == "nice a red cat on a mat"
    assert metadata["model_id"] == "some/Flux" and metadata["endpoint"] == server.url
    assert metadata["sha256"] == hashlib.sha256(image).hexdigest()
    assert SECRET not in json.dumps(metadata)
    assert generate(connect(server, height=64, width=32), PROMPTS, tmp_path, 2).skipped == 6
    assert len(server.requests) == 6


def test_reply_without_image_is_paid_and_refused(server, tmp_path):
    encoded = base64.b64encode(draw_image(1)).decode()
    answers = [{"data": [{"b64_json": one}]} for one in (encoded[:50], "%%", None)]
    answers += [{"data": []}, {"data": None}, {"data": [{"url": "https://a.test/1.png"}]}]
    url = f"data:image/png;base64,{encoded}"
    answers += [{"data": [{name: url}]} for name in ("b64_json", "url")]
    replies, budget = iter(answers), Budget(price_call=0.04)
    server.answer = lambda body: next(replies)
    rows = [{"prompt_id": f"p-{n}", "prompt": "a cat"} for n in range(8)]
    summary = generate(connect(server, budget=budget), rows, tmp_path, 1)
    assert (summary.made, summary.refused, len(server.requests)) == (2, 6, 8)
    assert "the reply is a URL instead of the requested b64_json" in summary.last_refusal
    assert budget.ledger.spent == pytest.approx(0.32)


def test_timeout_ends_run_and_keeps_images(server, tmp_path):
    assert generate(connect(server), PROMPTS[:1], tmp_path, 1).made == 1
    server.faults = ["slow", "slow"]
    with pytest.raises(ServiceError):
        generate(connect(server, timeout=0.2, tries=2), PROMPTS, tmp_path, 1)
    assert len(list(tmp_path.rglob("*.png"))) == 1
    summary = generate(connect(server), PROMPTS, tmp_path, 1)
    assert (summary.made, summary.skipped) == (2, 1)


def test_omits_parameters_that_endpoint_refuses(server, tmp_path):
    server.faults = [(400, "Unknown parameter: 'response_format'."), (422, "extra field: seed")]
    generate(connect(server), PROMPTS[:2], tmp_path, 1)
    assert [("seed" in one, "response_format" in one) for one in server.requests] == [
        (True, True), (True, False), (False, False), (False, False)]  # fmt: skip
    assert read_metadata(tmp_path, "p-1/flux_0.png")["seed"] is None


def test_refused_prompt_does_not_stop_others(server, tmp_path, capsys):
    server.faults = [None, (400, "Your request was rejected by the safety system.")]
    summary = generate(connect(server), PROMPTS, tmp_path, 1)
    assert (summary.made, summary.refused) == (2, 1) and "safety system" in summary.last_refusal
    assert not (tmp_path / "images/p-1").exists()
    assert generate(connect(server), PROMPTS, tmp_path, 1).made == 1


def test_limits_calls_and_cost(server, tmp_path):
    server.faults = [429, None, 429]
    budget = Budget(max_calls=4, price_call=0.04)
    with pytest.raises(ServiceError):
        generate(connect(server, budget=budget), PROMPTS, tmp_path, 1)
    assert len(server.requests) == 4 and budget.ledger.spent == pytest.approx(0.08)
    assert len(list(tmp_path.rglob("*.png"))) == 2
    budget = Budget(max_cost=0.1, price_call=0.04)
    with pytest.raises(ServiceError, match=r"0\.12"):
        generate(connect(server, budget=budget), PROMPTS, tmp_path / "two", 1)
    assert len(server.requests) == 4  # nothing was requested
    assert generate(connect(server, budget=budget), PROMPTS, tmp_path, 1).made == 1
