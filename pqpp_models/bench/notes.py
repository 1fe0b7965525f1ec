"""The lines that say what the figures of a table are, and why some are missing."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pqpp_models.bench.protocol import (
    COEFFICIENTS,
    COMPARISON_NOTE,
    MARKS_NOTE,
    PublishedResult,
    Result,
    grouped,
    mean_over_targets,
)
from pqpp_models.bench.rows import coefficient_text, labels_of, published_groups
from pqpp_models.bench.split import ALL_ROWS, other_releases

_FEW = 30
GENERATED_NOTE = "GENERATED DATA: no human judged these prompts; the figures say nothing of models"


def notes(results: Sequence[Result], published: Sequence[PublishedResult]) -> list[str]:
    """Return the lines that say what a table's figures are."""
    lines = [GENERATED_NOTE] if any(result.generated for result in results) else []
    of_data = grouped(((r.config, r.release, r.split), r) for r in results)
    for (config, release, split), rows in of_data.items():
        # An entry of a leaderboard may tell a figure, and not of how many prompts.
        sizes = {r.label: r.n for r in rows if r.n > 1 or _undefined(r) == 2}
        by_size = grouped((n, label) for label, n in sizes.items())
        parts = [config, *([f"release {release}"] if release else [])]
        parts.append(split if split == ALL_ROWS else f"{split} split")
        each = [
            f"n = {n}" + (f" ({', '.join(labels)})" if len(by_size) > 1 else "")
            for n, labels in by_size.items()
        ]
        lines.append(f"rows: {', '.join([*parts, *filter(None, ['; '.join(each)])])}")
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
    for row in results:
        for coefficient in COEFFICIENTS:
            if warning := getattr(row, f"{coefficient}_baseline_warning"):
                name = f"{row.predictor} less {row.baseline} on {row.label}"
                lines.append(f"! {name}, {coefficient.title()}: {warning}")
    for key, (first, *_) in published_groups(published).items():
        lines.append(
            f"{key} published, {first.config}, {first.split} split, n = {first.n}: {first.source}"
        )
    return lines


def unranked(results: Iterable[Any]) -> dict[str, int]:
    """Return the predictors that were fitted to rows of a table, and to how many at most."""
    rows = grouped((r.predictor, r.fitted_rows) for r in results if r.fitted_rows)
    return {name: max(counts) for name, counts in rows.items()}


def fitted_notes(results: Iterable[Any]) -> list[str]:
    """Return the lines on what the predictors of a table were fitted to."""
    results = list(results)
    built = dict.fromkeys((r.predictor, r.stands_for) for r in results if r.stands_for)
    lines = [
        f"{build}, fitted on train alone, stands for {name}, which was fitted to more of these rows"
        for build, name in built
    ]
    out = unranked(results)
    if out:
        lines.append(f"fitted to rows of this table, not ranked: {', '.join(out)}")
    instead = [r for r in results if getattr(r, "stands_in", None)]
    taken = grouped(dict.fromkeys(((r.predictor, r.stands_in), r.target) for r in instead))
    for (name, own), targets in taken.items():
        without = f"{name} does not predict {', '.join(targets)}"
        lines.append(f"{without}: its {own} stands in, whose order counts")
    unknown = dict.fromkeys(result.predictor for result in results if result.fitted_rows is None)
    if unknown:
        lines.append(f"which rows they were fitted to is not recorded: {', '.join(unknown)}")
    fitted: dict[Any, None] = {}
    for result in results:
        if result.fitted_on:
            apart = result.fitted_rows is not None and result.predictor not in out
            on = (result.fitted_on, getattr(result, "trained_on", None), apart)
            fitted[on, result.predictor] = None
    for (split, data, apart), names in grouped(fitted).items():
        of = f" of {data}" if data else ""
        on_none = ", on none of these rows" if apart else ""
        lines.append(f"{', '.join(names)}: fitted on {split}{of}{on_none}")
    return lines


def _means(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line of means for each set of columns that a predictor has.

    A line has all predictors that have its columns, so that every mean in it is over the same ones.
    """
    columns = {n: set(some) for n, some in grouped((r.predictor, r.label) for r in results).items()}
    every = labels_of(results)
    for some in dict.fromkeys(map(frozenset, columns.values())):
        having = [r for r in results if r.label in some and some <= columns[r.predictor]]
        means = [
            f"{name} {coefficient_text(r).strip()} / {coefficient_text(tau).strip()}"
            for name, r, tau in mean_over_targets(having)
            if not (math.isnan(r) and math.isnan(tau))
        ]
        if len(some) < 2 or not means:
            continue
        which = f"all {len(every)} columns"
        if len(some) < len(every):
            which = f"{len(some)} of {len(every)} columns ({', '.join(labels_of(having))})"
        yield f"mean over {which}, Pearson / Kendall: {'; '.join(means)}"


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
    if half := dict.fromkeys(r.predictor for r in results if _undefined(r) == 1):
        yield f"– of {', '.join(half)} only one of the coefficients is told or defined"
    few = {r.label: r.n for r in missing if r.n < 2}
    for label, n in few.items():
        yield f"– no figure on {label}: n = {n}, and a correlation needs two prompts"
    equal = grouped((r.label, r.predictor) for r in missing if r.label not in few)
    for label in list(equal):
        if {r.predictor for r in results if r.label == label} == set(equal[label]):
            del equal[label]
            yield (
                f"– no figure on {label}: its true values, or what a predictor says of all of "
                "these prompts, are equal"
            )
    for together, labels in grouped((", ".join(n), label) for label, n in equal.items()).items():
        yield f"– no figure of {together} on {', '.join(labels)}: the same is said of all prompts"
