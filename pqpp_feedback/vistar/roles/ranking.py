"""Generators ranked for a role, with what a bootstrap over prompts says of the ranks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.vistar.score import ANGLES
from pqpp_files.extras import needing

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
    with needing("roles", "assess"):
        import yaml
    file = Path(path).expanduser() if path else ROLES_FILE
    try:
        found = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise AssessError(f"{file} cannot be read as YAML ({type(error).__name__})") from None
    if not isinstance(found, dict) or not found:
        raise AssessError(f"{file} holds no roles; write `role: {{TR: 1, LI: 0.5}}` a line")
    for role, weights in found.items():
        _check(f"{file}: {role}", weights)
    return {str(role): {a: float(w) for a, w in one.items()} for role, one in found.items()}


def _check(where: str, weights: Any) -> None:
    if not isinstance(weights, dict) or not set(weights) <= set(ANGLES):
        raise AssessError(f"{where}: angles with weights are needed, of {', '.join(ANGLES)}")
    for angle, weight in weights.items():
        real = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not real or not math.isfinite(weight) or weight < 0:
            raise AssessError(f"{where}: the weight of {angle} is {weight!r:.40}; write 0 or more")
    if not any(weights.values()):
        raise AssessError(f"{where}: no angle has a weight above 0")


def role_ranking(
    rows: Iterable[Mapping[str, Any]],
    weights: Mapping[str, float],
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
    generators, tables, prompts = _tables(rows, weights)
    if not tables:
        return []
    total = sum(weights[angle] for angle in tables)
    share = {angle: weights[angle] / total for angle in tables}
    value = sum(share[a] * np.nanmean(table, axis=1) for a, table in tables.items())
    drawn = _drawn(tables, share, prompts, resamples, seed)
    order = sorted(range(len(generators)), key=lambda n: (-value[n], generators[n]))
    tail = (1 - confidence) / 2
    found = []
    for rank, own in enumerate(order, 1):
        low, high = np.nanquantile(drawn[:, own], [tail, 1 - tail])
        separable = None
        if rank < len(order):
            apart = np.nanquantile(drawn[:, own] - drawn[:, order[rank]], tail)
            separable = bool(apart > 0)
        found.append(
            {
                **{"rank": rank, "generator": generators[own], "score": float(value[own])},
                **{"ci_low": float(low), "ci_high": float(high)},
                **{"angles": list(tables), "separable": separable},
            }
        )
    return found


def _tables(
    rows: Iterable[Mapping[str, Any]], weights: Mapping[str, float]
) -> tuple[list[str], dict[str, NDArray[np.float64]], int]:
    """Return generators, of each angle the scores (generators, prompts), and how many prompts."""
    cells: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row["score"] is not None and weights.get(row["angle"], 0) > 0:
            key = (row["angle"], str(row["generator"]), str(row["prompt_id"]))
            cells.setdefault(key, []).append(float(row["score"]))
    generators = sorted({key[1] for key in cells})
    prompts = sorted({key[2] for key in cells})
    row_of, column_of = ({one: n for n, one in enumerate(some)} for some in (generators, prompts))
    shape = len(generators), len(prompts)
    tables = {angle: np.full(shape, np.nan) for angle in ANGLES if weights.get(angle, 0) > 0}
    for (angle, generator, prompt), scores in cells.items():
        tables[angle][row_of[generator], column_of[prompt]] = np.mean(scores)
    whole = {
        angle: table
        for angle, table in tables.items()
        if generators and (~np.isnan(table)).any(axis=1).all()
    }
    return generators, whole, len(prompts)


def _drawn(
    tables: Mapping[str, NDArray], share: Mapping[str, float], prompts: int, times: int, seed: int
) -> NDArray[np.float64]:
    """Return the scores (resamples, generators) of prompts drawn with replacement."""
    random, parts = np.random.default_rng(seed), []
    for start in range(0, times, 500):
        number = min(500, times - start)
        counts = random.multinomial(prompts, np.full(prompts, 1 / prompts), number).astype(float)
        one = np.zeros((number, len(next(iter(tables.values())))))
        for angle, table in tables.items():
            there = ~np.isnan(table)
            with np.errstate(invalid="ignore"):  # an angle whose prompts were not drawn
                one += share[angle] * (counts @ np.nan_to_num(table).T) / (counts @ there.T)
        parts.append(one)
    return np.concatenate(parts)


def separation(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return in words which neighbours of a ranking cannot be told apart.

    Example:
        >>> rows = [{"generator": "a", "separable": False}, {"generator": "b", "separable": None}]
        >>> separation(rows)
        'not separable: a and b'
    """
    pairs = [
        f"{one['generator']} and {other['generator']}"
        for one, other in itertools.pairwise(rows)
        if one["separable"] is False
    ]
    return f"not separable: {', '.join(pairs)}" if pairs else "all neighbours are separable"
