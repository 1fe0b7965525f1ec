"""Answers: all P questions of an image in one request, all N in another, some votes of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pqpp_feedback.assess.assessor import random_for
from pqpp_feedback.vistar.choices import choices
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.write_beside import write_whole
from pqpp_models.chat.chat import Chat, Request, json_of

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
        self.chat, self.votes = chat, votes
        self.cache = Path(cache).expanduser() if cache else None

    def of(self, image: Any, questions: dict[str, list]) -> dict[str, Any]:
        """Return `positive` and `negative`: of each question its votes, None where unreadable.

        Args:
            image: RGB, of PIL.
            questions: As `pqpp_datasets.vistar.vistar.flat_questions` gives them.

        Raises:
            ChatError: The model does not reply.
        """
        pixels = hashlib.sha256(f"{image.size}".encode() + image.tobytes()).hexdigest()
        found: dict[str, Any] = {}
        for side in SIDES:
            votes = [
                self._vote(image, pixels, side, questions[side], seed) for seed in range(self.votes)
            ]
            found[side] = [list(one) for one in zip(*votes, strict=True)]
        return found

    def _vote(
        self, image: Any, pixels: str, side: str, questions: Sequence[str], seed: int
    ) -> list[bool | None]:
        key = sha256_of_parts("\n".join([pixels, side, *questions, self.chat.name, str(seed)]))
        path = self.cache / key[:2] / f"{key}.json" if self.cache else None
        if path and path.is_file():
            kept = json.loads(path.read_text("utf-8"))
            if isinstance(kept, list) and len(kept) == len(questions):
                return kept
        # Shuffled, so that the first question is not always the same one.
        order = random_for(pixels, side, seed).permutation(len(questions))
        request = request_of(image, [questions[n] for n in order], seed)
        told = parsed(self.chat.ask(request).text, len(questions))
        votes: list[bool | None] = [None] * len(questions)
        for place, number in enumerate(order):
            votes[number] = told[place]
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(votes))
        return votes


def request_of(image: Any, questions: Sequence[str], seed: int) -> Request:
    r"""Return the request that asks some questions about an image.

    Example:
        >>> request_of(None, ["A cat?", "A dog?"], 0).text
        'q1: A cat?\nq2: A dog?'
    """
    chosen = choices("hwpq")
    names = [f"q{number}" for number in range(1, len(questions) + 1)]
    schema = {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    text = "\n".join(f"{name}: {one}" for name, one in zip(names, questions, strict=True))
    return Request(
        text,
        SYSTEM,
        image,
        schema,
        seed,
        chosen["temperature"],
        most_tokens=64 + chosen["tokens_an_answer"] * len(names),
    )


def parsed(text: str, number: int) -> list[bool | None]:
    """Return the answers of a reply; what is no true or false is None and never guessed.

    Example:
        >>> parsed('{"q1": true, "q2": "maybe"}', 3), parsed("Yes, it does.", 1)
        ([True, None, None], [None])
    """
    try:
        found = json_of(text)
    except ValueError:
        found = None
    found = found if isinstance(found, dict) else {}
    told = [found.get(f"q{place}") for place in range(1, number + 1)]
    return [one if isinstance(one, bool) else None for one in told]
