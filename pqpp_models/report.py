"""The HTML report of a bench: the tables, and a picture of every predictor against the truth."""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pqpp_models.protocol import Predictions, Result, mark
from pqpp_models.published import PublishedResult
from pqpp_models.result_tables import MEASURES, notes, published_groups, targets_of

_BINS = 10


def render_report(
    results: Sequence[Result],
    predictions: Sequence[Predictions],
    references: Mapping[str, Sequence[float | None]],
    published: Sequence[PublishedResult] = (),
    title: str = "Prompt and query performance prediction",
) -> str:
    """Return a self-contained HTML page with the tables and scatter plots.

    Args:
        results: Ours, of one split.
        predictions: What they were computed from.
        references: Target to one true value a prompt, None where there is none.
        published: Published figures to put beside them.
        title: The page's heading.

    Returns:
        The page; its pictures are inside, so that it can be mailed as one file.
    """
    from jinja2 import Environment, StrictUndefined

    template = Path(__file__).with_name("report.html").read_text("utf-8")
    page = Environment(autoescape=True, undefined=StrictUndefined).from_string(template)
    pictures = [
        (one.predictor, _as_data_url(scatter_figure(one, references, results)))
        for one in predictions
    ]
    return page.render(
        title=title,
        generated=any(result.generated for result in results),
        measures=_measures(results, published),
        notes=notes(results, published),
        pictures=pictures,
    )


def scatter_figure(
    one: Predictions, references: Mapping[str, Sequence[float | None]], results: Sequence[Result]
):
    """Return a matplotlib figure: predicted against true performance, a panel a target.

    The line joins the mean true value in each of ten groups of equally many prompts, by predicted
    value: a predictor that orders well has a rising line.

    Args:
        one: The predictions of one predictor.
        references: Target to one true value a prompt, None where there is none.
        results: The results to print over the panels.
    """
    from matplotlib.figure import Figure

    columns = min(3, len(one.targets))
    lines = math.ceil(len(one.targets) / columns)
    figure = Figure(figsize=(3.6 * columns, 2.9 * lines), layout="constrained", dpi=110)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    found = {r.target: r for r in results if r.predictor == one.predictor}
    for column, (target, panel) in enumerate(zip(one.targets, panels, strict=False)):
        _draw(panel, one.values[:, column], references[target], target, found[target])
    for panel in panels[len(one.targets) :]:
        panel.set_axis_off()
    figure.suptitle(one.predictor)
    return figure


def _draw(panel, predicted, true, target: str, result: Result) -> None:
    reference = np.array([math.nan if value is None else value for value in true], dtype=float)
    known = ~np.isnan(reference)
    predicted, reference = predicted[known], reference[known]
    panel.scatter(predicted, reference, s=5, alpha=0.25, linewidths=0, color="#33658a")
    if len(predicted) >= 2 * _BINS:
        order = np.argsort(predicted, kind="stable")
        groups = np.array_split(order, _BINS)
        means = [(predicted[g].mean(), reference[g].mean()) for g in groups]
        panel.plot(
            *zip(*means, strict=True), color="#d1495b", linewidth=2, marker="o", markersize=3
        )
    panel.set_title(
        f"{target}: r = {result.pearson:.3f}{mark(result.pearson_p)}, "
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
    for measure, title in MEASURES.items():
        targets = [t for t in targets_of(results) if t.endswith(f"_{measure}")]
        if targets:
            tables.append(
                {"title": title, "targets": targets, "rows": _rows(targets, results, published)}
            )
    return tables


def _rows(targets, results, published) -> list[dict]:
    groups = [("", list(results)), *published_groups(published).items()]
    rows = []
    for key, group in groups:
        for name in dict.fromkeys(r.predictor for r in group):
            cells = {r.target: r for r in group if r.predictor == name}
            if any(target in cells for target in targets):
                halves = [half for t in targets for half in _halves(cells.get(t))]
                rows.append({"name": name, "key": key, "cells": halves})
    return rows


def _halves(result) -> tuple[str, str]:
    if result is None:
        return "–", "–"
    return (
        _number(result.pearson, getattr(result, "pearson_p", math.nan)),
        _number(result.kendall, getattr(result, "kendall_p", math.nan)),
    )


def _number(value: float, p: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}{mark(p)}"
