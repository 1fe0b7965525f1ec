"""Answers: all P questions of an image in one request, all N in another, some votes of each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pqpp_backbones.chat.chat import Chat, Request, json_of
from pqpp_feedback.assess.assessor import random_for
from pqpp_feedback.assess.kept_answers import KeptAnswers, pixel_hash
from pqpp_feedback.vistar.choices import choices

SIDES = ("positive", "negative")
SYSTEM = (
    "You look at one image and answer questions about it from what can be seen. Answer each "
    'question by true or false. Reply with one JSON object like {"q1": true, "q2": false} that '
    "has every question once, and nothing else."
)


class Answers:
    """Asks a model that sees, and keeps its answers by image, questionnaire, model and seed.

    Args:
        chat: The model.
        votes: How often each side is asked.
        cache: A folder of kept answers; None keeps none.
    """

    def __init__(self, chat: Chat, votes: int = 3, cache: str | Path | None = None) -> None:
        self.chat, self.votes, self._kept = chat, votes, KeptAnswers(cache)

    def of(self, image: Any, questions: dict[str, list]) -> dict[str, Any]:
        """Return `positive` and `negative`: of each question its votes, None where unreadable.

        Args:
            image: RGB, of PIL.
            questions: As `pqpp_datasets.vistar.vistar.flat_questions` gives them.

        Raises:
            ChatError: The model does not reply.
        """
        pixels = pixel_hash(image)
        answers: dict[str, Any] = {}
        for side in SIDES:
            votes = [
                self._vote(image, pixels, side, questions[side], seed) for seed in range(self.votes)
            ]
            answers[side] = [list(vote) for vote in zip(*votes, strict=True)]
        return answers

    def _vote(
        self, image: Any, pixels: str, side: str, questions: Sequence[str], seed: int
    ) -> list[bool | None]:
        def ask() -> list[bool | None]:
            # Shuffled, so that the first question is not always the same one.
            order = random_for(pixels, side, seed).permutation(len(questions)).tolist()
            request = request_of(image, [questions[n] for n in order], seed)
            answers = parsed(self.chat.ask(request).text, len(order))
            return [answers[order.index(number)] for number in range(len(order))]

        key = [pixels, side, *questions, self.chat.name, str(seed)]
        return self._kept.of(key, ask)


def request_of(image: Any, questions: Sequence[str], seed: int) -> Request:
    r"""Return the request that asks some questions about an image.

    Example:
        >>> request_of(None, ["A cat?", "A dog?"], 0).text
        'q1: A cat?\nq2: A dog?'
    """
    chosen, names = choices("hwpq"), [f"q{number}" for number in range(1, len(questions) + 1)]
    schema = {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    text = "\n".join(map(": ".join, zip(names, questions, strict=True)))
    most_tokens = 64 + chosen["tokens_an_answer"] * len(names)
    return Request(text, SYSTEM, image, schema, seed, chosen["temperature"], most_tokens)


def parsed(text: str, number: int) -> list[bool | None]:
    """Return the answers of a reply; what is no true or false is None and never guessed.

    Example:
        >>> parsed('{"q1": true, "q2": "maybe"}', 3), parsed("Yes, it does.", 1)
        ([True, None, None], [None])
    """
    try:
        reply = json_of(text)
    except ValueError:
        reply = None
    reply = reply if isinstance(reply, dict) else {}
    answers = [reply.get(f"q{place}") for place in range(1, number + 1)]
    return [answer if isinstance(answer, bool) else None for answer in answers]
