"""The lines that say what the figures of a table are, and why some are missing."""

import math
from collections.abc import Iterator, Sequence

from pqpp_models.bench.comparison import COMPARISON_NOTE
from pqpp_models.bench.held_out import fitted_notes
from pqpp_models.bench.protocol import MARKS_NOTE, Result, mean_over_targets
from pqpp_models.bench.published import PublishedResult
from pqpp_models.bench.rows import (
    coefficient_text,
    difference_notes,
    labels_of,
    published_groups,
)
from pqpp_models.bench.split import ALL_ROWS, other_releases

_FEW = 30
GENERATED_NOTE = "GENERATED DATA: no human judged these prompts; the figures say nothing of models"


def notes(results: Sequence[Result], published: Sequence[PublishedResult]) -> list[str]:
    """Return the lines that say what a table's figures are."""
    lines = []
    if any(result.generated for result in results):
        lines.append(GENERATED_NOTE)
    for data in dict.fromkeys((r.config, r.release, r.split) for r in results):
        rows = (r for r in results if (r.config, r.release, r.split) == data)
        # An entry of a leaderboard may tell a figure, and not of how many prompts.
        sizes = {r.label: r.n for r in rows if r.n > 1 or _undefined(r) == 2}
        config, release, split = data
        name = f"release {release}, " if release else ""
        part = split if split == ALL_ROWS else f"{split} split"
        by_size: dict[int, list[str]] = {}
        for label, n in sizes.items():
            by_size.setdefault(n, []).append(label)
        of = {
            n: f" ({', '.join(labels)})" if len(by_size) > 1 else ""
            for n, labels in by_size.items()
        }
        if sizes:
            part += f", {'; '.join(f'n = {n}{labels}' for n, labels in of.items())}"
        lines.append(f"rows: {config}, {name}{part}")
    for config in dict.fromkeys(result.config for result in results):
        lines += other_releases({r.predictor: r.trained_on for r in results}, config)
    lines += fitted_notes(results)
    lines += _means([result for result in results if result.ranked])
    lines += without_figure(results)
    if not all(math.isnan(r.pearson_p) and math.isnan(r.kendall_p) for r in results):
        lines.append(MARKS_NOTE)
    fewest = min((result.n for result in results if result.n > 1), default=_FEW)
    if fewest < _FEW:
        lines.append(
            f"only {fewest} prompts: figures of so few move far by chance, and a mark says that "
            "there is a relation, not how strong it is; --format json has the intervals"
        )
    for baseline in dict.fromkeys(r.baseline for r in results if r.baseline):
        lines.append(COMPARISON_NOTE.format(baseline=baseline))
    lines += difference_notes(results)
    for key, group in published_groups(published).items():
        first = group[0]
        lines.append(
            f"{key} published, {first.config}, {first.split} split, n = {first.n}: {first.source}"
        )
    return lines


def _means(results: Sequence[Result]) -> list[str]:
    """Return a line of means for each set of columns that a predictor has.

    A line has all predictors that have its columns, so that every mean in it is over the same ones.
    """
    columns: dict[str, set[str]] = {}
    for result in results:
        columns.setdefault(result.predictor, set()).add(result.label)
    lines, every = [], labels_of(results)
    for some in dict.fromkeys(map(frozenset, columns.values())):
        if len(some) < 2:
            continue
        having = [r for r in results if r.label in some and some <= columns[r.predictor]]
        means = [
            f"{name} {coefficient_text(r).strip()} / {coefficient_text(tau).strip()}"
            for name, r, tau in mean_over_targets(having)
            if not (math.isnan(r) and math.isnan(tau))
        ]
        if not means:
            continue
        which = f"all {len(every)} columns"
        if len(some) < len(every):
            which = f"{len(some)} of {len(every)} columns ({', '.join(labels_of(having))})"
        lines.append(f"mean over {which}, Pearson / Kendall: {'; '.join(means)}")
    return lines


def _undefined(result: Result) -> int:
    """Return how many of the two coefficients are not defined."""
    return math.isnan(result.pearson) + math.isnan(result.kendall)


def without_figure(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line on each reason why a cell has no figure.

    Example:
        >>> list(without_figure([]))
        []
    """
    missing = [result for result in results if _undefined(result) == 2]
    if half := [result for result in results if _undefined(result) == 1]:
        listed = ", ".join(dict.fromkeys(result.predictor for result in half))
        yield f"– of {listed} only one of the coefficients is told or defined"
    few = {r.label: r.n for r in missing if r.n < 2}
    for label, n in few.items():
        yield f"– no figure on {label}: n = {n}, and a correlation needs two prompts"
    equal: dict[str, list[str]] = {}
    for result in missing:
        if result.label not in few:
            equal.setdefault(result.label, []).append(result.predictor)
    same: dict[str, list[str]] = {}
    for label, names in equal.items():
        if {r.predictor for r in results if r.label == label} == set(names):
            yield (
                f"– no figure on {label}: its true values, or what a predictor says of all of "
                "these prompts, are equal"
            )
        else:
            same.setdefault(", ".join(names), []).append(label)
    for together, labels in same.items():
        yield f"– no figure of {together} on {', '.join(labels)}: the same is said of all prompts"
