"""What the words of a prompt add to its prediction: Shapley values over prompts without words.

An absent word is cut out of the prompt. A prompt without any word has no prediction, so the base
stands for it: the mean of the true values that the predictor was fitted to where it tells that
(`Predictor._prior`), else its mean prediction for `SINGLE_WORDS`. Another base would add the same
to each word of a prompt. Prompts of at most 8 words have exact values; beyond, permutations are
sampled and there are standard errors; more than 64 words are taken as 64 phrases. Base and values
add up to the prediction in each case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqpp_models.errors import PredictorError
from pqpp_models.explain.shapley import Design, design
from pqpp_models.explain.words import Span, without_others, word_spans
from pqpp_models.prompts import read_prompts

if TYPE_CHECKING:
    import pandas as pd

NOTE = "contributions to the prediction, not causes of what the images will look like"
"""What is said wherever contributions are shown."""

SINGLE_WORDS = (
    *("man", "woman", "child", "dog", "cat", "horse", "bird", "car", "bus", "train"),
    *("house", "street", "tree", "flower", "table", "chair", "food", "book", "water", "sky"),
)
"""The base of a predictor that tells no mean of its own is its mean prediction for these."""

_MOST_TEXTS, _MOST_CHARACTERS = 1 << 16, 1 << 24


class Neighbour(NamedTuple):
    """A judged prompt near another one.

    Attributes:
        prompt: The prompt.
        value: What it was judged.
        similarity: The cosine in the predictor's space, 1 for the same place.
    """

    prompt: str
    value: float
    similarity: float


@dataclass(frozen=True)
class Explanation:
    """What each word of a prompt adds to its prediction.

    They are contributions to the prediction, not causes of what the images will look like.
    ``base`` and all ``values`` add up to ``prediction``.

    Attributes:
        prompt: The prompt as it came.
        target: What is predicted.
        words: Its words, or phrases of neighbouring words where there are more than 64.
        spans: Where each begins and ends in the prompt.
        values: What each adds, in the unit of the prediction.
        errors: The standard error of each value; 0 where all coalitions were asked.
        base: The prediction without any word.
        prediction: The prediction of the prompt; NaN, as all else, for a blank one.
        permutations: How many were sampled; 0 where the values are exact.
        neighbours: The nearest judged prompts, where they were looked up.
        ignored: What the predictor did not read of the prompt, by kind; empty if it read all.
    """

    prompt: str
    target: str
    words: tuple[str, ...]
    spans: tuple[Span, ...]
    values: tuple[float, ...]
    errors: tuple[float, ...]
    base: float
    prediction: float
    permutations: int = 0
    neighbours: tuple[Neighbour, ...] = ()
    ignored: str = ""

    def as_table(self) -> pd.DataFrame:
        """Return one row a word: ``word``, ``start``, ``end``, ``value`` and ``error``."""
        import pandas as pd

        starts, ends = ([span[side] for span in self.spans] for side in (0, 1))
        words = pd.Series(self.words, dtype=object)  # half a surrogate pair is no Arrow string
        columns = {"word": words, "start": starts, "end": ends}
        return pd.DataFrame({**columns, "value": self.values, "error": self.errors})

    def as_record(self) -> dict[str, Any]:
        """Return all but the prompt as JSON holds it: None where a number is not known.

        >>> Explanation(" ", "mean_rr", (), (), (), (), np.nan, np.nan).as_record()["base"]
        """
        return {
            "target": self.target,
            "prediction": _known(self.prediction),
            "base": _known(self.base),
            "words": list(self.words),
            "spans": [list(span) for span in self.spans],
            "contributions": [_known(value) for value in self.values],
            "errors": [_known(error) for error in self.errors],
            "permutations": self.permutations,
            "neighbours": [neighbour._asdict() for neighbour in self.neighbours],
            "ignored": self.ignored,
            "note": NOTE,
        }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def explain_prompts(
    predictor: Any, prompts: Any, target: str | None = None, permutations: int = 0, seed: int = 0
) -> list[Explanation]:
    """Do what `Predictor.explain` says."""
    if predictor.inputs != "text":
        raise PredictorError(
            f"{predictor.called} needs {predictor.inputs}, and only the words of a text are "
            "explained; use a predictor of texts, like static"
        )
    chosen = predictor.columns_for(target)
    if target is not None and len(chosen) > 1:
        raise PredictorError(f"{len(chosen)} targets came, one is explained at a time; name one")
    texts = read_prompts(prompts)
    prior = predictor._prior(chosen[:1])
    if prior is None:
        answers = predictor.predict(SINGLE_WORDS, chosen[0])
        prior = [np.nan if np.isnan(answers).all() else answers[~np.isnan(answers)].mean()]
    base = float(prior[0])
    spans = [word_spans(text) for text in texts]
    plans = [design(len(some), permutations, seed) if some else None for some in spans]
    values = _values_of(predictor, chosen[0], zip(texts, spans, plans, strict=True))
    explained = map(partial(_explanation, chosen[0], base), texts, spans, plans, values)
    return [replace(one, ignored=predictor.ignored_of(one.prompt)) for one in explained]


def _values_of(
    predictor: Any, target: str, jobs: Iterable[tuple[str, list[Span], Design | None]]
) -> list[NDArray[np.float64]]:
    """Return the predictions of all coalitions, each text asked once and many at a time."""
    values: list[NDArray[np.float64]] = []
    waiting: dict[str, list[tuple[int, int]]] = {}

    def ask() -> None:
        predicted = predictor.predict(list(waiting), target)[:, 0].tolist()
        for value, places in zip(predicted, waiting.values(), strict=True):
            for row, place in places:
                values[row][place] = value
        waiting.clear()

    characters = 0
    for row, (text, spans, plan) in enumerate(jobs):
        values.append(np.empty(len(plan.members) if plan else 0))
        texts = without_others(text, spans, plan.members) if plan else ()
        for place, shortened in enumerate(texts):
            waiting.setdefault(shortened, []).append((row, place))
            characters += len(shortened)
            if len(waiting) >= _MOST_TEXTS or characters >= _MOST_CHARACTERS:
                ask()
                characters = 0
    if waiting:
        ask()
    return values


def _explanation(
    target: str,
    base: float,
    text: str,
    spans: list[Span],
    plan: Design | None,
    values: NDArray[np.float64],
) -> Explanation:
    if plan is None:
        return Explanation(text, target, (), (), (), (), math.nan, math.nan)
    prediction = float(values[-1])
    # What a predictor says nothing of tells as little as no word at all.
    known = np.where(np.isnan(values), base, values)
    shares, errors = plan.share(known, base)
    if math.isnan(prediction):
        shares, errors = np.full((2, len(spans)), np.nan)
    words = tuple(text[start:end] for start, end in spans)
    columns = (words, tuple(spans), tuple(shares.tolist()), tuple(errors.tolist()))
    return Explanation(text, target, *columns, base, prediction, plan.permutations)
