"""Is a predictor better than a baseline, or did it only look so on these prompts?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pqpp_metrics.functional.resampling import paired_permutation
from pqpp_metrics.functional.significance import holm
from pqpp_models.bench.protocol import Predictions, Result, cell_values
from pqpp_models.errors import PredictorError

PERMUTATIONS = 2_000
LEVEL = 0.05
_TESTED = ("pearson", "kendall")
COMPARISON_NOTE = (
    "↑ better and ↓ worse than {baseline} on the same prompts: paired permutation test, p < .05 "
    "after Holm's correction over the table"
)


def compare_with_baseline(
    results: Sequence[Result],
    predictions: Sequence[Predictions],
    references: Mapping[str, Sequence[float | None]],
    baseline: str,
    sources: Sequence[str] | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    progress: bool = False,
) -> list[Result]:
    """Test every cell of a table against the same cell of a baseline.

    Both coefficients by `paired_permutation`, which needs no like errors; each family of p-values
    is corrected by Holm over the whole table.

    Args:
        results: The table.
        predictions: What it was computed from.
        references: Target to one true value a prompt.
        baseline: The name of a predictor in the table.
        sources: The source of each prompt; needed for results of one source.
        permutations: Swaps of the test.
        seed: Seed of the swaps.
        progress: Show a progress bar on standard error.

    Returns:
        The results with `baseline`, `pearson_baseline_p`, the interval of the difference and the
        warning, and those of Kendall; NaN and empty in the baseline's own row, where it has no such
        cell, where a side is undefined, and for predictors that were fitted to the rows.

    Raises:
        PredictorError: If no predictor of the table has that name, or it was fitted to the rows.
    """
    from tqdm.auto import tqdm

    by_name = {prediction.predictor: prediction for prediction in predictions}
    if baseline not in by_name:
        raise PredictorError(
            f"the baseline {baseline!r} is not among the predictors {', '.join(by_name)}"
        )
    known = max((row.fitted_rows or 0 for row in results if row.predictor == baseline), default=0)
    if known:
        raise PredictorError(
            f"the baseline {baseline!r} was fitted to {known} of these rows; name one that was not"
        )
    tested: list[dict[str, dict[str, Any]]] = []
    for row in tqdm(results, desc="comparing", unit="cell", disable=not progress):
        own, other = by_name[row.predictor], by_name[baseline]
        tests = {}
        if row.ranked and own is not other and row.predicted in other.targets and row.n >= 4:
            mine, reference = cell_values(own, row, references[row.target], sources)
            theirs, _ = cell_values(other, row, references[row.target], sources)
            for name in _TESTED:
                tests[name] = paired_permutation(
                    mine, theirs, reference, name, permutations=permutations, seed=seed
                )
        tested.append(tests)
    figures: list[dict[str, Any]] = [{} for _ in results]
    for name in _TESTED:
        found = [tests.get(name, {}) for tests in tested]
        adjusted = holm(np.array([test.get("p_value", math.nan) for test in found]))["adjusted"]
        for changes, test, p in zip(figures, found, adjusted, strict=True):
            changes[f"{name}_baseline_p"] = float(p)
            for key in ("ci_low", "ci_high", "warning") if test else ():
                changes[f"{name}_baseline_{key}"] = test[key]
    return [
        replace(row, baseline=baseline, **own) for row, own in zip(results, figures, strict=True)
    ]


def arrow(value: float, baseline_value: float, p: float) -> str:
    """Return ↑ for significantly above the baseline, ↓ for below, else nothing.

    Example:
        >>> arrow(0.5, 0.4, 0.01), arrow(0.3, 0.4, 0.01), arrow(0.5, 0.4, 0.2)
        ('↑', '↓', '')
    """
    if not p < LEVEL:
        return ""
    return "↑" if value > baseline_value else "↓"
