"""What a predictor of `alignment` scores on studies that it did not learn from, in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import qpp_report, spearman_qpp
from pqpp_models.bench.generalisation import ScoredPrompts, within_groups
from pqpp_models.text.words import words_of

FEWER_WORDS = "fewer words"
REWRITTEN = {
    "Caption.": lambda prompt: prompt[:1].upper() + prompt[1:].rstrip(" .!?") + ".",
    "lower case": lambda prompt: prompt.lower().rstrip(" .!?"),
}
"""Ways to type the same prompt: as a caption with a full stop, and in small letters without."""


def fewer_words(prompts: Sequence[str]) -> NDArray[np.float64]:
    """Return the baseline: minus the number of words.

    >>> fewer_words(["a cat", "two cats on a mat"]).tolist()
    [-2.0, -5.0]
    """
    return -np.array([len(words_of(prompt)) for prompt in prompts], dtype=np.float64)


def study_row(
    study: ScoredPrompts,
    predictor: Any,
    others: Mapping[str, NDArray[np.float64]],
    target: str = "alignment",
) -> dict[str, Any]:
    """Return what a predictor that did not learn a study scores on it.

    Args:
        study: the study.
        predictor: one that predicts the target.
        others: what else is correlated with the scores: name to one value a prompt.
        target: what it is asked for.

    Returns:
        ``prompts``, their number; ``spearman`` with its 95 % ``interval``; ``within_tasks``, the
        mean over groups, where there are; ``rewritten``, Spearman's coefficient with the prompts
        typed in other ways; and Spearman's coefficient of each of the ``others`` and of the number
        of words. None stands where predictions are all alike, and so order nothing.
    """
    prompts = list(study.prompts)

    def coefficient(values: NDArray[np.float64]) -> float | None:
        return _rounded(spearman_qpp(values, study.scores)["spearman_qpp"])

    predicted = predictor.predict(prompts, target)[:, 0]
    report = qpp_report(predicted, study.scores, measures=("spearman",))["spearman_qpp"]
    row: dict[str, Any] = {
        "prompts": len(prompts),
        "spearman": coefficient(predicted),
        "interval": [_rounded(report["ci_low"]), _rounded(report["ci_high"])],
    }
    if study.groups is not None:
        within = within_groups(predicted, np.array(study.scores), np.array(study.groups))
        row["within_tasks"] = _rounded(float(np.mean(within)) if within else np.nan)
    row["rewritten"] = {
        name: coefficient(predictor.predict([typed(one) for one in prompts], target)[:, 0])
        for name, typed in REWRITTEN.items()
    }
    beside = {FEWER_WORDS: fewer_words(prompts), **others}
    return row | {name: coefficient(values) for name, values in beside.items()}


def format_studies(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the rows of `study_row` as a table, with the means over the studies.

    >>> row = {"prompts": 9, "spearman": 0.5, "interval": [0.1, 0.8], "rewritten": {"a": 0.5}}
    >>> print(format_studies({"mine": row}))
    study             prompts  spearman  95 % interval     a
    mine                    9      .500  .100 to .800   .500
    mean                           .500                 .500
    """
    told = ("prompts", "spearman", "interval", "within_tasks", "rewritten")
    columns = list(dict.fromkeys(key for row in rows.values() for key in row if key not in told))
    typed = list(next(iter(rows.values()))["rewritten"])
    names = [*typed, *columns]
    widths = [max(len(name), 4) + 2 for name in names]
    head = f"{'study':<18}{'prompts':>7}{'spearman':>10}  {'95 % interval':<14}"
    lines = [head + "".join(f"{n:>{w}}" for n, w in zip(names, widths, strict=True))]
    cells = {
        name: [*(row["rewritten"][one] for one in typed), *(row.get(one) for one in columns)]
        for name, row in rows.items()
    }
    for name, row in rows.items():
        low, high = map(_short, row["interval"])
        line = f"{name:<18}{row['prompts']:>7}{_short(row['spearman']):>10}  "
        line += f"{low} to {high:<6}"
        lines.append(line + _joined(cells[name], widths))
    mean = _mean([row["spearman"] for row in rows.values()])
    means = [_mean(some) for some in zip(*cells.values(), strict=True)]
    lines.append(f"{'mean':<25}{_short(mean):>10}  {'':<14}" + _joined(means, widths))
    return "\n".join(line.rstrip() for line in lines)


def _joined(values: Sequence[float | None], widths: Sequence[int]) -> str:
    return "".join(f"{_short(v):>{w}}" for v, w in zip(values, widths, strict=True))


def _mean(values: Sequence[float | None]) -> float | None:
    """Return a mean, None where a value is not known."""
    known = [one for one in values if one is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".replace("0.", ".", 1)
