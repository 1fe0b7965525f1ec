"""The HTML report of a bench: the tables, and a picture of every predictor against the truth."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pqpp_files.render_page import render_page
from pqpp_models.bench.experiments import Cell
from pqpp_models.bench.held_out import marked, unranked
from pqpp_models.bench.notes import notes
from pqpp_models.bench.projection import Projection, space_figure
from pqpp_models.bench.protocol import Predictions, Result, cell_values, mark
from pqpp_models.bench.published import PublishedResult
from pqpp_models.bench.rows import halves, headings, labels_of, table_rows
from pqpp_models.bench.run import Run
from pqpp_models.explain.explanation import NOTE
from pqpp_models.explain.page import STYLE, coloured_words, scale_of
from pqpp_models.predictor import Predictor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWN = 1e100
_BINS = 10
_DIRECTIONS = {
    "easier": "",
    "harder": "a higher value means a harder prompt",
    "unknown": "highest and lowest values: which of them is harder is not known",
}


def render_report(
    run: Run,
    published: Sequence[PublishedResult] = (),
    spaces: Mapping[str, Projection] | None = None,
    explain: bool = False,
) -> str:
    """Return a self-contained HTML page with the tables and scatter plots.

    Args:
        run: Ours, of one split.
        published: Published figures to put beside them.
        spaces: Predictor to its space in two dimensions, a point a prompt.
        explain: Colour the words of the easiest and hardest prompts by what they add to the
            prediction, for predictors of texts.

    Returns:
        The page; its pictures are inside, so that it can be mailed as one file.
    """
    results, references, split = run.results, run.references, run.split
    spaces = spaces or {}
    pictures = [
        (one.predictor, _as_data_url(scatter_figure(one, references, results, split.sources)))
        for one in run.predictions
    ]
    return render_page(
        Path(__file__).with_name("report.html"),
        title=f"Prompt and query performance prediction: {split.config}, {split.name} split",
        generated=split.generated,
        measures=_measures(results, published),
        notes=notes(results, published),
        pictures=pictures,
        spaces=[
            (one.predictor, _as_data_url(_space(one, spaces[one.predictor], references, results)))
            for one in run.predictions
            if one.predictor in spaces
        ],
        style=STYLE,
        caution=NOTE if explain else "",
        extremes=[
            extreme_prompts(
                one,
                references,
                split.prompts,
                run.predictors.get(one.predictor) if explain else None,
            )
            for one in run.predictions
            if set(one.targets) & set(references)
        ],
    )


def _space(one: Predictions, space: Projection, references, results):
    """Draw a predictor's space, coloured by the first target of each measure."""
    first: dict[str, Result] = {}
    for result in results:
        if result.predictor == one.predictor and result.predicted in one.targets:
            first.setdefault(result.predicted.rsplit("_", 1)[1], result)
    colours = {
        result.target: [
            ("true", references[result.target]),
            ("predicted", one.values[:, one.targets.index(result.predicted)]),
        ]
        for result in first.values()
    }
    return space_figure(one.predictor, space, colours)


def extreme_prompts(
    one: Predictions,
    references: Mapping[str, Sequence[float | None]],
    prompts: Sequence[str],
    predictor: Predictor | None = None,
    count: int = 5,
) -> dict:
    """Return the prompts that a predictor takes for the easiest and the hardest.

    Where a higher value means a harder prompt the lowest are the easiest; where it is not known
    what a value means, the highest come first and the titles say so.

    Args:
        one: The predictions of one predictor; its first target that has references is used.
        references: Target to one true value a prompt, None where there is none.
        prompts: The prompts.
        predictor: The predictor itself; if it is one of texts, the prompts come as HTML with
            coloured words.
        count: How many of each.

    Returns:
        `predictor`, `target`, `note`, and `easiest` and `hardest`: lists of (prompt, predicted,
        true).
    """
    target = next(name for name in one.targets if name in references)
    values, true = one.values[:, one.targets.index(target)], references[target]
    sign = -1 if one.higher == "harder" else 1
    order = [i for i in np.argsort(-sign * values, kind="stable") if true[i] is not None]
    order = [i for i in order if not np.isnan(values[i])]
    shown = {i: " ".join(prompts[i].split()) for i in (*order[:count], *order[::-1][:count])}
    if predictor is not None and predictor.inputs == "text":
        asked = one.stand_ins.get(target, target)
        found = predictor.explain([prompts[i] for i in shown], asked)
        scale = scale_of(found)
        shown = {i: coloured_words(it, scale) for i, it in zip(shown, found, strict=True)}
    rows = [(shown[i], f"{values[i]:.3f}", f"{true[i]:.3f}") for i in order if i in shown]
    return {
        "predictor": one.predictor,
        "target": target,
        "note": _DIRECTIONS[one.higher],
        "easiest": rows[:count],
        "hardest": rows[::-1][:count],
    }


def scatter_figure(
    one: Predictions,
    references: Mapping[str, Sequence[float | None]],
    results: Sequence[Result],
    sources: Sequence[str] | None = None,
) -> Figure:
    """Return a matplotlib figure: predicted against true performance, a panel a column.

    The line joins the mean true value in each of ten groups of equally many prompts, by predicted
    value: a predictor that orders well has a rising line.

    Args:
        one: The predictions of one predictor.
        references: Target to one true value a prompt, None where there is none.
        results: The results to print over the panels; those of other predictors are passed over.
        sources: The source of each prompt; needed for results of one source.
    """
    from matplotlib.figure import Figure

    mine = [result for result in results if result.predictor == one.predictor]
    columns = min(3, len(mine))
    lines = math.ceil(len(mine) / columns)
    figure = Figure(figsize=(3.6 * columns, 2.9 * lines), layout="constrained", dpi=110)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for result, panel in zip(mine, panels, strict=False):
        cell = Cell(result.label, result.predicted, result.target, result.source)
        _draw(panel, *cell_values(one, cell, references[result.target], sources), result)
    for panel in panels[len(mine) :]:
        panel.set_axis_off()
    figure.suptitle(marked(one.predictor, unranked(mine).get(one.predictor)))
    return figure


def _draw(panel, predicted, reference, result: Result) -> None:
    # The ticks of an axis overflow where it holds the largest floats.
    predicted, reference = (np.clip(one, -_DRAWN, _DRAWN) for one in (predicted, reference))
    panel.scatter(predicted, reference, s=5, alpha=0.25, linewidths=0, color="#33658a")
    if len(predicted) >= 2 * _BINS:
        order = np.argsort(predicted, kind="stable")
        groups = np.array_split(order, _BINS)
        means = [(predicted[g].mean(), reference[g].mean()) for g in groups]
        line = {"color": "#d1495b", "linewidth": 2, "marker": "o", "markersize": 3}
        panel.plot(*zip(*means, strict=True), **line)
    panel.set_title(
        f"{result.label}: r = {result.pearson:.3f}{mark(result.pearson_p)}, "
        f"τ = {result.kendall:.3f}{mark(result.kendall_p)}",
        fontsize=9,
    )
    panel.set_xlabel("predicted", fontsize=8)
    panel.set_ylabel("true", fontsize=8)
    panel.tick_params(labelsize=7)


def _as_data_url(figure) -> str:
    buffer = io.BytesIO()
    # Without a date and a version in it, the same results give the same bytes.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _measures(results, published) -> list[dict]:
    tables = []
    for measure, title in headings(results).items():
        labels = labels_of(results, measure)
        rows = [
            {
                "name": row.name,
                "key": row.key,
                "cells": [h.strip() for n in range(len(labels)) for h in halves(row, n) or "––"],
            }
            for row in table_rows(labels, results, published)
        ]
        tables.append({"title": title, "labels": labels, "rows": rows})
    return tables
