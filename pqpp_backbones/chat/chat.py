"""Requests to a chat model, its replies, and their cost."""

import abc
import base64
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pqpp_backbones.chat.ledger import Ledger
from pqpp_backbones.errors import ServiceError
from pqpp_files.errors import PqppError
from pqpp_files.escape import escape_controls
from pqpp_files.foreign.images import open_image
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.hashes import hash_parts
from pqpp_files.options.recipe import build_recipe

CHARACTERS_A_TOKEN = 3.0
"""A conservative estimate, used before a reply reports the number of tokens."""
TOKENS_AN_IMAGE = 1500
DISCOUNT = 0.5
"""The price of a call in a batch, as a share of its usual price."""


@dataclass(frozen=True)
class Request:
    """A question to a chat model.

    Attributes:
        text: The question.
        image: An image to send with the question.
        schema: JSON schema of the reply; a service may ignore it.
        temperature: Sampling temperature; 0 chooses the most likely token.
        max_tokens: Maximum length of the reply.
        answers: Possible first words of the reply; their probabilities are requested.
    """

    text: str
    system: str = ""
    image: Any = None
    schema: dict | None = None
    seed: int = 0
    temperature: float = 0.0
    max_tokens: int = 2048
    answers: tuple[str, ...] = ()

    def to_body(self, model: str) -> dict[str, Any]:
        """Return the body of a request to OpenAI's chat completions."""
        content: Any = self.text
        if self.image is not None:
            content = [
                {"type": "image_url", "image_url": {"url": to_data_url(self.image)}},
                {"type": "text", "text": self.text},
            ]
        messages = [{"role": "system", "content": self.system}] if self.system else []
        body = {
            "model": model,
            "messages": [*messages, {"role": "user", "content": content}],
            "seed": self.seed,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        if self.answers:
            body |= {"logprobs": True, "top_logprobs": MAX_TOP_LOGPROBS}
        if self.schema is not None:
            form = {"name": "reply", "strict": True, "schema": self.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body


def to_data_url(image: Any) -> str:
    """Return a PIL image as a PNG data URL; transparent pixels become white."""
    buffer = io.BytesIO()
    open_image(image).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def hash_pixels(image: Any) -> str:
    """Return a hash of the size and pixels of a PIL image.

    Example:
        >>> from PIL import Image
        >>> len(hash_pixels(Image.new("RGB", (2, 2))))
        64
    """
    return hash_parts([f"{image.size}", image.tobytes()])


@dataclass(frozen=True)
class Reply:
    """A reply and its token counts.

    Attributes:
        probs: The probability of each of `Request.answers`; None if unknown.
        why: The reason why the reply has no text; empty if it has text.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    probs: dict[str, float] | None = None
    why: str = ""


class Chat(abc.ABC):
    """A chat model.

    Attributes:
        name: The model's name in results.
        budget: The limit on spending.
        url: The endpoint's address; empty for a local model.
        max_parallel: The number of parallel requests.
        batch: Whether `prepare` also fetches the replies, as a batch.
    """

    name: str
    budget: "Budget"
    url = ""
    max_parallel = 1
    batch = False

    def ask(self, request: Request) -> Reply:
        """Return the reply to a request, from the ledger if it is recorded there.

        Raises:
            ServiceError: All tries fail, the reply is empty, or the budget is exceeded.
        """
        ledger = self.budget.ledger
        fields = {"key": self.get_key(request)} if ledger.path else {}
        with ledger.lock():
            recorded = ledger.replies.get(fields.get("key", ""))
        try:
            reply = build_recipe(Reply, recorded) if recorded else None  # type: ignore[type-var]
        except (AttributeError, PqppError):
            raise ServiceError(f"{ledger.path}: a damaged reply; choose another `ledger`") from None
        reply = reply or self._send(request, fields)
        if reply.why:
            raise ServiceError(f"{self.name} returned no reply: {reply.why}", 200, reply.why)
        return reply

    def prepare(self, requests: Iterable[Request]) -> None:
        """Check that requests stay within the budget before any of them is sent.

        Requests with a reply in the ledger cost nothing.

        Raises:
            ServiceError: The calls may exceed the budget.
        """
        self.budget.check_calls(self.get_max_costs(requests))

    def get_max_costs(self, requests: Iterable[Request]) -> Iterator[float]:
        """Yield the maximum cost of each request without a reply in the ledger."""
        ledger = self.budget.ledger
        with ledger.lock():
            replies = set(ledger.replies)
        for request in requests:
            if not (replies and self.get_key(request) in replies):
                yield self.budget.get_max_cost(request, self.name) * (DISCOUNT if self.batch else 1)

    def get_key(self, request: Request) -> str:
        """Return a key that identifies a request, including the pixels of its image."""
        body = replace(request, image=None).to_body(self.name)
        pixels = "" if request.image is None else hash_pixels(open_image(request.image))
        return hash_parts([self.url, json.dumps(body), pixels])

    @abc.abstractmethod
    def _send(self, request: Request, fields: dict[str, str]) -> Reply:
        """Send a request, and record the call, its cost and `fields` in the ledger."""


@dataclass
class Budget:
    """A limit on the number and cost of calls, with a record of them.

    Args:
        max_calls: Maximum number of calls, including failed attempts; None for no limit.
        max_cost: Maximum cost; None for no limit.
        prices: Prices of a million input and output tokens by model; the key "" is for models that
            are not listed.
        price_call: The price of a call, whatever its number of tokens.
        ledger: The record of calls, including those of earlier runs.

    Example:
        >>> budget = Budget(max_calls=2)
        >>> budget.check_calls([0.0] * 3)
        Traceback (most recent call last):
        pqpp_backbones.errors.ServiceError: calls needed: 3, left: 2; raise ...
    """

    max_calls: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    price_call: float = 0.0
    ledger: Ledger = field(default_factory=Ledger, repr=False)

    def check_calls(self, max_costs: Iterable[float]) -> None:
        """Check that calls stay within the budget before any of them is made.

        Args:
            max_costs: Maximum cost of each call.

        Raises:
            ServiceError: The calls may exceed the budget.
        """
        if self.max_calls is None and self.max_cost is None:
            return
        costs = list(max_costs)
        with self.ledger.lock():
            self.check_total(len(costs), math.fsum(costs))

    def get_max_cost(self, request: Request, model: str = "") -> float:
        """Return the maximum cost of a request to a model."""
        return self.get_cost(model, _count_tokens(request), request.max_tokens)

    def get_cost(self, model: str, tokens_in: float, tokens_out: float) -> float:
        """Return the cost of a call from its token counts."""
        price_in, price_out = self.prices.get(model) or self.prices.get("", (0.0, 0.0))
        return self.price_call + (tokens_in * price_in + tokens_out * price_out) / 1e6

    def record_call(self, max_cost: float, **fields: str) -> int:
        """Record a call that is about to be made, and return its index in the ledger."""
        with self.ledger.lock():
            self.check_total(1, max_cost)
            return self.ledger.record_call(max_cost, **fields)

    def record_cost(self, call: int, request: Request, reply: Reply, model: str = "") -> None:
        """Record the cost of a call from its token counts, which are estimated if unknown.

        A reply without text and without a token count costs the maximum.
        """
        reported = reply.tokens_in, reply.tokens_out
        size = len(reply.text.encode("utf-8", "replace"))
        estimated = _count_tokens(request), size / CHARACTERS_A_TOKEN
        counts = [guess if n is None else n for n, guess in zip(reported, estimated, strict=True)]
        is_known = reply.text or reply.tokens_out is not None
        paid = self.get_cost(model, *counts) if is_known else self.get_max_cost(request, model)
        self.ledger.record_cost(call, paid, reply=asdict(reply))

    def describe_spending(self) -> str:
        """Describe all calls in the ledger, also of earlier runs, and their cost."""
        calls = f"{len(self.ledger.lines)} calls in all"
        has_prices = self.prices or self.price_call
        return f"{calls}, {self.ledger.spent:.4f} spent" if has_prices else calls

    def check_total(self, calls: int, cost: float) -> None:
        """Check that calls stay within the budget; the caller must have locked the ledger."""
        if self.max_calls is not None:
            remaining = self.max_calls - len(self.ledger.lines)
            if calls > remaining:
                fault = f"calls needed: {calls}, left: {remaining}"
                raise ServiceError(f"{fault}; raise `max_calls` (or PQPP_MAX_CALLS, if you set it)")
        if self.max_cost is not None:
            money = self.max_cost - self.ledger.spent
            if cost > money + 1e-12:
                fault = f"the calls may cost {cost:.4g}, but {money:.4g} is left"
                raise ServiceError(f"{fault}; raise `max_cost` (or PQPP_MAX_COST, if you set it)")


def _count_tokens(request: Request) -> float:
    text = request.text + request.system + (json.dumps(request.schema) if request.schema else "")
    # Scripts with three bytes per letter have about one token per letter.
    tokens = len(text.encode("utf-8", "replace")) / CHARACTERS_A_TOKEN
    return tokens + TOKENS_AN_IMAGE * (request.image is not None)


MAX_TOP_LOGPROBS = 20
"""The number of likeliest first tokens that are searched for an answer: the endpoints' limit."""


def sum_probs(tokens: Iterable[tuple[str, float]], answers: Sequence[str]) -> dict[str, float]:
    """Return the probability of each answer, summed over tokens that spell it, ignoring case.

    Args:
        tokens: The most likely first tokens, with the logarithms of their probabilities.
        answers: The answers in lower case.

    Example:
        >>> sum_probs([("Yes", math.log(0.6)), (" yes", math.log(0.1))], ("yes", "no"))
        {'yes': 0.7, 'no': 0.0}
    """
    probs = dict.fromkeys(answers, 0.0)
    for token, logarithm in tokens:
        word = token.strip(" ▁Ġ\n").casefold()
        if word in probs and math.isfinite(logarithm):
            probs[word] += math.exp(min(logarithm, 0.0))
    return {word: min(round(chance, 9), 1.0) for word, chance in probs.items()}


def strip_thinking(text: str) -> str:
    r"""Remove the model's thinking from a reply.

    Example:
        >>> strip_thinking("<think>A cat?</think>\n\nYes"), strip_thinking("<think>A cat")
        ('Yes', '<think>A cat')
    """
    return re.sub(r"^\s*<think>.*?</think>\s*", "", text, count=1, flags=re.DOTALL)


def read_completion(answers: Sequence[str], completion: Any) -> Reply:
    """Read the reply in a completion of OpenAI's API."""
    choice = (completion["choices"] or [{}])[0]
    message, usage = choice.get("message") or {}, completion.get("usage") or {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    tokens_in, tokens_out = (n if type(n) is int and 0 <= n < 2**53 else None for n in counts)
    content = message.get("content") or ""
    if not isinstance(content, str):  # a list of parts, some of them reasoning
        content = "".join(str(part.get("text") or "") for part in content)
    content, refusal = content.encode("utf-8", "replace").decode(), message.get("refusal")
    text = strip_thinking(content)
    if not text.strip():
        why = f"the message has no text ({choice.get('finish_reason') or 'no reason given'})"
        why = f"the model refused: {refusal}" if refusal else why
        return Reply("", tokens_in, tokens_out, None, escape_controls(why)[:200])
    try:  # present only if requested and supported
        tokens = choice["logprobs"]["content"] if answers else []
        start = next((n for n, one in enumerate(tokens) if "</think>" in one["token"]), -1) + 1
        # Blanks may separate the answer from the thinking.
        first = next(one for one in tokens[start:] if one["token"].strip() or not start)
        top = first["top_logprobs"]
        probs = top and sum_probs([(t["token"], float(t["logprob"])) for t in top], answers)
    except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError):
        probs = None
    return Reply(text, tokens_in, tokens_out, probs)


def parse_json_reply(text: str) -> Any:
    r"""Parse a reply as JSON; a fenced code block around it is allowed.

    Raises:
        ValueError: The reply is not JSON.

    Example:
        >>> parse_json_reply('```json\n{"a": 1}\n```')
        {'a': 1}
    """
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") : -3]
    return parse_json(text, "the reply", allow_nan=False)
