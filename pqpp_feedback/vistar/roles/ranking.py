"""Generators ranked for a role, with what a bootstrap over prompts says of the ranks."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pqpp_feedback.assess.agreement import drawn_means
from pqpp_feedback.assess.pictures import Row
from pqpp_feedback.errors import AssessError
from pqpp_feedback.vistar.score import ANGLES
from pqpp_files.extras import needing
from pqpp_files.foreign.yaml_values import read_yaml
from pqpp_files.paths import expanded

Weights = Mapping[str, float]
ROLES_FILE = Path(__file__).with_name("roles.yaml")


def read_roles(path: str | Path | None = None) -> dict[str, dict[str, float]]:
    """Read the weights of the angles of each role.

    Args:
        path: YAML: role to angle to weight; the package's own file if None.

    Raises:
        AssessError: It cannot be read, an angle is unknown, a weight is no number of 0 or more, or
            a role has none above 0.

    Example:
        >>> sorted(read_roles())
        ['graphic_designer', 'marketing_specialist', 'storyboard_artist']
    """
    file = expanded(path) if path else ROLES_FILE
    with needing("roles", "assess"):
        roles = read_yaml(file, "roles", "; write `role: {TR: 1, LI: 0.5}` a line", "", AssessError)
    return {str(role): _weights(f"{file}: {role}", given) for role, given in roles.items()}


def _weights(where: str, weights: Any) -> dict[str, float]:
    if not isinstance(weights, dict) or not set(weights) <= set(ANGLES):
        raise AssessError(f"{where}: angles with weights are needed, of {', '.join(ANGLES)}")
    for angle, weight in weights.items():
        if type(weight) not in (int, float) or not 0 <= weight < math.inf:
            raise AssessError(f"{where}: the weight of {angle} is {weight!r:.40}; write 0 or more")
    if not any(weights.values()):
        raise AssessError(f"{where}: no angle has a weight above 0")
    return {angle: float(weight) for angle, weight in weights.items()}


def role_ranking(
    rows: Iterable[Row],
    weights: Weights,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Rank generators by the weighted mean of their angles.

    An angle's score is the mean over its prompts. Angles without scores of every generator are left
    out, and the weights of the others scaled to sum to 1.

    Args:
        rows: `generator`, `prompt_id`, `angle` and `score`; rows without a score do not count.
        weights: Angle to weight, 0 or more.
        resamples: How often the prompts are drawn with replacement.
        confidence: Level of the percentile intervals.
        seed: Of the draws.

    Returns:
        list: Best first: `rank`, `generator`, `score`, `ci_low`, `ci_high`, `angles`, those that
        counted, and `separable`: whether the interval of the difference to the next one leaves 0
        out; None for the last one. Empty without an angle that all generators have.

    Example:
        >>> rows = [{"generator": g, "prompt_id": p, "angle": "TR", "score": s + p / 100}
        ...         for g, s in (("a", 0.2), ("b", 0.6)) for p in range(9)]
        >>> [(one["generator"], one["separable"]) for one in role_ranking(rows, {"TR": 1}, 200)]
        [('b', True), ('a', None)]
    """
    generators, tables = _tables(rows, weights)
    if not tables:
        return []
    total = sum(weights[angle] for angle in tables)
    share = {angle: weights[angle] / total for angle in tables}
    value = sum(share[angle] * np.nanmean(table, axis=1) for angle, table in tables.items())
    drawn = np.zeros((resamples, len(generators)))
    for angle, table in tables.items():
        sums, numbers = np.nan_to_num(table).T, ~np.isnan(table).T
        drawn += share[angle] * drawn_means(sums, numbers, resamples, seed)
    order = sorted(range(len(generators)), key=lambda n: (-value[n], generators[n]))
    tail = (1 - confidence) / 2
    ranking: list[dict[str, Any]] = []
    for rank, (better, worse) in enumerate(itertools.zip_longest(order, order[1:]), 1):
        low, high = np.nanquantile(drawn[:, better], [tail, 1 - tail])
        row = {"rank": rank, "generator": generators[better], "score": float(value[better])}
        row |= {"ci_low": float(low), "ci_high": float(high), "angles": list(tables)}
        row["separable"] = None
        if worse is not None:
            apart = np.nanquantile(drawn[:, better] - drawn[:, worse], tail)
            row["separable"] = bool(apart > 0)
        ranking.append(row)
    return ranking


def _tables(
    rows: Iterable[Row], weights: Weights
) -> tuple[list[str], dict[str, NDArray[np.float64]]]:
    """Return generators, and of each angle that all have the scores, (generators, prompts)."""
    known = [row for row in rows if row["score"] is not None and weights.get(row["angle"], 0) > 0]
    cells = [[row[name] for name in ("angle", "generator", "prompt_id", "score")] for row in known]
    frame = pd.DataFrame(cells, columns=["angle", "generator", "prompt", "score"])
    frame = frame.astype({"generator": str, "prompt": str, "score": float})
    means = frame.pivot_table("score", ["generator", "prompt"], "angle")
    tables = {angle: means[angle].unstack() for angle in ANGLES if angle in means}
    has_all = {angle: table.notna().any(axis=1).all() for angle, table in tables.items()}
    generators = means.index.unique("generator").tolist()
    return generators, {a: table.to_numpy() for a, table in tables.items() if has_all[a]}


def separation(rows: Sequence[Row]) -> str:
    """Return in words which neighbours of a ranking cannot be told apart.

    Example:
        >>> rows = [{"generator": "a", "separable": False}, {"generator": "b", "separable": None}]
        >>> separation(rows)
        'not separable: a and b'
    """
    pairs = [
        f"{better['generator']} and {worse['generator']}"
        for better, worse in itertools.pairwise(rows)
        if better["separable"] is False
    ]
    return f"not separable: {', '.join(pairs)}" if pairs else "all neighbours are separable"
