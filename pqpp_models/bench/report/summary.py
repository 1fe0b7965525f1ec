"""What a report says first: the figures of its tables, in words."""

import math
from collections.abc import Mapping, Sequence

from pqpp_datasets.target_columns import Target
from pqpp_files.names import how_many
from pqpp_files.visible import visible
from pqpp_models.bench.held_out import fitted_notes
from pqpp_models.bench.protocol import Result
from pqpp_models.bench.published import PublishedResult
from pqpp_models.bench.report.ranking import comparable, leading
from pqpp_models.bench.rows import heading, headings, labels_of
from pqpp_models.bench.split import ALL_ROWS


def where(result: Result) -> str:
    """Return what a result was measured on, in words."""
    release = f" (release {result.release})" if result.release else ""
    part = "all rows" if result.split == ALL_ROWS else f"the {result.split} split"
    return f"{part} of {visible(result.config)}{release}"


def in_words(
    results: Sequence[Result], published: Sequence[PublishedResult], described: Mapping[str, Target]
) -> list[str]:
    """Return sentences: what was compared on what, who is first, and how published rows stand.

    Args:
        results: Ours, from one split.
        published: The published figures.
        described: What the dataset tells of its targets.
    """
    if not results:
        return ["Nothing was compared: no prompt has both a prediction and a true value."]
    names = dict.fromkeys(result.predictor for result in results)
    most = max(result.n for result in results)
    lines = [
        f"{how_many(len(names), 'predictor')} on {how_many(most, 'prompt')}: {where(results[0])}."
        " Pearson's r and Kendall's τ say how well predictions follow what was found:"
        " 1 is perfect, 0 is none at all."
    ]
    for measure in headings(results):
        own = [r for r in results if r.label in labels_of(results, measure)]
        label = leading(own, published)
        ranked = [r for r in own if r.label == label and r.ranked]
        known = sorted((r for r in ranked if not math.isnan(r.pearson)), key=lambda r: -r.pearson)
        if not known:
            lines.append(f"On {heading_of(own, label, described)} nobody has a figure.")
            continue
        heading = heading_of(own, label, described)
        lines.append(f"{_first(known, heading)}{_best(label, own, published)}")
    return [*lines, *(f"{visible(line)}." for line in fitted_notes(results))]


def heading_of(results: Sequence[Result], label: str, described: Mapping[str, Target]) -> str:
    """Return a column's heading in words."""
    result = next(r for r in results if r.label == label)
    return visible(heading(result, described.get(result.target)))


def _first(known: Sequence[Result], title: str) -> str:
    best = known[0]
    interval = ""
    if not math.isnan(best.pearson_ci_low + best.pearson_ci_high):
        interval = f" (95 % interval {best.pearson_ci_low:.3f} to {best.pearson_ci_high:.3f})"
    figures = f"r = {best.pearson:.3f}{interval}, τ = {best.kendall:.3f}"
    if len(known) == 1:
        return f"On {title} {visible(best.predictor)} has {figures}."
    last = known[-1]
    turned = ""
    if -last.pearson > best.pearson:
        name = visible(last.predictor)
        turned = f" {name} has {last.pearson:.3f}: turned round, it follows the true values closer."
    return (
        f"On {title} {visible(best.predictor)} is first with {figures}; "
        f"{visible(known[1].predictor)} follows with {known[1].pearson:.3f}.{turned}"
    )


def _best(label: str, results: Sequence[Result], published: Sequence[PublishedResult]) -> str:
    figures = [figure for figure in comparable(results, published) if figure.label == label]
    if not figures:
        return ""
    best = max(figures, key=lambda figure: figure.pearson)
    other = best.split != results[0].split
    rough = ", on other prompts: compare roughly" if other else ""
    return (
        f" The highest published figure is {best.pearson:.3f}, {best.title}, on the {best.split} "
        f"split{rough}."
    )
