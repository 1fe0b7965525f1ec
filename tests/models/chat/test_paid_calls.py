"""Situations of paid calls: each cent is booked once, limits hold, nothing is paid twice."""

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

PRICES = {"": (1e4, 1e4)}  # a cent a token
USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
CENTS = 0.05
MOST = (len("Is it?") / 3 + 8) / 100  # what a call of QUESTION may cost
QUESTION = Request("Is it?", max_tokens=8, answers=("yes", "no"))


def said(content, usage=USAGE, tops=None, **more):
    choice = {"message": {"content": content, **more.pop("message", {})}, **more}
    if tops is not None:
        told = [{"token": one, "logprob": math.log(chance)} for one, chance in tops]
        choice["logprobs"] = {"content": [{"token": tops[0][0], "top_logprobs": told}]}
    return 200, {"choices": [choice], "usage": usage}


def stream(*parts):
    lines = [": hello", *(f"data: {json.dumps(part)}\n" for part in parts), "data: [DONE]\n"]
    return 200, "\n".join(lines).encode(), {"Content-Type": "text/event-stream"}


def delta(text, **more):
    return {"choices": [{"index": 0, "delta": {"content": text, **more}}]}


def error(status, message, headers=None, **more):
    return status, {"error": {"message": message, **more}}, headers or {}


DATE = formatdate(time() + 30, usegmt=True)
FINE, PACKED = said("yes"), {"Content-Encoding": "gzip"}
THINKS = [("<think>", 1.0)]
BEYOND = {"token": "yes", "top_logprobs": [{"token": "yes", "logprob": 10**400}]}
PARTS = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "yes"}]
# What comes, one a try; the text or the reason; what is paid in the end; and how many tries.
SITUATIONS = {
    "text": ([FINE], "yes", CENTS, 1),
    "no usage": ([said("yes", None)], "yes", (2 + 1) / 100, 1),
    "usage beyond numbers": ([said("yes", dict.fromkeys(USAGE, 10**400))], "yes", 3 / 100, 1),
    "chances beyond numbers": ([said("yes", logprobs={"content": [BEYOND]})], "yes", CENTS, 1),
    "parts": ([said(PARTS)], "yes", CENTS, 1),
    "half a character": ([said("yes\ud800")], "yes?", CENTS, 1),
    "null": ([said(None)], "!no text", CENTS, 1),
    "null, no usage": ([said(None, None)], "!no text", MOST, 1),
    "cut": ([said(None, finish_reason="length")], "!length", CENTS, 1),
    "refusal": ([said(None, message={"refusal": "I can't."})], "!I can't", CENTS, 1),
    "no choices": ([(200, {"choices": [], "usage": USAGE})], "!no text", CENTS, 1),
    "choices null": ([(200, {"choices": None})], "!no text", MOST, 1),
    "thinks, then says": ([said("<think>Hm?\n</think>\n\nyes")], "yes", CENTS, 1),
    "stream": ([stream(delta("y"), delta("es"), {"choices": [], "usage": USAGE})], "yes", CENTS, 1),
    "stream without usage": ([stream(delta("yes"))], "yes", (2 + 1) / 100, 1),
    "stream of nothing": ([stream()], "!no text", MOST, 1),
    "stream refuses": ([stream(delta(None, refusal="No."))], "!No.", MOST, 1),
    "busy": ([error(429, "slow down"), FINE], "yes", CENTS, 2),
    "retry after seconds": ([error(429, "", {"Retry-After": "7"}), FINE], "yes", CENTS, 2),
    "retry after part of one": ([error(429, "", {"Retry-After": "0.5"}), FINE], "yes", CENTS, 2),
    "retry after ms": ([error(429, "", {"Retry-After-Ms": "250"}), FINE], "yes", CENTS, 2),
    "retry after a date": ([error(503, "", {"Retry-After": DATE}), FINE], "yes", CENTS, 2),
    "unavailable for ever": ([error(503, "no")] * 4, "?status 503", 0.0, 4),
    "times out behind a gateway": ([error(524, "a timeout"), FINE], "yes", MOST + CENTS, 2),
    "gateway": ([error(504, "no"), error(502, "no"), FINE], "yes", 2 * MOST + CENTS, 3),
    "breaks": ([error(500, "oh"), FINE], "yes", MOST + CENTS, 2),
    "cut off": (["cut", FINE], "yes", MOST + CENTS, 2),
    "slow": (["slow", FINE], "yes", MOST + CENTS, 2),
    "slow for ever": (["slow"] * 4, "?no reply in", 4 * MOST, 4),
    "quota": ([error(429, "no money", code="insufficient_quota")], "?insufficient_quota", 0.0, 1),
    "wrong key": ([error(401, "no such key")], "?status 401", 0.0, 1),
    "policy": ([error(400, "no", code="content_policy_violation")], "!content_policy", 0.0, 1),
    "no JSON": ([(200, b"<html>Hello</html>")], "?not JSON", MOST, 1),
    "packed": ([(200, gzip.compress(b"{}"), PACKED)], "?not JSON", MOST, 1),
    "another page": ([(200, {"status": "ok"})], "?not a chat completion", MOST, 1),
    "an error with 200": ([(200, {"error": {"message": "upstream"}})], "?upstream", MOST, 1),
    "no other value": ([error(400, "bad input")], "?bad input", 0.0, 1),
}  # fmt: skip


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve_chat() as state:
        state.waits = []
        monkeypatch.setattr("time.sleep", state.waits.append)
        yield state


def opened(server, path=None, timeout=20.0, **limits):
    return Endpoint(
        server.url, "m", Budget(prices=PRICES, **limits, ledger=Ledger(path)), timeout=timeout
    )


def outcome(endpoint, request=QUESTION):
    try:
        return endpoint.ask(request).text
    except ServiceError as failure:
        return f"{'!' if failure.affects_one_request else '?'}{failure}"


@pytest.mark.filterwarnings("ignore:.*retrying without")
@pytest.mark.parametrize("name", SITUATIONS)
def test_books_each_call_once(server, tmp_path, name):
    replies, expected, paid, tries = SITUATIONS[name]
    server.faults, timeout = [*replies], 0.2 if name.startswith("slow") else 20
    one = opened(server, tmp_path / "ledger", timeout)
    found = outcome(one)
    assert found[0] == expected[0] and expected.lstrip("!?") in found
    assert len(server.asked) == tries and one.budget.ledger.spent == pytest.approx(paid)
    for _ in range(5):  # what was paid and answered is read, even where the answer holds nothing
        again = opened(server, tmp_path / "ledger")
        if expected[0] == "?" or name == "policy":
            assert again.budget.ledger.spent == 0.0
            with again.budget.ledger.lock():
                assert again.budget.ledger.spent == pytest.approx(paid)
        else:
            assert outcome(again) == found
    assert len(server.asked) == tries and again.budget.ledger.spent == pytest.approx(paid)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


def test_drops_refused_parameters_and_warns_once(server):
    refusals = [
        "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "'temperature' does not support 0 with this model.",
        "top_logprobs must be at most 5",
        "logprobs are not supported",
    ]
    server.faults = [*(error(400, one) for one in refusals), FINE, FINE]
    one = opened(server)
    with pytest.warns(UserWarning) as told:
        one.ask(QUESTION)
        one.ask(QUESTION)
    assert len([1 for each in told if "retrying without" in str(each.message)]) == 4
    assert server.asked[3]["top_logprobs"] == 5 and server.asked[0]["top_logprobs"] == 20
    for body in server.asked[4:]:
        assert body["max_completion_tokens"] == 8
        assert not {"max_tokens", "temperature", "logprobs", "top_logprobs"} & set(body)


def test_obeys_retry_after(server):
    for name, least, most in (("seconds", 7, 7), ("part of one", 0.5, 0.5), ("ms", 0.25, 0.25),
                              ("a date", 0, 31)):  # fmt: skip
        server.faults = [*SITUATIONS[f"retry after {name}"][0]]
        opened(server).ask(QUESTION)
        assert least <= server.waits[-1] <= most


def test_reads_probabilities_after_thinking(server):
    tops = [("Yes", 0.6), (" yes", 0.1), ("No", 0.2)]
    server.faults = [said("yes", tops=tops), said("<think>", tops=THINKS)]
    told = said("<think>a</think>\n\nyes", tops=THINKS)
    after = said("yes", tops=tops)[1]["choices"][0]["logprobs"]["content"]
    blank = [{"token": one, "top_logprobs": []} for one in ("a", "</think>", "\n\n")]
    told[1]["choices"][0]["logprobs"]["content"] += blank + after
    server.faults.append(told)
    one = opened(server)
    replies = [one.ask(QUESTION) for _ in range(3)]
    assert replies[0].probs == replies[2].probs == {"yes": pytest.approx(0.7), "no": 0.2}
    assert replies[1].probs == {"yes": 0.0, "no": 0.0} and replies[2].text == "yes"


def test_budget_survives_kills_and_resumes(server, tmp_path):
    path, paid = tmp_path / "ledger", []
    for run in range(6):
        one = opened(server, path, max_cost=1.0)
        for number in range(9):
            lost = number % 3 == run % 3
            before = len(server.asked)
            server.faults = [error(504, "lost after billing")] * 4 if lost else [FINE]
            outcome(one, Request(f"{number}", max_tokens=8))
            paid += [(1 / 9 + 8) / 100 if lost else CENTS] * (len(server.asked) - before)
        assert sum(paid) <= 1.0
        with path.open("ab") as file:
            file.write(b'{"call": 3')  # a kill has cut it
    assert sum(paid) > 0.9 and path.read_text().count('"reply"') == paid.count(CENTS)
    one = opened(server, path, max_cost=1.0)
    with pytest.raises(ServiceError, match="may cost"):
        one.ask(Request("new", max_tokens=99))
    path.write_text('{"call": 7, "paid": 1}\n')
    with pytest.raises(ServiceError, match="ledger, line 1: not an entry of a ledger"):
        opened(server, path).ask(QUESTION)


def test_plan_counts_only_its_cached_replies(server, tmp_path):
    one = opened(server, tmp_path / "ledger", max_calls=5)
    server.faults, mine = [FINE] * 3, [Request(f"mine {n}", max_tokens=8) for n in range(3)]
    for other in range(3):
        one.ask(Request(f"another job's {other}", max_tokens=8))
    with pytest.raises(ServiceError, match="calls needed: 3, left: 2"):
        one.prepare(mine)
    server.faults = [FINE]
    one.ask(mine[0])
    with pytest.raises(ServiceError, match="calls needed: 2, left: 1"):
        one.prepare(mine)
    one.prepare(mine[:2])


def test_shared_ledger_shares_budget(server, tmp_path):
    server.faults = [FINE] * 20
    several = [opened(server, tmp_path / "ledger", max_cost=0.55) for _ in range(2)]
    for number in range(20):
        outcome(several[number % 2], Request(str(number), max_tokens=2))
    assert len(server.asked) * CENTS <= 0.55 and len(server.asked) == 11


def batched(server, path, **limits):
    budget = Budget(prices=PRICES, **limits, ledger=Ledger(path))
    return Endpoint(server.url, "m", budget, batch=True)


def test_batch_costs_half_and_is_sent_once(server, tmp_path):
    server.faults = [FINE]
    server.answer = lambda body: said(body["messages"][0]["content"])
    one = batched(server, tmp_path / "ledger", max_cost=0.2)
    questions = [Request(f"{n}", max_tokens=2) for n in range(5)]
    one.prepare([*questions, questions[3]])
    assert [one.ask(question).text for question in questions] == ["yes", "1", "2", "3", "4"]
    assert one.budget.ledger.spent == pytest.approx(CENTS + 4 * CENTS / 2)
    batched(server, tmp_path / "ledger").prepare(questions)
    with pytest.raises(ServiceError, match="is left"):  # .01 is left
        one.prepare([Request(f"{n} more", max_tokens=9) for n in range(9)])
    assert len(server.asked) == 1 and len(server.batches) == 1


FOUR = [Request(f"{n}", max_tokens=2) for n in range(4)]


@pytest.mark.parametrize("died", ["create", "retrieve", "content"])
def test_resumes_batch_after_kill(server, tmp_path, monkeypatch, died):
    server.faults = [FINE]
    server.answer = lambda body: said("no")
    resource = openai.resources.Files if died == "content" else openai.resources.Batches

    def kill(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resource, died, kill)
        with pytest.raises(KeyboardInterrupt):
            batched(server, tmp_path / "ledger").prepare(FOUR)
    one = batched(server, tmp_path / "ledger")
    one.prepare(FOUR)
    assert [one.ask(question).text for question in FOUR] == ["yes", "no", "no", "no"]
    assert one.budget.ledger.spent == pytest.approx(CENTS + 3 * CENTS / 2)
    assert len(server.asked) == 1 and len(server.batches) == 1 and len(server.files) == 2


def test_bounds_batch_listing_and_ids(server, tmp_path, monkeypatch):
    listed = (Batch.model_construct(id=str(n), input_file_id=str(n)) for n in itertools.count())
    monkeypatch.setattr(openai.resources.Batches, "list", lambda *_, **__: listed)
    ended = {"id": "batch-0", "status": "completed", "output_file_id": "a" * 100_000}
    server.faults, server.look_at = [FINE], lambda name: ended
    with pytest.raises(ServiceError, match="cannot read the replies"):
        batched(server, tmp_path / "ledger").prepare(FOUR)


def test_resends_failed_batch_requests(server, tmp_path):
    server.faults = [error(400, "max_tokens is not supported"), FINE]
    sent = []

    def answer(body):
        sent.append(body)
        return error(500, "oh")[:2] if body["messages"][0]["content"] == "2" else said("no")

    server.answer = answer
    one = batched(server, tmp_path / "ledger")
    with pytest.warns(UserWarning, match="1 of 3 questions .*oh.*"):
        one.prepare(FOUR)
    assert all("max_completion_tokens" in body and "max_tokens" not in body for body in sent)
    assert one.budget.ledger.spent == pytest.approx(CENTS + 2 * CENTS / 2)
    server.faults = [FINE]
    assert [one.ask(question).text for question in FOUR] == ["yes", "no", "yes", "no"]
    server.answer = lambda body: error(400, "quota")[:2]
    server.faults, spent = [FINE], one.budget.ledger.spent
    with pytest.raises(ServiceError, match=r"no reply to 2 of 2 questions .*quota"):
        one.prepare([Request(f"{n} more", max_tokens=2) for n in range(3)])
    assert one.budget.ledger.spent == pytest.approx(spent + CENTS)
    server.answer, server.faults = lambda body: said("no"), [FINE]
    one.prepare([Request(f"{n} more", max_tokens=2) for n in range(3)])  # in a new batch
    assert len(server.batches) == 3 and len(server.asked) == 5


@pytest.mark.parametrize(("status", "paid"), [(504, 3 * MOST / 2), (400, 0.0)])
def test_uncertain_batch_counts_as_paid(server, tmp_path, monkeypatch, status, paid):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    server.faults = [FINE, error(status, "lost")]
    server.answer = lambda body: said("no")
    one = batched(server, tmp_path / "ledger")
    questions = [replace(QUESTION, seed=n) for n in range(4)]
    with pytest.raises(ServiceError, match=f"status {status}"):
        one.prepare(questions)
    assert len(server.batches) == 1 and one.budget.ledger.spent == pytest.approx(CENTS + paid)
    assert all("organization" not in name.lower() for name in server.names)
    if status == 504:
        batched(server, tmp_path / "ledger").prepare(questions)
        assert len(server.batches) == 1 and len(server.asked) == 1


def test_invalid_batch_reply_is_paid(server, tmp_path):
    server.faults = [FINE]
    server.answer = lambda body: (200, {"choices": 7}) if body["seed"] == 2 else said("no")
    one, questions = batched(server, tmp_path / "x"), [replace(QUESTION, seed=n) for n in range(4)]
    one.prepare(questions)
    assert one.budget.ledger.spent == pytest.approx(CENTS + 2 * CENTS / 2 + MOST / 2)
    with pytest.raises(ServiceError, match="no chat completion"):
        one.ask(questions[2])


def test_limits_size_of_batch_replies(server, tmp_path, monkeypatch):
    server.faults, server.answer = [FINE], lambda body: said("no" * 9999)
    monkeypatch.setattr("pqpp_backbones.chat.batch._LARGEST", 20_000)
    with pytest.raises(ServiceError, match="the reply is too large"):
        batched(server, tmp_path / "ledger").prepare(FOUR)
