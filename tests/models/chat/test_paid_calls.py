"""Paid calls: bookkeeping, budgets, retries and batches."""

import gzip
import itertools
import json
import math
from dataclasses import replace
from email.utils import formatdate
from time import time

import pytest
from openai.types import Batch

pytest.importorskip("openai", reason="a chat endpoint needs pqpp[chat]")

import openai
from support.chat_server import serve_chat

from pqpp_backbones.chat.chat import Budget, Request
from pqpp_backbones.chat.ledger import Ledger
from pqpp_backbones.chat.models import Endpoint
from pqpp_backbones.errors import ServiceError

PRICES = {"": (1e4, 1e4)}  # one cent per token
USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
COST = 0.05
CAP = (len("Is it?") / 3 + 8) / 100  # the highest cost of QUESTION
QUESTION = Request("Is it?", max_tokens=8, answers=("yes", "no"))


def say(content, usage=USAGE, tops=None, **fields):
    choice = {"message": {"content": content, **fields.pop("message", {})}, **fields}
    if tops is not None:
        alternatives = [{"token": one, "logprob": math.log(chance)} for one, chance in tops]
        choice["logprobs"] = {"content": [{"token": tops[0][0], "top_logprobs": alternatives}]}
    return 200, {"choices": [choice], "usage": usage}


def stream(*parts):
    lines = [": hello", *(f"data: {json.dumps(part)}\n" for part in parts), "data: [DONE]\n"]
    return 200, "\n".join(lines).encode(), {"Content-Type": "text/event-stream"}


def delta(text, **fields):
    return {"choices": [{"index": 0, "delta": {"content": text, **fields}}]}


def error(status, message, headers=None, **fields):
    return status, {"error": {"message": message, **fields}}, headers or {}


DATE = formatdate(time() + 30, usegmt=True)
FINE, PACKED = say("yes"), {"Content-Encoding": "gzip"}
THINKS = [("<think>", 1.0)]
BEYOND = {"token": "yes", "top_logprobs": [{"token": "yes", "logprob": 10**400}]}
PARTS = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "yes"}]
# One reply per try; the text or the error (! or ?); the total cost; and the number of tries.
SITUATIONS = {
    "text": ([FINE], "yes", COST, 1),
    "no usage": ([say("yes", None)], "yes", (2 + 1) / 100, 1),
    "usage beyond numbers": ([say("yes", dict.fromkeys(USAGE, 10**400))], "yes", 3 / 100, 1),
    "chances beyond numbers": ([say("yes", logprobs={"content": [BEYOND]})], "yes", COST, 1),
    "parts": ([say(PARTS)], "yes", COST, 1),
    "half a character": ([say("yes\ud800")], "yes?", COST, 1),
    "null": ([say(None)], "!no text", COST, 1),
    "null, no usage": ([say(None, None)], "!no text", CAP, 1),
    "cut": ([say(None, finish_reason="length")], "!length", COST, 1),
    "refusal": ([say(None, message={"refusal": "I can't."})], "!I can't", COST, 1),
    "no choices": ([(200, {"choices": [], "usage": USAGE})], "!no text", COST, 1),
    "choices null": ([(200, {"choices": None})], "!no text", CAP, 1),
    "thinks, then says": ([say("<think>Hm?\n</think>\n\nyes")], "yes", COST, 1),
    "stream": ([stream(delta("y"), delta("es"), {"choices": [], "usage": USAGE})], "yes", COST, 1),
    "stream without usage": ([stream(delta("yes"))], "yes", (2 + 1) / 100, 1),
    "stream of nothing": ([stream()], "!no text", CAP, 1),
    "stream refuses": ([stream(delta(None, refusal="No."))], "!No.", CAP, 1),
    "busy": ([error(429, "slow down"), FINE], "yes", COST, 2),
    "retry after seconds": ([error(429, "", {"Retry-After": "7"}), FINE], "yes", COST, 2),
    "retry after part of one": ([error(429, "", {"Retry-After": "0.5"}), FINE], "yes", COST, 2),
    "retry after ms": ([error(429, "", {"Retry-After-Ms": "250"}), FINE], "yes", COST, 2),
    "retry after a date": ([error(503, "", {"Retry-After": DATE}), FINE], "yes", COST, 2),
    "unavailable for ever": ([error(503, "no")] * 4, "?status 503", 0.0, 4),
    "times out behind a gateway": ([error(524, "a timeout"), FINE], "yes", CAP + COST, 2),
    "gateway": ([error(504, "no"), error(502, "no"), FINE], "yes", 2 * CAP + COST, 3),
    "breaks": ([error(500, "oh"), FINE], "yes", CAP + COST, 2),
    "cut off": (["cut", FINE], "yes", CAP + COST, 2),
    "slow": (["slow", FINE], "yes", CAP + COST, 2),
    "slow for ever": (["slow"] * 4, "?no reply in", 4 * CAP, 4),
    "quota": ([error(429, "no money", code="insufficient_quota")], "?insufficient_quota", 0.0, 1),
    "wrong key": ([error(401, "no such key")], "?status 401", 0.0, 1),
    "policy": ([error(400, "no", code="content_policy_violation")], "!content_policy", 0.0, 1),
    "no JSON": ([(200, b"<html>Hello</html>")], "?not JSON", CAP, 1),
    "packed": ([(200, gzip.compress(b"{}"), PACKED)], "?not JSON", CAP, 1),
    "another page": ([(200, {"status": "ok"})], "?not a chat completion", CAP, 1),
    "an error with 200": ([(200, {"error": {"message": "upstream"}})], "?upstream", CAP, 1),
    "no other value": ([error(400, "bad input")], "?bad input", 0.0, 1),
}  # fmt: skip


@pytest.fixture
def server(monkeypatch):
    with serve_chat() as state:
        state.waits = []
        monkeypatch.setattr("time.sleep", state.waits.append)
        yield state


def connect(server, path=None, timeout=20.0, batch=False, **limits):
    budget = Budget(prices=PRICES, **limits, ledger=Ledger(path))
    return Endpoint(server.url, "m", budget, timeout=timeout, batch=batch)


def get_outcome(endpoint, request=QUESTION):
    try:
        return endpoint.ask(request).text
    except ServiceError as failure:
        return f"{'!' if failure.affects_one_request else '?'}{failure}"


@pytest.mark.filterwarnings("ignore:.*retrying without")
@pytest.mark.parametrize("name", SITUATIONS)
def test_books_each_call_once(server, tmp_path, name):
    replies, expected, paid, tries = SITUATIONS[name]
    server.faults, timeout = [*replies], 0.2 if name.startswith("slow") else 20
    one = connect(server, tmp_path / "ledger", timeout)
    result = get_outcome(one)
    assert result[0] == expected[0] and expected.lstrip("!?") in result
    assert len(server.requests) == tries and one.budget.ledger.spent == pytest.approx(paid)
    for _ in range(5):  # a paid reply is read from the ledger, even if it has no text
        reopened = connect(server, tmp_path / "ledger")
        if expected[0] == "?" or name == "policy":
            assert reopened.budget.ledger.spent == 0.0
            with reopened.budget.ledger.lock():
                assert reopened.budget.ledger.spent == pytest.approx(paid)
        else:
            assert get_outcome(reopened) == result
    assert len(server.requests) == tries and reopened.budget.ledger.spent == pytest.approx(paid)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


def test_drops_refused_parameters_and_warns_once(server):
    refusals = [
        "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "'temperature' does not support 0 with this model.",
        "top_logprobs must be at most 5",
        "logprobs are not supported",
    ]
    server.faults = [*(error(400, one) for one in refusals), FINE, FINE]
    one = connect(server)
    with pytest.warns(UserWarning) as warned:
        one.ask(QUESTION)
        one.ask(QUESTION)
    assert len([1 for warning in warned if "retrying without" in str(warning.message)]) == 4
    assert server.requests[3]["top_logprobs"] == 5 and server.requests[0]["top_logprobs"] == 20
    for body in server.requests[4:]:
        assert body["max_completion_tokens"] == 8
        assert not {"max_tokens", "temperature", "logprobs", "top_logprobs"} & set(body)


def test_obeys_retry_after(server):
    for name, low, high in (("seconds", 7, 7), ("part of one", 0.5, 0.5), ("ms", 0.25, 0.25),
                              ("a date", 0, 31)):  # fmt: skip
        server.faults = [*SITUATIONS[f"retry after {name}"][0]]
        connect(server).ask(QUESTION)
        assert low <= server.waits[-1] <= high


def test_reads_probabilities_after_thinking(server):
    tops = [("Yes", 0.6), (" yes", 0.1), ("No", 0.2)]
    server.faults = [say("yes", tops=tops), say("<think>", tops=THINKS)]
    reply = say("<think>a</think>\n\nyes", tops=THINKS)
    after = say("yes", tops=tops)[1]["choices"][0]["logprobs"]["content"]
    blank = [{"token": one, "top_logprobs": []} for one in ("a", "</think>", "\n\n")]
    reply[1]["choices"][0]["logprobs"]["content"] += blank + after
    server.faults.append(reply)
    one = connect(server)
    replies = [one.ask(QUESTION) for _ in range(3)]
    assert replies[0].probs == replies[2].probs == {"yes": pytest.approx(0.7), "no": 0.2}
    assert replies[1].probs == {"yes": 0.0, "no": 0.0} and replies[2].text == "yes"


def test_budget_survives_kills_and_resumes(server, tmp_path):
    path, paid = tmp_path / "ledger", []
    for run in range(6):
        one = connect(server, path, max_cost=1.0)
        for number in range(9):
            lost = number % 3 == run % 3
            before = len(server.requests)
            server.faults = [error(504, "lost after billing")] * 4 if lost else [FINE]
            get_outcome(one, Request(f"{number}", max_tokens=8))
            paid += [(1 / 9 + 8) / 100 if lost else COST] * (len(server.requests) - before)
        assert sum(paid) <= 1.0
        with path.open("ab") as file:
            file.write(b'{"call": 3')  # truncated by a kill
    assert sum(paid) > 0.9 and path.read_text().count('"reply"') == paid.count(COST)
    one = connect(server, path, max_cost=1.0)
    with pytest.raises(ServiceError, match="may cost"):
        one.ask(Request("new", max_tokens=99))
    path.write_text('{"call": 7, "paid": 1}\n')
    with pytest.raises(ServiceError, match="ledger, line 1: not an entry of a ledger"):
        connect(server, path).ask(QUESTION)


@pytest.mark.parametrize("reply", [5, [1], {"tezt": "yes"}, {"text": 5}, {"text": "a", "probs": 5}])
def test_damaged_reply_in_ledger_is_refused(server, tmp_path, reply):
    path = tmp_path / "ledger"
    server.faults = [FINE]
    assert connect(server, path).ask(QUESTION).text == connect(server, path).ask(QUESTION).text
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[-1]["reply"] = reply
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ServiceError, match="ledger: a damaged reply"):
        connect(server, path).ask(QUESTION)


def test_plan_counts_only_its_cached_replies(server, tmp_path):
    one = connect(server, tmp_path / "ledger", max_calls=5)
    server.faults, requests = [FINE] * 3, [Request(f"mine {n}", max_tokens=8) for n in range(3)]
    for other in range(3):
        one.ask(Request(f"another job's {other}", max_tokens=8))
    with pytest.raises(ServiceError, match="calls needed: 3, left: 2"):
        one.prepare(requests)
    server.faults = [FINE]
    one.ask(requests[0])
    with pytest.raises(ServiceError, match="calls needed: 2, left: 1"):
        one.prepare(requests)
    one.prepare(requests[:2])


def test_shared_ledger_shares_budget(server, tmp_path):
    server.faults = [FINE] * 20
    several = [connect(server, tmp_path / "ledger", max_cost=0.55) for _ in range(2)]
    for number in range(20):
        get_outcome(several[number % 2], Request(str(number), max_tokens=2))
    assert len(server.requests) * COST <= 0.55 and len(server.requests) == 11


def test_batch_costs_half_and_is_sent_once(server, tmp_path):
    server.faults = [FINE]
    server.answer = lambda body: say(body["messages"][0]["content"])
    one = connect(server, tmp_path / "ledger", batch=True, max_cost=0.2)
    questions = [Request(f"{n}", max_tokens=2) for n in range(5)]
    one.prepare([*questions, questions[3]])
    assert [one.ask(question).text for question in questions] == ["yes", "1", "2", "3", "4"]
    assert one.budget.ledger.spent == pytest.approx(COST + 4 * COST / 2)
    connect(server, tmp_path / "ledger", batch=True).prepare(questions)
    with pytest.raises(ServiceError, match="is left"):  # a cent is left
        one.prepare([Request(f"{n} more", max_tokens=9) for n in range(9)])
    assert len(server.requests) == 1 and len(server.batches) == 1


QUESTIONS = [Request(f"{n}", max_tokens=2) for n in range(4)]


@pytest.mark.parametrize("died", ["create", "retrieve", "content"])
def test_resumes_batch_after_kill(server, tmp_path, monkeypatch, died):
    server.faults = [FINE]
    server.answer = lambda body: say("no")
    resource = openai.resources.Files if died == "content" else openai.resources.Batches

    def kill(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resource, died, kill)
        with pytest.raises(KeyboardInterrupt):
            connect(server, tmp_path / "ledger", batch=True).prepare(QUESTIONS)
    one = connect(server, tmp_path / "ledger", batch=True)
    one.prepare(QUESTIONS)
    assert [one.ask(question).text for question in QUESTIONS] == ["yes", "no", "no", "no"]
    assert one.budget.ledger.spent == pytest.approx(COST + 3 * COST / 2)
    assert len(server.requests) == 1 and len(server.batches) == 1 and len(server.files) == 2


def test_bounds_batch_listing_and_ids(server, tmp_path, monkeypatch):
    listed = (Batch.model_construct(id=str(n), input_file_id=str(n)) for n in itertools.count())
    monkeypatch.setattr(openai.resources.Batches, "list", lambda *_, **__: listed)
    ended = {"id": "batch-0", "status": "completed", "output_file_id": "a" * 100_000}
    server.faults, server.advance_batch = [FINE], lambda name: ended
    with pytest.raises(ServiceError, match="cannot read the replies"):
        connect(server, tmp_path / "ledger", batch=True).prepare(QUESTIONS)


def test_resends_failed_batch_requests(server, tmp_path):
    server.faults = [error(400, "max_tokens is not supported"), FINE]
    sent = []

    def answer(body):
        sent.append(body)
        return error(500, "oh")[:2] if body["messages"][0]["content"] == "2" else say("no")

    server.answer = answer
    one = connect(server, tmp_path / "ledger", batch=True)
    with pytest.warns(UserWarning, match="1 of 3 questions .*oh.*"):
        one.prepare(QUESTIONS)
    assert all("max_completion_tokens" in body and "max_tokens" not in body for body in sent)
    assert one.budget.ledger.spent == pytest.approx(COST + 2 * COST / 2)
    server.faults = [FINE]
    assert [one.ask(question).text for question in QUESTIONS] == ["yes", "no", "yes", "no"]
    server.answer = lambda body: error(400, "quota")[:2]
    server.faults, spent = [FINE], one.budget.ledger.spent
    with pytest.raises(ServiceError, match=r"no reply to 2 of 2 questions .*quota"):
        one.prepare([Request(f"{n} more", max_tokens=2) for n in range(3)])
    assert one.budget.ledger.spent == pytest.approx(spent + COST)
    server.answer, server.faults = lambda body: say("no"), [FINE]
    one.prepare([Request(f"{n} more", max_tokens=2) for n in range(3)])  # in a new batch
    assert len(server.batches) == 3 and len(server.requests) == 5


@pytest.mark.parametrize(("status", "paid"), [(504, 3 * CAP / 2), (400, 0.0)])
def test_uncertain_batch_counts_as_paid(server, tmp_path, monkeypatch, status, paid):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    server.faults = [FINE, error(status, "lost")]
    server.answer = lambda body: say("no")
    one = connect(server, tmp_path / "ledger", batch=True)
    questions = [replace(QUESTION, seed=n) for n in range(4)]
    with pytest.raises(ServiceError, match=f"status {status}"):
        one.prepare(questions)
    assert len(server.batches) == 1 and one.budget.ledger.spent == pytest.approx(COST + paid)
    assert all("organization" not in name.lower() for name in server.header_names)
    if status == 504:
        connect(server, tmp_path / "ledger", batch=True).prepare(questions)
        assert len(server.batches) == 1 and len(server.requests) == 1


def test_invalid_batch_reply_is_paid(server, tmp_path):
    server.faults = [FINE]
    server.answer = lambda body: (200, {"choices": 7}) if body["seed"] == 2 else say("no")
    one = connect(server, tmp_path / "x", batch=True)
    one.prepare(questions := [replace(QUESTION, seed=n) for n in range(4)])
    assert one.budget.ledger.spent == pytest.approx(COST + 2 * COST / 2 + CAP / 2)
    with pytest.raises(ServiceError, match="no chat completion"):
        one.ask(questions[2])


def test_limits_size_of_batch_replies(server, tmp_path, monkeypatch):
    server.faults, server.answer = [FINE], lambda body: say("no" * 9999)
    monkeypatch.setattr("pqpp_backbones.chat.batch._LARGEST", 20_000)
    with pytest.raises(ServiceError, match="the reply is too large"):
        connect(server, tmp_path / "ledger", batch=True).prepare(QUESTIONS)
