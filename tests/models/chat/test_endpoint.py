"""Chat endpoints: requests, malformed and endless replies, refusals and the API key."""

import logging

import pytest

pytest.importorskip("openai", reason="a chat endpoint needs pqpp[chat]")

from support.chat_server import make_reply, serve_chat

from pqpp_backbones.chat.chat import Request, to_data_url
from pqpp_backbones.chat.models import KEY, Endpoint
from pqpp_backbones.errors import ServiceError

SECRET = "sk-very-secret"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv(KEY, SECRET)
    with serve_chat(answer=lambda body: "fine") as state:
        yield state


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    waits = []
    monkeypatch.setattr("time.sleep", waits.append)
    return waits


def connect(server, **options):
    return Endpoint(server.url, "some-model", **{"timeout": 20, **options})


def test_sends_request_and_reads_reply(server):
    from PIL import Image

    schema = {"type": "object"}
    request = Request("Hi", "Be kind", Image.new("L", (2, 2)), schema, 7, 0.5, 50)
    reply = connect(server).ask(request)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("fine", 100, 10)
    (body,) = server.requests
    assert body["messages"][0] == {"role": "system", "content": "Be kind"}
    picture, text = body["messages"][1]["content"]
    clear = Image.new("RGBA", (2, 2), (0, 0, 0, 0))
    assert to_data_url(clear) == to_data_url(Image.new("RGB", (2, 2), "white"))
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert text == {"type": "text", "text": "Hi"}
    assert (body["seed"], body["temperature"], body["max_tokens"]) == (7, 0.5, 50)
    assert body["response_format"]["json_schema"]["schema"] == schema
    assert server.authorizations == [f"Bearer {SECRET}"]


def test_cuts_off_endless_replies(server, waits):
    server.faults = ["endless", "endless"]
    assert connect(server).ask(Request("Hi")).text == "fine"
    assert len(waits) == 2 and len(server.requests) == 3


def test_masks_key_in_malformed_replies(server):
    headers = {"X-Odd": "\xff", "Content-Type": "text/plain; charset=base64"}
    server.faults = [(200, make_reply(f"your key is {SECRET}"), headers), (200, b"data: {}\n\n")]
    assert connect(server).ask(Request("Hi")).text == "your key is ***"
    with pytest.raises(ServiceError, match="not JSON"):
        connect(server).ask(Request("Hi"))


@pytest.mark.parametrize("status", [400, 401, 404, 302])
def test_refusal_is_one_line_without_key(server, status, caplog):
    server.faults = [status]
    with caplog.at_level(logging.DEBUG), pytest.raises(ServiceError) as caught:
        connect(server).ask(Request("Hi"))
    message = str(caught.value)
    assert f"status {status}, refused Bearer ***" in message and "\n" not in message
    assert len(server.requests) == 1 and SECRET not in message + caplog.text + repr(connect(server))
