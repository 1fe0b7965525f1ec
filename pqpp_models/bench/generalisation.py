"""How a predictor does on prompts of another kind than those that it was fitted to.

A predictor of captions is asked about prompt sets with human judgments of other people:
DrawBench's prompts in PQPP (HBPP), GIMBRR's tasks (the share of four models whose image matched
the prompt), and any set with a prompt and a score. What counts is the order, so the coefficient is
Spearman's; with groups (GIMBRR's tasks) also its mean within the groups, which a predictor can't
reach by telling easy tasks from hard ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.target_columns import measure_of
from pqpp_metrics.functional import qpp_report, spearman_qpp
from pqpp_models.bench.held_out import (
    fitted_among,
    fitted_notes,
    held_out_builds,
    marked,
)
from pqpp_models.bench.scored_prompts import ScoredPrompts
from pqpp_models.bench.split import other_releases
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.targets import stand_in

FITTED_NOTE = (
    "Only a predictor that was fitted without a set\nis tested by it; its card says what it was "
    "fitted to."
)
NOTE = (
    "drawbench: every DrawBench prompt of this copy; gimbrr: the share of four models whose image\n"
    "matched, without the tasks called Controlled. " + FITTED_NOTE
)


@dataclass(frozen=True)
class GeneralisationResult:
    """A predictor on a set of prompts.

    Attributes:
        predictor: Its name.
        prompts: The name of the set.
        data: Where the set comes from.
        target: The target that the predictor was asked for.
        n: The number of prompts.
        spearman: Spearman's rank correlation over all prompts.
        spearman_ci_low: Lower bound of its 95 % confidence interval.
        spearman_ci_high: Upper bound.
        spearman_within_groups: Its mean over the groups whose scores differ; NaN without groups.
        groups: How many groups entered that mean.
        pearson: Pearson's r.
        kendall: Kendall's tau-b.
        trained_on: The configuration of PQPP that the predictor was trained on, if it is told.
        fitted_on: Its split, like `train + validation`, if that is told.
        fitted_rows: To how many of the n it was fitted, None where it records none.
        ranked: Whether it was fitted to none of them.
        stands_for: The release for which this build was taken, which was fitted to some of them.
    """

    predictor: str
    prompts: str
    data: str
    target: str
    n: int
    spearman: float
    spearman_ci_low: float
    spearman_ci_high: float
    spearman_within_groups: float
    groups: int
    pearson: float
    kendall: float
    trained_on: str | None = None
    fitted_on: str | None = None
    fitted_rows: int | None = 0
    ranked: bool = True
    stands_for: str | None = None


def evaluate_held_out(
    predictors: Mapping[str, Predictor],
    sets: Sequence[ScoredPrompts],
    target: str = "mean_hbpp",
    progress: bool = False,
) -> tuple[list[GeneralisationResult], list[str]]:
    """Do as `evaluate_generalisation`, with the builds of releases that learned some of a set.

    Returns:
        The results, those that are not ranked last in each set; and a line on each build that could
        not be had.
    """
    results, notes = [], []
    _require_measures(predictors, sets, target)
    for one in sets:
        builds = held_out_builds(predictors, one.rows)
        able = {n: p for n, p in builds.predictors.items() if _asked(p, one, target)}
        notes += [
            f"without {name} on {one.name}: it predicts {', '.join(other.targets)} only"
            for name, other in builds.predictors.items()
            if name not in able
        ]
        found = evaluate_generalisation(able, [one], target, progress)
        found = [replace(r, stands_for=builds.stands_for.get(r.predictor)) for r in found]
        results += sorted(found, key=lambda result: not result.ranked)
        notes += builds.notes
    return results, list(dict.fromkeys(notes))


def evaluate_generalisation(
    predictors: Mapping[str, Predictor],
    sets: Sequence[ScoredPrompts],
    target: str = "mean_hbpp",
    progress: bool = False,
) -> list[GeneralisationResult]:
    """Correlate each predictor with each set.

    Args:
        predictors: Name to `Predictor`.
        sets: The sets of prompts.
        target: What the predictors are asked for, where a set does not say. One that does not have
            it is asked for what stands in, by `stand_in`; where nothing does for what a set says,
            for this target, if both are of one task.
        progress: Show a progress bar on standard error.

    Returns:
        A result for each set and predictor that has a target of its measure, set by set.

    Raises:
        PredictorError: A predictor has none for any set.

    Example:
        >>> from pqpp_models import Predictor
        >>> words = {"n_words": Predictor.from_pretrained("n_words")}
        >>> mine = ScoredPrompts("mine", ["a cat", "a red cat", "a cat on a mat"], [0.9, 0.8, 0.1])
        >>> round(evaluate_generalisation(words, [mine])[0].spearman, 6)
        -1.0
    """
    from tqdm.auto import tqdm

    _require_measures(predictors, sets, target)
    asked = {
        (place, name): _asked(predictor, one, target)
        for place, one in enumerate(sets)
        for name, predictor in predictors.items()
    }
    known = [(key, found) for key, found in asked.items() if found]
    bar = tqdm(known, desc="predicting", unit="set", disable=not progress)
    return [_result(name, predictors[name], sets[at], found) for (at, name), found in bar]


def _require_measures(
    predictors: Mapping[str, Predictor], sets: Sequence[ScoredPrompts], target: str
) -> None:
    wanted = list(dict.fromkeys(one.target or target for one in sets))
    for name, predictor in predictors.items():
        if sets and not any(_asked(predictor, one, target) for one in sets):
            raise PredictorError(
                f"{name} predicts {', '.join(predictor.targets)}, nothing of the measure of "
                f"{', '.join(wanted)}; leave it out, or name other targets"
            )


def _result(name: str, predictor, one: ScoredPrompts, target: str) -> GeneralisationResult:
    asked = None if getattr(predictor, "one_score", False) else (target,)
    predicted = predictor.predict(list(one.prompts), asked)[:, 0]
    known = ~np.isnan(predicted)  # a blank prompt has no prediction
    predicted, scores = predicted[known], np.asarray(one.scores, dtype=float)[known]
    groups = None if one.groups is None else np.asarray(one.groups)[known]
    found = qpp_report(predicted, scores, measures=("spearman", "pearson", "kendall"))
    within = within_groups(predicted, scores, groups)
    fitted = fitted_among(predictor, one.rows)
    fitted_rows = None if fitted is None else int(fitted[known].sum())
    return GeneralisationResult(
        predictor=name,
        prompts=one.name,
        data=one.data,
        target=target,
        n=len(scores),
        spearman=found["spearman_qpp"]["spearman_qpp"],
        spearman_ci_low=found["spearman_qpp"]["ci_low"],
        spearman_ci_high=found["spearman_qpp"]["ci_high"],
        spearman_within_groups=float(np.mean(within)) if within else math.nan,
        groups=len(within),
        pearson=found["pearson_qpp"]["pearson_qpp"],
        kendall=found["kendall_qpp"]["kendall_qpp"],
        trained_on=getattr(predictor, "trained_on", None),
        fitted_on=getattr(predictor, "fitted_on", None),
        fitted_rows=fitted_rows,
        ranked=not fitted_rows,
    )


def _asked(predictor: Any, one: ScoredPrompts, target: str) -> str | None:
    """Return what a predictor is asked for; one without training stands for any target."""
    wanted = one.target or target
    if getattr(predictor, "one_score", False):
        return wanted
    available = getattr(predictor, "targets", (wanted,))
    tasks = {measure.task if (measure := measure_of(one)) else None for one in (wanted, target)}
    other = stand_in(target, available) if len(tasks) == 1 and None not in tasks else None
    return stand_in(wanted, available) or other


def within_groups(
    predicted: NDArray[np.float64], scores: NDArray[np.float64], groups: NDArray[np.str_] | None
) -> list[float]:
    """Return Spearman's coefficient in each group whose scores differ, three prompts at least.

    >>> found = within_groups(np.arange(4.0), np.array([1.0, 2, 3, 9]), np.array(list("aaab")))
    >>> [round(one, 6) for one in found]
    [1.0]
    """
    if groups is None:
        return []
    found = []
    for label in dict.fromkeys(groups.tolist()):
        mine = groups == label
        if mine.sum() < 3 or np.ptp(scores[mine]) == 0:
            continue  # a group with one rate for all orders nothing
        rho = spearman_qpp(predicted[mine], scores[mine])["spearman_qpp"]
        found.append(0.0 if math.isnan(rho) else rho)  # a constant prediction orders nothing
    return found


def format_generalisation(style: str, results: Sequence[GeneralisationResult]) -> str:
    """Return the results as `table`, `markdown`, `latex`, `csv` or `json`.

    Args:
        style: One of the five.
        results: What `evaluate_generalisation` returned.
    """
    import pandas as pd

    notes = [f"{name}: {data}, n = {n}" for name, data, n in _sets(results)]
    of_pqpp = {one.predictor: one.trained_on for one in results if one.data.startswith("pqpp (")}
    notes += other_releases(of_pqpp, "pqpp")
    notes += fitted_notes(results)
    frame = pd.DataFrame([vars(result) for result in results])
    if style == "csv":
        return frame.to_csv(index=False)
    if style == "json":
        return '{"rows": ' + frame.to_json(orient="records", indent=1) + "}"
    figures = ["Spearman", "95 % interval", "within groups", "Kendall"]
    header = ["prompts", "predictor", "asked for", "n", *figures]
    rows = [_row(result) for result in results]
    if style == "latex":
        frame = pd.DataFrame(rows, columns=header)
        comments = "".join(f"% {note}\n" for note in notes)
        return comments + frame.to_latex(index=False, escape=True)
    from tabulate import tabulate

    from pqpp_files.visible import markdown_cell, visible

    look, shown = ("github", markdown_cell) if style == "markdown" else ("simple", visible)
    table = tabulate([list(map(shown, row)) for row in rows], header, look, disable_numparse=True)
    ours = any(result.data.startswith(("pqpp (", "gimbrr")) for result in results)
    return "\n".join([table, "", *notes, NOTE if ours else FITTED_NOTE])


def _sets(results: Sequence[GeneralisationResult]) -> list[tuple[str, str, int]]:
    """Return each set's name, where it comes from, and its size."""
    return list(dict.fromkeys((one.prompts, one.data, one.n) for one in results))


def _row(result: GeneralisationResult) -> list[str]:
    within = "–"
    if result.groups:
        within = f"{result.spearman_within_groups:.3f} ({result.groups} groups)"
    interval = f"{result.spearman_ci_low:.3f} to {result.spearman_ci_high:.3f}"
    values = (f"{result.spearman:.3f}", interval, within, f"{result.kendall:.3f}")
    name = marked(result.predictor, result.fitted_rows)
    return [result.prompts, name, result.target, str(result.n), *values]
