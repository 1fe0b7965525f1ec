"""The page: a summary, the ranking, tables, and every predictor beside the truth."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pqpp_files.render_page import render_page
from pqpp_files.visible import visible
from pqpp_models.bench.differences import HEADINGS, differences
from pqpp_models.bench.held_out import marked, unranked
from pqpp_models.bench.notes import notes
from pqpp_models.bench.protocol import Result
from pqpp_models.bench.published import PublishedResult
from pqpp_models.bench.report.extremes import extreme_prompts
from pqpp_models.bench.report.panels import FEW, panel
from pqpp_models.bench.report.ranking import leading, ranked_rows
from pqpp_models.bench.report.spaces import space_panels
from pqpp_models.bench.report.summary import heading_of, in_words
from pqpp_models.bench.rows import (
    COEFFICIENTS,
    FITTED,
    TableRow,
    halves,
    headings,
    labels_of,
    published_groups,
    table_rows,
)
from pqpp_models.bench.run import BenchRun
from pqpp_models.explain.explanation import NOTE
from pqpp_models.explain.page import STYLE


def render_report(
    run: BenchRun,
    published: Sequence[PublishedResult] = (),
    spaces: Mapping[str, NDArray] | None = None,
    explain: bool = False,
    coefficient: str = "pearson",
    summary: Sequence[str] = (),
    title: str = "",
) -> str:
    """Return a self-contained HTML page: a summary, a ranking, tables and charts.

    Args:
        run: Ours, of one split.
        published: Published figures to put beside them.
        spaces: Predictor to its space in two dimensions, a point a prompt.
        explain: Colour the words of the easiest and hardest prompts by what they add to the
            prediction, for predictors of texts.
        coefficient: By which the ranking is, `pearson` or `kendall`.
        summary: Sentences to begin with, in the place of those on who is first.
        title: Of the page, in the place of one that names the split.

    Returns:
        The page; its charts are inside, so that it can be mailed as one file.
    """
    results, split = run.results, run.split
    titles = {r.label: heading_of([r], r.label, split.told) for r in reversed(results)}
    label = leading(results, published)
    out = unranked(results)
    measured = {r.predictor for r in results if r.pearson == r.pearson or r.kendall == r.kendall}
    shown = [prediction for prediction in run.predictions if prediction.predictor in measured]
    return render_page(
        Path(__file__).with_name("report.html"),
        title=visible(title),
        name=visible(split.config),
        split=visible(split.name),
        generated=split.generated,
        summary=[visible(s) for s in summary] or in_words(results, published, split.told),
        ranking={
            **ranked_rows(results, published, label, coefficient),
            "title": titles.get(label, ""),
        },
        measures=_measures(results, published, titles),
        differences={
            "baseline": visible(str(results[0].baseline)) if results else "",
            "headings": HEADINGS,
            "rows": [
                (visible(name), titles.get(column, column), *rest)
                for name, column, *rest in differences(results)
            ],
        },
        notes=[visible(line) for line in notes(results, published)],
        few=FEW,
        predictors=[
            {
                "name": visible(marked(predictions.predictor, out.get(predictions.predictor))),
                "panels": _panels(run, predictions, titles),
            }
            for predictions in shown
        ],
        without=[visible(p.predictor) for p in run.predictions if p.predictor not in measured],
        spaces=[
            {
                "name": visible(prediction.predictor),
                "panels": space_panels(
                    prediction, spaces[prediction.predictor], run.references, results, titles
                ),
            }
            for prediction in run.predictions
            if spaces and prediction.predictor in spaces
        ],
        style=STYLE,
        caution=NOTE if explain else "",
        extremes=[
            extreme_prompts(
                predictions,
                run.references,
                split.prompts,
                titles,
                run.predictors.get(predictions.predictor) if explain else None,
            )
            for predictions in shown
            if set(predictions.targets) & set(run.references)
        ],
    )


def _panels(run: BenchRun, predictions: Any, titles: Mapping[str, str]) -> list[dict[str, Any]]:
    predictor = run.predictors.get(predictions.predictor)
    in_units = bool(predictor is not None and predictor.supervised and not predictor.one_score)
    return [
        panel(
            predictions,
            result,
            titles[result.label],
            run.references,
            run.split.sources,
            in_units and result.predicted == result.target and result.stands_in is None,
        )
        for result in run.results
        if result.predictor == predictions.predictor
    ]


def _measures(
    results: Sequence[Result], published: Sequence[PublishedResult], titles: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the tables of each measure: ours, and one of each published source."""
    tables = []
    for measure, title in headings(results).items():
        labels = labels_of(results, measure)
        beside = []
        for key, group in published_groups(published).items():
            own = [label for label in labels if any(r.label == label for r in group)]
            if own:
                first = group[0]
                caption = (
                    f"{key} Published: {first.source}; {first.config}, {first.split} split, "
                    f"{first.n} prompts."
                )
                beside.append({"caption": caption, **_table(own, titles, [], group)})
        tables.append(
            {
                "id": measure,
                "title": title,
                "caption": "",
                **_table(labels, titles, results, []),
                "published": beside,
            }
        )
    return tables


def _table(labels, titles, results, published) -> dict[str, Any]:
    rows = list(table_rows(labels, results, published))
    return {
        "headings": [titles[label] for label in labels],
        "rows": [
            {
                "name": _name(row),
                "fitted": row.key == FITTED,
                "cells": [cell for at in range(len(labels)) for cell in _cells(row, at)],
            }
            for row in rows
        ],
    }


def _name(row: TableRow) -> str:
    first = next((cell for cell in row.cells if isinstance(cell, PublishedResult)), None)
    return first.title if first else visible(row.name)


def _cells(row: TableRow, column: int) -> list[dict[str, Any] | None]:
    texts, result = halves(row, column), row.cells[column]
    if texts is None:
        return [None, None]
    cells: list[dict[str, Any] | None] = []
    for text, name in zip(texts, COEFFICIENTS, strict=True):
        ends = [getattr(result, f"{name}_ci_{end}", math.nan) for end in ("low", "high")]
        interval = "" if any(map(math.isnan, ends)) else "{:.3f} to {:.3f}".format(*ends)
        cells.append({"text": text.strip(), "interval": interval, "best": row.best(column, name)})
    return cells
