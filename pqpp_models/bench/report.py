"""The HTML report of a benchmark run."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.names import pluralize
from pqpp_files.render_page import render_page
from pqpp_models.bench import charts, tables
from pqpp_models.bench.protocol import Predictions, PublishedResult, Result
from pqpp_models.bench.run import BenchRun
from pqpp_models.bench.split import ALL_ROWS


def render_report(
    run: BenchRun,
    published: Sequence[PublishedResult] = (),
    spaces: Mapping[str, NDArray] | None = None,
    coefficient: str = "pearson",
    summary: Sequence[str] = (),
    title: str = "",
) -> str:
    """Render a self-contained HTML page with a summary, a ranking, tables and charts.

    Args:
        run: The results of one split.
        spaces: Two-dimensional embeddings by predictor, one point per prompt.
        coefficient: The coefficient of the ranking, `pearson` or `kendall`.
        summary: The sentences of the summary; default: sentences on the best predictors.
        title: Title of the page; default: one that names the split.
    """
    results, split = run.results, run.split
    titles = {
        r.label: tables.format_heading(r, split.targets.get(r.target)) for r in reversed(results)
    }
    label = charts.find_main_column(results, published)
    fitted_rows = tables.count_fitted_rows(results)
    panels, embeddings, extremes, without = {}, {}, [], []
    for predictions in run.predictions:
        name, predictor = predictions.predictor, run.predictors.get(predictions.predictor)
        if spaces and name in spaces:
            embeddings[name] = charts.make_embedding_panels(
                predictions, spaces[name], run.references, results, titles
            )
        predictor_results = [result for result in results if result.predictor == name]
        if all(math.isnan(r.pearson) and math.isnan(r.kendall) for r in predictor_results):
            without.append(name)
            continue
        in_units = predictor is not None and predictor.supervised and not predictor.is_scalar
        panels[tables.format_name(name, fitted_rows.get(name))] = [
            charts.make_scatter_panel(
                predictions,
                result,
                titles[result.label],
                run.references,
                split.sources,
                in_units and result.predicted == result.target and result.stands_in is None,
            )
            for result in predictor_results
        ]
        if set(predictions.targets) & set(run.references):
            extremes.append(list_extremes(predictions, run.references, split.prompts, titles))
    ranking = charts.rank_rows(results, published, label, coefficient)
    return render_page(
        Path(__file__).with_name("report.html"),
        title=title,
        name=split.config,
        split=split.name,
        generated=split.is_generated,
        summary=list(summary) or summarise(results, published, titles),
        ranking={**ranking, "title": titles.get(label, "")},
        measures=_make_tables(results, published, titles),
        baseline=str(results[0].baseline) if results else "",
        headings=tables.DIFFERENCE_HEADINGS,
        differences=[
            (name, titles.get(column, column), *rest)
            for name, column, *rest in tables.list_differences(results)
        ],
        notes=tables.list_notes(results, published, True),
        most_points=charts.MOST_POINTS,
        predictors=panels,
        without=without,
        spaces=embeddings,
        extremes=extremes,
    )


def _make_tables(
    results: Sequence[Result], published: Sequence[PublishedResult], titles: Mapping[str, str]
) -> list[dict[str, Any]]:
    captions = {
        key: f"{key} Published: {first.source}; {first.config}, {first.split} split, "
        f"{first.n} prompts."
        for key, (first, *_) in tables.group_published(published).items()
    }
    measures = []
    for block in tables.make_tables(results, published):
        parts = []
        for key, caption in {"": "", **captions}.items():
            keys = (key,) if key else ("", tables.FITTED)
            rows = [row for row in block.rows if row.key in keys]
            columns = range(len(block.labels))
            shown = [n for n in columns if not key or any(row.cells[n] for row in rows)]
            lines = [(r.title, r.key == tables.FITTED, [r.cells[n] for n in shown]) for r in rows]
            headings = [titles[block.labels[n]] for n in shown]
            if headings:
                parts.append({"caption": caption, "headings": headings, "rows": lines})
        measures.append({"id": block.measure, "title": block.title, "tables": parts})
    return measures


_DIRECTIONS = {
    "easier": "",
    "harder": "a higher value means a harder prompt",
    "unknown": "highest and lowest values; which are harder is not known",
}


def list_extremes(
    predictions: Predictions,
    references: Mapping[str, Sequence[float | None]],
    prompts: Sequence[str],
    titles: Mapping[str, str],
    count: int = 5,
) -> dict:
    """Return the template data for the prompts that are easiest and hardest by prediction.

    If the direction of the predictor is unknown, the highest values are listed as the easiest.

    Args:
        predictions: The predictions; the first target with references is used.
        references: The true values by target, one per prompt; None if missing.
        titles: The displayed title of each column.
        count: Number of the easiest prompts, and of the hardest.
    """
    target = next(name for name in predictions.targets if name in references)
    values = predictions.values[:, predictions.targets.index(target)]
    true = np.array(references[target], dtype=float)
    sign = -1 if predictions.higher_is == "harder" else 1
    is_known = ~np.isnan(values + true)
    order = [i for i in np.argsort(-sign * values, kind="stable") if is_known[i]]
    count = min(count, len(order) // 2)  # a prompt is in one of the two lists
    texts = {i: " ".join(prompts[i].split()) for i in (*order[:count], *order[::-1][:count])}
    rows = [(texts[i], f"{values[i]:.3f}", f"{true[i]:.3f}") for i in order if i in texts]
    return {
        "predictor": predictions.predictor,
        "title": titles.get(target, target),
        "note": _DIRECTIONS[predictions.higher_is],
        "easiest": rows[:count],
        "hardest": rows[::-1][:count],
    }


def summarise(
    results: Sequence[Result], published: Sequence[PublishedResult], titles: Mapping[str, str]
) -> list[str]:
    """Return sentences that name the best predictor of each measure and describe the split.

    Args:
        titles: Title by column.
    """
    if not results:
        return ["No prompt has both a prediction and a true value."]
    names = dict.fromkeys(result.predictor for result in results)
    max_n = max(result.n for result in results)
    first = results[0]
    release = f" (release {first.release})" if first.release else ""
    part = "all rows" if first.split == ALL_ROWS else f"the {first.split} split"
    lines = []
    for measure in tables.list_headings(results):
        cells = [r for r in results if r.label in tables.list_columns(results, measure)]
        label = charts.find_main_column(cells, published)
        ranked = [r for r in cells if r.label == label and r.ranked and not math.isnan(r.pearson)]
        ranked.sort(key=lambda r: -r.pearson)
        if not ranked:
            lines.append(f"No predictor has a figure for {titles[label]}.")
            continue
        best = ranked[0]
        ends = tables.get_interval(best, "pearson")
        if len(ranked) > 1 and (best.n < tables.FEW or (ends and ends[0] <= 0 <= ends[1])):
            line = f"These {best.n} prompts do not show which predictor is best."
            lines += [] if line in lines else [line]
            continue
        interval = " (95% interval {:.3f} to {:.3f})".format(*ends) if ends else ""
        runner_up = [f"; {r.predictor} follows with r = {r.pearson:.3f}" for r in ranked[1:2]]
        line = (
            f"{best.predictor} predicts {titles[label]}{' best' if runner_up else ''}: "
            f"r = {best.pearson:.3f}{interval}, τ = {best.kendall:.3f}{''.join(runner_up)}."
        )
        rows = charts.select_same_release(cells, published)
        figures = [row for row in rows if row.label == label]
        if top := max(figures, key=lambda figure: figure.pearson, default=None):
            caveat = "" if top.split == first.split else ", on other prompts: compare roughly"
            line += (
                f" The highest published figure is {top.pearson:.3f}, {top.title}, on the "
                f"{top.split} split{caveat}."
            )
        lines.append(line)
    lines += [
        f"{pluralize(len(names), 'predictor')} on {pluralize(max_n, 'prompt')}: {part} of "
        f"{first.config}{release}. Pearson's r and Kendall's τ measure agreement with the "
        "true values: 1 is perfect, 0 is none.",
        *(f"{line}." for line in tables.note_few_prompts(results)),
    ]
    return [*lines, *(f"{line}." for line in tables.note_fitted_rows(results))]
