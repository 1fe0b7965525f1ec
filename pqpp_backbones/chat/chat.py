"""What is asked of a model that chats, what it replies, and what that may cost."""

import abc
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pqpp_backbones.chat.ledger import Ledger
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
        why: Why there is no text in a reply that was paid.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    chances: dict[str, float] | None = None
    why: str = ""


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
            ServiceError: There is none, after all tries, it holds nothing, or the limit is reached.
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
        ledger: Where the calls are noted, those of earlier runs among them.

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
    ledger: Ledger = field(default_factory=Ledger, repr=False)

    def plan(self, calls: int, request: Request | None = None) -> None:
        """Raise before the start if calls would cost more than is left.

        Args:
            calls: How many are planned; tries that fail come on top, replies in the ledger off.
            request: One like them, for the money.

        Raises:
            ServiceError: They would.
        """
        with self.ledger.held():
            self._check(max(calls - len(self.ledger.replies), 0), self.most(request))

    def most(self, request: Request | None = None) -> float:
        """Return the most that a call may cost."""
        if request is None:
            return self.price_call
        return self.cost(_tokens(request), request.most_tokens)

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        """Return what a call of so many tokens costs."""
        tokens = tokens_in * self.price_in + tokens_out * self.price_out
        return self.price_call + tokens / 1e6

    def enter(self, most: float, key: str = "") -> int:
        """Note one call in the ledger, or raise if it may cost more than is left."""
        with self.ledger.held():
            self._check(1, most)
            return self.ledger.enter(most, **({"key": key} if key else {}))

    def settle(self, call: int, request: Request, reply: Reply) -> None:
        """Note what a call did cost: its tokens by the reply's own count, else by a guess.

        Where nothing was said and no count tells, the most that it may have cost stands.
        """
        paid, guess = (
            self.most(request),
            len(reply.text.encode("utf-8", "replace")) / CHARACTERS_A_TOKEN,
        )
        if reply.text or reply.tokens_out is not None:
            tokens_in = _tokens(request) if reply.tokens_in is None else reply.tokens_in
            paid = self.cost(tokens_in, guess if reply.tokens_out is None else reply.tokens_out)
        self.ledger.settle(call, paid, reply=asdict(reply))

    def line(self) -> str:
        """Return in words what was spent."""
        calls = f"{len(self.ledger.lines)} calls"
        has_prices = any((self.price_in, self.price_out, self.price_call))
        return f"{calls}, {self.ledger.spent:.4f} spent" if has_prices else calls

    def _check(self, calls: int, price: float) -> None:
        remedy = "allow more, or ask for fewer images or votes"
        left = math.inf if self.most_calls is None else self.most_calls - len(self.ledger.lines)
        if calls > left:
            raise ServiceError(f"{calls} calls needed, {left} allowed; {remedy}")
        money = math.inf if self.most_money is None else self.most_money - self.ledger.spent
        if calls * price > money + 1e-12:
            raise ServiceError(
                f"{calls} calls may cost {calls * price:.4g}, {money:.4g} is allowed; {remedy}"
            )


def _tokens(request: Request) -> float:
    sent = request.text + request.system + (json.dumps(request.schema) if request.schema else "")
    # Scripts of three bytes a letter have about a token a letter.
    tokens = len(sent.encode("utf-8", "replace")) / CHARACTERS_A_TOKEN
    return tokens + TOKENS_AN_IMAGE * (request.image is not None)


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


def spoken(text: str) -> str:
    r"""Return what a model says after it has thought aloud.

    Example:
        >>> spoken("<think>A cat?</think>\n\nYes"), spoken("<think>A cat")
        ('Yes', '<think>A cat')
    """
    return re.sub(r"^\s*<think>.*?</think>\s*", "", text, count=1, flags=re.DOTALL)


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
