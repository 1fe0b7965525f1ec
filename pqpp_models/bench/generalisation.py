"""How a predictor does on prompts of another kind than those that it was fitted to.

A predictor of captions is asked about prompt sets with human judgments of other people:
DrawBench's prompts in PQPP (HBPP), GIMBRR's tasks (the share of four models whose image matched
the prompt), and any set with a prompt and a score. What counts is the order, so the coefficient is
Spearman's; with groups (GIMBRR's tasks) also its mean within the groups, which a predictor can't
reach by telling easy tasks from hard ones.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pqpp_metrics.functional.correlation import kendall_qpp, pearson_qpp, spearman_qpp


@dataclass(frozen=True)
class ScoredPrompts:
    """A set of prompts with one human score each.

    Attributes:
        name: What the set is called in tables.
        prompts: The prompts.
        scores: One score a prompt; higher is better, on any scale.
        groups: The group of each prompt, or None.
    """

    name: str
    prompts: Sequence[str]
    scores: Sequence[float]
    groups: Sequence[str] | None = None


@dataclass(frozen=True)
class GeneralisationResult:
    """A predictor on a set of prompts.

    Attributes:
        predictor: Its name.
        prompts: The name of the set.
        target: The target that the predictor was asked for.
        n: The number of prompts.
        spearman: Spearman's rank correlation over all prompts.
        spearman_ci_low: Lower bound of its 95 % confidence interval.
        spearman_ci_high: Upper bound.
        spearman_within_groups: Its mean over the groups whose scores differ; NaN without groups.
        groups: How many groups entered that mean.
        pearson: Pearson's r.
        kendall: Kendall's tau-b.
    """

    predictor: str
    prompts: str
    target: str
    n: int
    spearman: float
    spearman_ci_low: float
    spearman_ci_high: float
    spearman_within_groups: float
    groups: int
    pearson: float
    kendall: float


def evaluate_generalisation(
    predictors: Mapping[str, object], sets: Sequence[ScoredPrompts], target: str = "mean_hbpp"
) -> list[GeneralisationResult]:
    """Correlate each predictor with each set.

    Args:
        predictors: Name to `Predictor`.
        sets: The sets of prompts.
        target: What the predictors are asked for.

    Returns:
        A result for each set and predictor, set by set.

    Example:
        >>> from pqpp_models import Predictor
        >>> words = {"n_words": Predictor.from_pretrained("n_words")}
        >>> mine = ScoredPrompts("mine", ["a cat", "a red cat", "a cat on a mat"], [0.9, 0.8, 0.1])
        >>> round(evaluate_generalisation(words, [mine])[0].spearman, 6)
        -1.0
    """
    return [
        _result(name, predictor.predict(list(one.prompts), (target,))[:, 0], one, target)
        for one in sets
        for name, predictor in predictors.items()
    ]


def _result(name: str, predicted, one: ScoredPrompts, target: str) -> GeneralisationResult:
    scores = np.asarray(one.scores, dtype=float)
    spearman = spearman_qpp(predicted, scores)
    within = _within(predicted, scores, one.groups)
    return GeneralisationResult(
        predictor=name,
        prompts=one.name,
        target=target,
        n=len(scores),
        spearman=spearman["spearman_qpp"],
        spearman_ci_low=spearman["ci_low"],
        spearman_ci_high=spearman["ci_high"],
        spearman_within_groups=float(np.mean(within)) if within else math.nan,
        groups=len(within),
        pearson=pearson_qpp(predicted, scores)["pearson_qpp"],
        kendall=kendall_qpp(predicted, scores)["kendall_qpp"],
    )


def _within(predicted, scores, groups) -> list[float]:
    if groups is None:
        return []
    labels = np.asarray(groups)
    found = []
    for label in dict.fromkeys(groups):
        mine = labels == label
        if mine.sum() < 3 or np.ptp(scores[mine]) == 0:
            continue  # a group with one rate for all orders nothing
        rho = spearman_qpp(predicted[mine], scores[mine])["spearman_qpp"]
        found.append(0.0 if math.isnan(rho) else rho)  # a constant prediction orders nothing
    return found


def gimbrr_match_rates(annotations: Mapping[str, Sequence[Mapping]]) -> ScoredPrompts:
    """Return GIMBRR's prompts with the share of models whose image matched.

    The tasks called `Controlled ...` are left out, as in the paper's overall rates.

    Args:
        annotations: Model to its annotated images, rows of `load_dataset("pqpp",
            "gimbrr-annotations")`; only the first of duplicated annotations counts.

    Returns:
        A set grouped by task, in order of first appearance.
    """
    votes: dict[int, list[bool]] = {}
    about: dict[int, tuple[str, str]] = {}
    for rows in annotations.values():
        seen = set()
        for row in rows:
            if row["task"].startswith("Controlled") or row["prompt_id"] in seen:
                continue
            seen.add(row["prompt_id"])
            votes.setdefault(row["prompt_id"], []).append(row["matched"])
            about[row["prompt_id"]] = (row["prompt"], row["task"])
    rates = [sum(found) / len(found) for found in votes.values()]
    prompts, tasks = zip(*(about[prompt_id] for prompt_id in votes), strict=True)
    return ScoredPrompts("gimbrr", prompts, rates, tasks)


def format_generalisation(style: str, results: Sequence[GeneralisationResult]) -> str:
    """Return the results as `table`, `markdown`, `latex`, `csv` or `json`.

    Args:
        style: One of the five.
        results: What `evaluate_generalisation` returned.
    """
    import pandas as pd

    frame = pd.DataFrame([vars(result) for result in results])
    if style == "csv":
        return frame.to_csv(index=False)
    if style == "json":
        return '{"rows": ' + frame.to_json(orient="records", indent=1) + "}"
    header = ["prompts", "predictor", "n", "Spearman", "95 % interval", "within groups", "Kendall"]
    rows = [_row(result) for result in results]
    if style == "latex":
        table = pd.DataFrame(rows, columns=header)
        return table.to_latex(index=False, escape=True)
    from tabulate import tabulate

    return tabulate(
        rows, header, "github" if style == "markdown" else "simple", disable_numparse=True
    )


def _row(result: GeneralisationResult) -> list[str]:
    within = "–"
    if result.groups:
        within = f"{result.spearman_within_groups:.3f} ({result.groups} groups)"
    interval = f"{result.spearman_ci_low:.3f} to {result.spearman_ci_high:.3f}"
    values = (f"{result.spearman:.3f}", interval, within, f"{result.kendall:.3f}")
    return [result.prompts, result.predictor, str(result.n), *values]
