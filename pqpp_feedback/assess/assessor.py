"""The interface of assessors: models observe images, and rules score the observations."""

import abc
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pqpp_backbones.chat.chat import Chat
from pqpp_backbones.pretrained import ModelId
from pqpp_feedback.assess.pictures import Picture

DIGITS = 6


@dataclass(frozen=True)
class Verdict:
    """The assessment of an image by one assessor.

    Attributes:
        verdict: Whether the image shows what the prompt requires; None if this is undecided, or if
            the assessor computes only scores.
        score: The score, in the assessor's own range; higher is better; None if there is none.
    """

    verdict: bool | None
    score: float | None
    reason: str


class Assessor(abc.ABC):
    """An automated assessor: models observe an image, and rules score the observations.

    Attributes:
        name: The assessor's name, like `gimbrr`.
        routine: The name of the rules, like `gimbrr-published`; the annotator in tables of votes.
        columns: Columns of `Picture.about` that `observe` and `score` read; they are copied to the
            result.
        models: The names and revisions of the models, by role.
        is_one_by_one: Whether `observe` gets only one image per call.
        chat: The chat model that answers about images, whose cost is noted; None if there is none.
    """

    name: str = ""
    routine: str = ""
    columns: Sequence[str] = ()
    is_one_by_one = False
    chat: Chat | None = None

    def __init__(self, models: Mapping[str, ModelId] | None = None) -> None:
        self.models: dict[str, ModelId] = dict(models or {})

    @property
    def settings(self) -> Mapping[str, Any]:
        """Further settings on which evidence or scores depend, as JSON values."""
        return {}

    @abc.abstractmethod
    def observe(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Process images and return the evidence of each, as JSON values.

        An image's evidence must not depend on the other images.

        Args:
            images: RGB images (PIL).
            pictures: The source of each image.

        Raises:
            FeedbackError: An image cannot be assessed. Each image of the batch is then tried alone.
        """

    @abc.abstractmethod
    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the assessment from the evidence, without models.

        Args:
            evidence: An output of `observe` after conversion to JSON and back, with six decimals.
            picture: The source of the image; its file may be missing.
        """

    def prepare(self, pictures: Sequence[Picture]) -> None:  # noqa: B027 -- most cost nothing
        """Check the budget before a run, and fetch the replies of models that reply in batches.

        Raises:
            ServiceError: The run would exceed the budget.
        """

    def get_notes(self) -> list[str]:
        """Return notes for the end of a run, such as the number and cost of calls."""
        return [self.chat.budget.describe_spending()] if self.chat else []


def get_settings(assessors: Sequence[Assessor]) -> list[dict[str, Any]]:
    """Return the settings on which verdicts depend besides prompts and images."""
    return [
        {
            "name": assessor.name,
            "routine": assessor.routine,
            "models": {role: [it.name, it.revision] for role, it in assessor.models.items()},
            "settings": assessor.settings,
        }
        for assessor in assessors
    ]


def format_evidence(evidence: Any) -> str:
    """Return evidence as canonical JSON: sorted keys, six decimals.

    Example:
        >>> format_evidence({"b": np.float32(0.1), "a": (True, None)})
        '{"a":[true,null],"b":0.1}'
    """
    plain, separators = _to_plain(evidence), (",", ":")
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=separators)


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        # NaN and infinity become null, and -0.0 becomes 0.0.
        return round(value, DIGITS) + 0.0 if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _to_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(part) for part in value]
    return value


def make_rng(*parts: Any) -> np.random.Generator:
    """Return a random generator that depends only on the arguments.

    An image's random choices are thus the same in every run, batch and order.

    Args:
        *parts: The image's id, and the purpose of the random numbers.

    Example:
        >>> int(make_rng("7/sdxl_0.png", "rivals").integers(1000))
        335
        >>> int(make_rng("7/sdxl_0.png", "rivals").integers(1000))
        335
    """
    text = "\0".join(map(str, parts))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
