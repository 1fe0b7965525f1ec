"""How much better or worse than the baseline each predictor is, with intervals and warnings."""

import math
from collections.abc import Iterator, Sequence

from pqpp_models.bench.protocol import Result
from pqpp_models.bench.rows import COEFFICIENTS

HEADINGS = ("predictor", "column", "Pearson", "Kendall")


def differences(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return a row for each cell that was tested against the baseline's, as `HEADINGS` say.

    The figures are the difference and its 95 % interval; a ! says that it hangs on one prompt.
    """
    baselines = {result.label: result for result in results if result.predictor == result.baseline}
    return [
        (row.predictor, row.label, *(_told(row, baselines[row.label], c) for c in COEFFICIENTS))
        for row in results
        if any(not math.isnan(getattr(row, f"{c}_baseline_p")) for c in COEFFICIENTS)
    ]


def intervals(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return a row for each cell, as `HEADINGS` say: the figures with their 95 % intervals."""
    return [
        (
            row.predictor,
            row.label,
            *(_with_interval(getattr(row, c), row, f"{c}_ci", "") for c in COEFFICIENTS),
        )
        for row in results
    ]


def _told(row: Result, baseline: Result, coefficient: str) -> str:
    difference = getattr(row, coefficient) - getattr(baseline, coefficient)
    cell = _with_interval(difference, row, f"{coefficient}_baseline_ci", "+")
    return cell + " !" * bool(getattr(row, f"{coefficient}_baseline_warning"))


def _with_interval(value: float, row: Result, name: str, sign: str) -> str:
    ends = [getattr(row, f"{name}_{end}") for end in ("low", "high")]
    if math.isnan(value):
        return "–"
    known = [value] if any(map(math.isnan, ends)) else [value, *ends]
    first, *rest = (format(number, f"{sign}.3f") for number in known)
    return f"{first} [{', '.join(rest)}]" if rest else first


def difference_notes(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line on each difference that hangs on one prompt."""
    for row in results:
        for coefficient in COEFFICIENTS:
            if warning := getattr(row, f"{coefficient}_baseline_warning"):
                name = f"{row.predictor} less {row.baseline} on {row.label}"
                yield f"! {name}, {coefficient.title()}: {warning}"
