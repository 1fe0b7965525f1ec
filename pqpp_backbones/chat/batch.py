"""Requests to OpenAI's batch API, which replies within a day at half the price."""

import contextlib
import itertools
import json
import tempfile
import time
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import httpx2
import openai
from tqdm import tqdm

from pqpp_backbones.chat.chat import DISCOUNT, Reply, Request, parse_json_reply, read_completion
from pqpp_backbones.chat.models import Endpoint
from pqpp_backbones.chat.service import UNBILLED, BoundedClient
from pqpp_backbones.errors import ServiceError
from pqpp_files.escape import escape_controls
from pqpp_files.foreign.json_values import parse_json

_PATH: Any = "/v1/chat/completions"
_MAX_LINES, _MAX_BYTES = 50_000, 100_000_000  # per uploaded file
_LARGEST, _MAX_BATCHES = 2_000_000_000, 10_000  # bytes of a file of replies, and batches
_POLL_SECONDS = 30.0  # between two status requests
_FINAL_STATUSES = ("completed", "failed", "expired", "cancelled")


def fetch_replies(chat: Endpoint, requests: Iterable[Request]) -> None:
    """Fetch the replies to all requests as batches, and record them in the ledger.

    The first request is sent alone, at the full price, to learn which parameters the service
    refuses. A run that was stopped continues with the batches that the ledger records. Requests
    that fail in a batch cost nothing, and the ledger has no reply to them.

    Args:
        chat: The endpoint, whose ledger must be a file.
        requests: The requests; those with a reply in the ledger are skipped.

    Raises:
        ServiceError: The requests may exceed the budget, or the service refuses them.
    """
    budget, ledger, service = chat.budget, chat.budget.ledger, chat.service
    with ledger.lock():
        known = {line["key"] for line in ledger.lines if _is_pending(line)} | set(ledger.replies)
    max_costs, answers = dict[str, float](), dict[str, tuple[str, ...]]()
    first = None
    with tempfile.TemporaryFile() as spool:
        for request in requests:
            key = chat.get_key(request)
            if key not in answers and key not in known:
                price = budget.get_max_cost(request, chat.name)
                max_costs[key] = price * DISCOUNT if first else price
                first = first or request
                line = {"method": "POST", "url": _PATH, "body": request.to_body(chat.name)}
                spool.write(json.dumps({"custom_id": key, **line}).encode() + b"\n")
            answers[key] = request.answers
        budget.check_calls(max_costs.values())
        if first:
            try:
                chat.ask(first)
            except ServiceError as error:
                if not error.affects_one_request:
                    raise
            del max_costs[chat.get_key(first)]
        spool.seek(0)
        try:
            with BoundedClient(service.timeout, _LARGEST) as http:
                client = service.client.with_options(http_client=http)
                _upload_requests(chat, client, spool, max_costs)
                _collect_replies(chat, client, answers)
        except openai.APIError as error:
            refusal = service.make_error(error, chat.name)
            if refusal.status in (404, 405):
                raise ServiceError(f"{chat.url} does not accept batches; remove `batch`") from None
            raise refusal from None
        except ServiceError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, httpx2.InvalidURL):
            raise ServiceError(f"{chat.url}: cannot read the replies; check the address") from None


def _is_pending(line: Mapping[str, Any]) -> bool:
    return "file" in line and "paid" not in line


def _upload_requests(chat: Endpoint, client: Any, spool: Any, costs: Mapping[str, float]) -> None:
    """Upload the requests in files, and record one call per request."""
    data, keys = bytearray(), list[str]()
    for raw in itertools.chain(spool, [b""]):
        line = parse_json(raw or b"{}", "a question")
        if line.get("custom_id") in costs:
            line["body"] = chat.service.drop_refused_parameters(line["body"])
            data += json.dumps(line).encode() + b"\n"
            keys.append(line["custom_id"])
        if keys and (not raw or len(keys) == _MAX_LINES or len(data) > _MAX_BYTES):
            file = client.files.create(file=("questions.jsonl", bytes(data)), purpose="batch").id
            ledger = chat.budget.ledger
            with ledger.lock():
                pending = {line["key"] for line in ledger.lines if _is_pending(line)}
                if not pending.union(ledger.replies).issuperset(keys):  # another process sent some
                    chat.budget.check_total(len(keys), sum(costs[key] for key in keys))
                    for key in keys:
                        ledger.record_call(costs[key], key=key, file=file)
            data, keys = bytearray(), []


def _collect_replies(chat: Endpoint, client: Any, answers: Mapping[str, tuple[str, ...]]) -> None:
    """Start a batch for each uploaded file, wait for it, and record the replies and costs."""
    ledger, files = chat.budget.ledger, dict[str, dict[str, int]]()
    with ledger.lock():  # so that another run does not start them too
        for call, line in enumerate(ledger.lines):
            if _is_pending(line) and line["key"] in answers:
                files.setdefault(line["file"], {})[line["key"]] = call
        batches, refusal = _start_batches(client, files)
    if refusal:
        for file in files.keys() - batches.keys() if refusal.status_code in UNBILLED else ():
            for call in files[file].values():
                ledger.record_cost(call, 0.0)
        raise refusal
    for file, calls in files.items():
        count, label = len(calls), escape_controls(f"batch {batches[file]}")
        with tqdm(desc=label, total=count, disable=None) as bar:
            while (batch := client.batches.retrieve(batches[file])).status not in _FINAL_STATUSES:
                bar.update(getattr(batch.request_counts, "completed", 0) - bar.n)
                time.sleep(_POLL_SECONDS)
        reason = _record_replies(chat, client, batch, calls, answers)
        for call in calls.values():
            ledger.record_cost(call, 0.0)
        if calls:
            fault = f"batch {batch.id} ({batch.status}) has no reply to {len(calls)} of {count}"
            fault = f"{chat.url}: {escape_controls(f'{fault} questions ({reason[:200]})')}; "
            if len(calls) == count:
                raise ServiceError(f"{fault}try again later, or remove `batch`")
            warnings.warn(f"{fault}sending those questions one by one at full price", stacklevel=2)


def _start_batches(
    client: Any, files: Collection[str]
) -> tuple[dict[str, str], openai.APIStatusError | None]:
    """Start the batches that the service does not list yet.

    Returns:
        The batch of each file, and the refusal that stopped the start of further ones.
    """
    batches = dict[str, str]()
    known = client.batches.list(limit=100) if files else ()
    for batch in itertools.islice(known, _MAX_BATCHES):
        if batch.id in batches.values():  # the service repeats its first page
            break
        batches[batch.input_file_id] = batch.id
    create = client.with_options(max_retries=0).batches.create  # a retry could create another
    try:
        for file in [file for file in files if file not in batches]:
            options = {"input_file_id": file, "endpoint": _PATH, "completion_window": "24h"}
            batches[file] = create(**options).id
    except openai.APIStatusError as error:
        return batches, error
    return batches, None


def _record_replies(
    chat: Endpoint,
    client: Any,
    batch: Any,
    calls: dict[str, int],
    answers: Mapping[str, tuple[str, ...]],
) -> str:
    """Record a batch's replies, remove their calls from `calls`, and return why others failed."""
    ledger, reason = chat.budget.ledger, str(batch.errors or "")
    for name in filter(None, (batch.output_file_id, batch.error_file_id)):
        for text in filter(str.strip, client.files.content(name).text.split("\n")):
            line = parse_json_reply(chat.service.hide_key(text))
            key, response = line["custom_id"], line.get("response") or {}
            if response.get("status_code") != 200:
                reason = str(response.get("body") or line.get("error"))
            elif key in calls:
                call, reply = calls.pop(key), Reply("", why="the body is no chat completion")
                paid = ledger.lines[call]["most"]
                with contextlib.suppress(TypeError, KeyError, AttributeError):
                    reply = read_completion(answers[key], response["body"])
                if reply.tokens_in is not None and reply.tokens_out is not None:
                    paid = chat.budget.get_cost(chat.name, reply.tokens_in, reply.tokens_out)
                    paid *= DISCOUNT
                ledger.record_cost(call, paid, reply=asdict(reply))
    return reason
