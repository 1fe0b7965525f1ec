"""What an assessor is: it perceives by models, and scores what was perceived by arithmetic."""

import abc
import contextlib
import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pqpp_backbones.pretrained import ModelId
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.errors import FeedbackError

DIGITS = 6


@dataclass(frozen=True)
class Verdict:
    """The assessment of an image by one assessor.

    Attributes:
        verdict: Whether the image shows what the prompt requires; None if undecided, or if
            the assessor gives scores alone.
        score: The higher the better, in the assessor's own range; None if there is none.
        reason: Why, in words.
    """

    verdict: bool | None
    score: float | None
    reason: str


class Assessor(abc.ABC):
    """Perceives apart from scoring, so that scores can be computed again without models.

    Attributes:
        name: Of the assessor, as `gimbrr`.
        routine: Of the rules, as `gimbrr-published`: the annotator's name in tables of votes.
        columns: What `observe` and `score` read in `Picture.about`; kept in the result.
        models: Role to model.
        seconds: Role to computing time, filled by `measure_time`.
        is_one_by_one: Whether it processes each image by itself anyway, and gets one at a time:
            a fault of one then causes no second pass over others.
    """

    name: str = ""
    routine: str = ""
    columns: Sequence[str] = ()
    is_one_by_one = False

    def __init__(self, models: Mapping[str, ModelId] | None = None) -> None:
        self.models: dict[str, ModelId] = dict(models or {})
        self.seconds: dict[str, float] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else the evidence or the scores depend on, as JSON values."""
        return {}

    @abc.abstractmethod
    def observe(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Process some images, and return the evidence of each, as JSON values.

        The evidence of an image must not depend on the others of the call.

        Args:
            images: RGB images of PIL.
            pictures: What each was generated from.

        Raises:
            FeedbackError: An image cannot be assessed. Each is then tried by itself, as after any
                other error but those of models, services and budgets.
        """

    @abc.abstractmethod
    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the assessment from the evidence, by arithmetic alone, without a model.

        Args:
            evidence: As `observe` returned it, after JSON: numbers have six digits after the
                point.
            picture: What the image was generated from; the image itself may not be there.
        """

    def plan(self, pictures: Sequence[Picture]) -> None:  # noqa: B027 -- most cost nothing
        """Refuse before the start what would cost more than is allowed.

        Raises:
            ServiceError: It would.
        """

    def notes(self) -> list[str]:
        """Return further notes for the end of a run, one per line."""
        return []

    @contextlib.contextmanager
    def measure_time(self, role: str) -> Iterator[None]:
        """Measure a block's duration and add it to `seconds`.

        Args:
            role: Role of the model whose time is measured.
        """
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[role] = self.seconds.get(role, 0.0) + time.perf_counter() - start


def describe_all(assessors: Sequence[Assessor]) -> list[dict[str, Any]]:
    """Describe what verdicts depend on besides prompts and images."""
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
    """Return evidence as JSON in one spelling: sorted keys, six digits after the point.

    Raises:
        FeedbackError: It contains what JSON does not.

    Example:
        >>> format_evidence({"b": np.float32(0.1), "a": (True, None)})
        '{"a":[true,null],"b":0.1}'
    """
    try:
        plain, separators = _to_plain(evidence), (",", ":")
        return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=separators)
    except (TypeError, ValueError) as error:
        raise FeedbackError(f"evidence is not JSON ({error}); give plain values") from None


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        # What is no number stands for nothing seen; -0.0 is 0.0.
        return round(value, DIGITS) + 0.0 if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _to_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(part) for part in value]
    return value


def make_random(*parts: Any) -> np.random.Generator:
    """Return a generator of random numbers that depends on its arguments alone.

    An image's random choices are then the same in every run, batch and order.

    Args:
        *parts: The image's id, and what the choice is about.

    Example:
        >>> int(make_random("7/sdxl_0.png", "rivals").integers(1000))
        335
        >>> int(make_random("7/sdxl_0.png", "rivals").integers(1000))
        335
    """
    text = "\0".join(map(str, parts))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
