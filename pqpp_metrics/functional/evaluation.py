"""Compute several ranking measures at once and their means with intervals, and compare runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._containers import Floats, Values
from pqpp_metrics.functional._measures import compute_measures, parse_measure, split_measure_names
from pqpp_metrics.functional._rankings.inputs import RankingRules, Rules
from pqpp_metrics.functional._resampled import run_sign_flip_test
from pqpp_metrics.functional._studentised import get_mean_interval, get_standard_error, make_warning
from pqpp_metrics.functional.significance import holm

# Values up to this can be summed over any number of queries.
_MAX_SIZE = 1e290


def evaluate_rankings(
    *,
    scores: Values,
    relevance: Values,
    measures: str | Iterable[str],
    **rules: Unpack[RankingRules],
) -> dict[str, Floats]:
    """Compute several measures of the same rankings, sorting the documents of a query once.

    Measures are named as in ir_measures or trec_eval, in upper or lower case: `ndcg@10`
    `ndcg_cut_10`, `p@10` `P_10`, `map` `ap`, `rr` `recip_rank`, `recall@100`, `success@5`, `rprec`;
    or like the functions of this package. Brackets contain options: `P(rel=2)@5`, `ndcg(gains={1:
    1, 2: 5})@10`.

    Inputs and rules are those of `ranking`.

    Args:
        scores: Shape (queries, documents), higher is ranked first; or rows of any lengths.
        relevance: Grades, same shape; NaN or -1 if there is no judgment, which is read as not
            relevant.
        measures: Names, as a list or one string with commas.
        unretrieved: Grades of documents that were not retrieved; NaN pads rows.

    Returns:
        dict from measure, as named in the call, to a float64 numpy array (queries,).

    Raises:
        MetricInputError: an unknown measure, or input that a measure does not accept.

    Example:
        >>> ranked = {"scores": [[3, 2, 1]], "relevance": [[0, 2, 1]]}
        >>> result = evaluate_rankings(**ranked, measures="rr, ndcg@10, P_2")
        >>> {name: values.round(4).tolist() for name, values in result.items()}
        {'rr': [0.5], 'ndcg@10': [0.6697], 'P_2': [0.5]}
    """
    parsed = [parse_measure(name) for name in split_measure_names(measures)]
    return compute_measures(parsed, scores, relevance, Rules(**rules))


def mean_intervals(
    values: Mapping[str, Values], confidence: float = 0.95
) -> dict[str, dict[str, float]]:
    """Return means over queries with intervals.

    If all values are 0 or 1, the interval is Wilson's (Journal of the American Statistical
    Association 22, 1927). Otherwise it is Student's t interval, corrected for skewness by the
    transformation of Hall (Journal of the Royal Statistical Society B 54, 1992), with degrees of
    freedom estimated from the values. It assumes independent queries, but no distribution of
    values. Its coverage is measured in benchmarks/calibration.md.

    Args:
        values: The values of each measure by name, (queries,), as `evaluate_rankings` returns them.
        confidence: Level of the intervals, between 0 and 1.

    Returns:
        dict from measure to a dict: "mean", "ci_low", "ci_high" (NaN for a single query), "n". If
        all values are in [0, 1], as for all measures of this package, the interval is too.

    Example:
        >>> result = mean_intervals({"rr": [1.0, 0.5, 0.5, 1.0, 0.25, 1.0]})["rr"]
        >>> round(result["mean"], 3), result["ci_low"] < 0.6 < result["ci_high"]
        (0.708, True)
    """
    names, table = _to_table("values", values)
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    means: dict[str, dict[str, float]] = {}
    for name, x in zip(names, table.T, strict=True):
        low, high = get_mean_interval(np.sort(x), confidence)
        if x.min() >= 0 and x.max() <= 1:
            low, high = max(low, 0.0), min(high, 1.0)
        means[name] = {"mean": float(x.mean()), "ci_low": low, "ci_high": high, "n": len(x)}
    return means


def _to_table(name, values):
    """Return the measures' names, and their values as float64 (queries, measures)."""
    if not isinstance(values, Mapping) or not values:
        rule = "must be a dict from a measure's name to one value per query"
        raise _inputs.not_allowed_error(name, values, rule)
    columns = [_inputs.as_floats(str(key), column, ndim=1) for key, column in values.items()]
    if len({len(column) for column in columns}) > 1:
        raise MetricInputError(f"all measures of `{name}` must have the same number of queries")
    table = np.stack(columns, axis=1)
    if (largest := float(np.abs(table).max())) > _MAX_SIZE:
        raise MetricInputError(f"`{name}` must be within ±{_MAX_SIZE:g}; got ±{largest:g}")
    return list(values), table


def compare_means(
    runs: Mapping[str, Mapping[str, Values]],
    permutations: int = 10_000,
    alpha: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Test whether the means of runs over the same queries differ, for each pair and measure.

    Each is a permutation test on the paired differences: if two runs are exchangeable, swapping
    their values for a query does not change the distribution (Good, "Permutation, Parametric and
    Bootstrap Tests of Hypotheses", 2005, chapter 3). If only the means are equal, the test is valid
    for many queries, like Student's t-test. Holm's correction covers all tests of the table.

    Args:
        runs: The result of `evaluate_rankings` for each run by name, with the same measures and
            queries in the same order.
        permutations: Number of random permutations.
        alpha: Significance level, between 0 and 1.
        confidence: Level of the intervals, between 0 and 1.
        seed: An integer of at least 0.

    Returns:
        list of dicts, one per pair of runs and measure: "measure", "run", "other_run", "difference"
        of the means (first minus second), "ci_low" and "ci_high", the difference's interval from
        the same permutations (NaN for a single query, infinite for very few queries), "p_value"
        (two-sided, never 0; 1 if the runs are equal), "adjusted" by `holm`, "rejected", "n",
        "largest_share", the largest share of one query in the variance of the difference, and
        "warning", a reason to doubt the p-value, or "".

    Raises:
        MetricInputError: fewer than two runs, or runs with different measures or numbers of
            queries.

    Example:
        >>> a, b = {"rr": [1, 0.5, 1, 1, 0.5, 1]}, {"rr": [0.5, 0.2, 0.5, 0.3, 0.2, 0.5]}
        >>> (row,) = compare_means({"a": a, "b": b})
        >>> round(row["difference"], 3), row["p_value"] < 0.05
        (0.467, True)
    """
    permutations, seed = _inputs.require_draws(seed, permutations=permutations)
    confidence = _inputs.require_between("confidence", confidence, 0, 1)
    if not isinstance(runs, Mapping) or len(runs) < 2:
        raise MetricInputError("`runs` must be a dict of two or more runs")
    tables = {name: _to_table(str(name), values) for name, values in runs.items()}
    (measures, first), *others = tables.values()
    if any(names != measures or len(table) != len(first) for names, table in others):
        raise MetricInputError("all `runs` must have the same measures and queries")
    pairs = list(itertools.combinations(tables, 2))
    differences = np.hstack([tables[run][1] - tables[other][1] for run, other in pairs])
    p_values, halves = run_sign_flip_test(differences, permutations, confidence, seed)
    corrected, means = holm(p_values, alpha), differences.mean(axis=0)
    shares = np.full(len(means), np.nan)
    if len(first) > 1:
        shares = get_standard_error(differences.T).largest_share
    columns = {
        "difference": means,
        "ci_low": means - halves,
        "ci_high": means + halves,
        "p_value": p_values,
        "adjusted": corrected["adjusted"],
        "rejected": corrected["rejected"],
        "largest_share": shares,
    }
    return [
        {"measure": measure, "run": run, "other_run": other}
        | {name: column[row].item() for name, column in columns.items()}
        | {"n": len(first), "warning": make_warning(shares[row].item())}
        for row, ((run, other), measure) in enumerate(itertools.product(pairs, measures))
    ]
