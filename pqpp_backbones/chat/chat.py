"""What is asked of a model that chats, what it replies, and what that may cost."""

import abc
import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pqpp_backbones.errors import ServiceError
from pqpp_files.foreign.json_values import no_constant, parse_json

CHARACTERS_A_TOKEN = 3.0
"""A careful guess, used before a reply tells how many tokens there were."""
TOKENS_AN_IMAGE = 1500


@dataclass(frozen=True)
class Request:
    """One question.

    Attributes:
        text: What is asked.
        system: What the model is told first.
        image: An image of PIL that the question is about.
        schema: JSON schema of the reply, sent to endpoints that hold to it; check it anyway.
        seed: Of the sampling.
        temperature: Of the sampling; 0 takes the likeliest.
        most_tokens: Of the reply.
        answers: Words whose probabilities as the reply's first one are wanted.
    """

    text: str
    system: str = ""
    image: Any = None
    schema: dict | None = None
    seed: int = 0
    temperature: float = 0.0
    most_tokens: int = 2048
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """What came back, with the tokens of question and reply where they were told.

    Attributes:
        chances: The probability of each of `Request.answers`; None where they are not told.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    chances: dict[str, float] | None = None


class Chat(abc.ABC):
    """A model that chats.

    Attributes:
        name: The model's name, as it is kept with results.
        budget: What may be spent.
    """

    name: str
    budget: "Budget"

    @abc.abstractmethod
    def ask(self, request: Request) -> Reply:
        """Return the reply to one question.

        Raises:
            ServiceError: There is none, after all tries, or the limit is reached.
        """


@dataclass
class Budget:
    """A limit on calls and on money, and what was spent of it.

    Args:
        most_calls: How many calls are allowed, tries that fail among them; None for any number.
        most_money: How much money; None for any sum.
        price_in: Money a million tokens of questions.
        price_out: Money a million tokens of replies.
        price_call: Money a call, whatever is said; that of an image where calls make images.

    Example:
        >>> budget = Budget(most_calls=2)
        >>> budget.plan(3)
        Traceback (most recent call last):
        pqpp_backbones.errors.ServiceError: 3 calls are needed, 2 are allowed; allow more, or ...
    """

    most_calls: int | None = None
    most_money: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0
    price_call: float = 0.0
    calls: int = 0
    money: float = 0.0
    started: float = field(default_factory=time.perf_counter, repr=False)

    def plan(self, calls: int, request: Request | None = None) -> None:
        """Raise before the start if calls would cost more than is left.

        Args:
            calls: How many are planned; tries that fail come on top.
            request: One like them, for the money.

        Raises:
            ServiceError: They would.
        """
        remedy = "allow more, or ask for fewer images or votes"
        left = math.inf if self.most_calls is None else self.most_calls - self.calls
        if calls > left:
            raise ServiceError(f"{calls} calls are needed, {left} are allowed; {remedy}")
        if self.most_money is None:
            return
        price, left = self.price_call, self.most_money - self.money
        if request is not None:
            cost = _tokens(request) * self.price_in + request.most_tokens * self.price_out
            price += cost / 1e6
        needed = calls * price
        if needed > left:
            raise ServiceError(
                f"{calls} calls may cost {needed:.4g}, {left:.4g} is allowed; {remedy}"
            )

    def admit(self, request: Request | None = None) -> None:
        """Count one call, or raise if it may cost more than is left."""
        self.plan(1, request)
        self.calls += 1

    def spend(self, request: Request | None = None, reply: Reply | None = None) -> None:
        """Add what a call cost: its price, and tokens by the reply's own count or a guess."""
        self.money += self.price_call
        if request is None or reply is None:
            return
        tokens_in = _tokens(request) if reply.tokens_in is None else reply.tokens_in
        guess = len(reply.text) / CHARACTERS_A_TOKEN
        tokens_out = guess if reply.tokens_out is None else reply.tokens_out
        self.money += (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6

    def line(self) -> str:
        """Return in words what was spent, and how fast."""
        seconds = max(time.perf_counter() - self.started, 1e-9)
        rate = f"{self.calls} calls, {self.calls / seconds:.2f} a second"
        has_prices = any((self.price_in, self.price_out, self.price_call))
        return f"{rate}, {self.money:.4f} spent" if has_prices else rate


def _tokens(request: Request) -> float:
    sent = request.text + request.system + (json.dumps(request.schema) if request.schema else "")
    return len(sent) / CHARACTERS_A_TOKEN + (TOKENS_AN_IMAGE if request.image is not None else 0)


MOST_TOLD = 20
"""The likeliest first tokens in which an answer is looked for: the most that endpoints tell."""


def chances_of(tokens: Iterable[tuple[str, float]], answers: Sequence[str]) -> dict[str, float]:
    """Return the probability of each answer: that of all tokens that spell it, in any case.

    Args:
        tokens: The likeliest first tokens, with the logarithms of their probabilities.
        answers: In small letters.

    Example:
        >>> chances_of([("Yes", math.log(0.6)), (" yes", math.log(0.1))], ("yes", "no"))
        {'yes': 0.7, 'no': 0.0}
    """
    chances = dict.fromkeys(answers, 0.0)
    for token, logarithm in tokens:
        word = token.strip(" ▁Ġ\n").casefold()
        if word in chances and math.isfinite(logarithm):
            chances[word] += math.exp(min(logarithm, 0.0))
    return {word: min(round(chance, 9), 1.0) for word, chance in chances.items()}


def json_of(text: str) -> Any:
    r"""Return the JSON value that a reply is, also between the fences of a code block.

    Raises:
        ValueError: It is none.

    Example:
        >>> json_of('```json\n{"a": 1}\n```')
        {'a': 1}
    """
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") : -3]
    return parse_json(text, "the reply", parse_constant=no_constant)
