"""What a fit scores on prompts that it left out: whole fits, predicted as they are served."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional.qpp_report import qpp_values
from pqpp_models.targets import Z90
from pqpp_models.text.arrays import Floats
from pqpp_models.text.ridge.blocks import ReadPrompts
from pqpp_models.text.ridge.head import Head, target_by_form

_MEASURES = ("pearson", "kendall", "spearman")


class TrainingPrompts(NamedTuple):
    """Distinct prompts with their scores.

    Attributes:
        reading: what is read of them.
        texts: the prompts, normalised.
        values: shape ``(prompts, targets)``, NaN where there is none.
        far: which are in no plain English.
    """

    reading: ReadPrompts
    texts: list[str]
    values: Floats
    far: NDArray[np.bool_]

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return some of them."""
        texts = [self.texts[row] for row in rows]
        return type(self)(self.reading.take(rows), texts, self.values[rows], self.far[rows])


def cross_validate(
    head: Head,
    prompts: TrainingPrompts,
    as_typed: Sequence[str],
    counted: NDArray[np.bool_],
    folds: int,
    seed: int = 0,
    at_each: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Fit to all parts of the prompts but one, predict that, and compare with its scores.

    Args:
        head: what is fitted.
        prompts: the prompts.
        as_typed: the same as they were typed.
        counted: which of them count; the network has learned the scores of the others.
        folds, seed: how many parts, and of their drawing.
        at_each: what is called after each part.

    Returns:
        ``cross_validation``: by target Pearson's, Kendall's and Spearman's coefficient of what
        `predict` gives, and ``coverage``, the share of true values within the intervals that are
        nominally 90 %. ``forms``: by target Spearman's coefficient of each form that was tried.
    """
    targets, count = list(head.limits), len(prompts.texts)
    part = np.random.default_rng(seed).permutation(count) % folds
    predicted: dict[str, Floats] = {}
    deviations = np.empty((count, len(targets)))
    for number in range(folds):
        there = np.flatnonzero(part == number)
        fitted, _ = head.fit(*prompts.take(np.flatnonzero(part != number)), with_forms=True)
        answer = fitted.predict_with_uncertainty([as_typed[int(row)] for row in there])
        for name, column in zip(fitted.targets, answer.values.T, strict=True):
            predicted.setdefault(name, np.empty(count))[there] = column
        deviations[there] = answer.deviations[:, : len(targets)]
        at_each()
    start = target_by_form(targets[0], "")
    forms = [name.removeprefix(start) for name in predicted if name.startswith(start)]
    result: dict[str, Any] = {"cross_validation": {}, "forms": {}}
    for column, target in enumerate(targets):
        rows = counted & ~np.isnan(prompts.values[:, column])
        true = prompts.values[rows, column]
        near = np.abs(predicted[target][rows] - true) <= Z90 * deviations[rows, column]
        result["cross_validation"][target] = {
            **coefficients(predicted[target][rows], true),
            "coverage": round(float(near.mean()), 4) if len(near) else 0.0,
        }
        result["forms"][target] = {
            form: coefficients(predicted[target_by_form(target, form)][rows], true)["spearman"]
            for form in forms
        }
    return result


def coefficients(predicted: Floats, true: Floats) -> dict[str, float]:
    """Return Pearson's, Kendall's and Spearman's; what is all the same ranks nothing, so 0.

    >>> coefficients(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
    {'pearson': 0.0, 'kendall': 0.0, 'spearman': 0.0}
    """
    if len(true) < 2:
        return dict.fromkeys(_MEASURES, 0.0)
    figures = qpp_values(predicted[:, None], true[:, None], _MEASURES)
    return {
        name: round(float(np.nan_to_num(coefficient[0])), 4)
        for name, coefficient in figures.items()
    }
