"""Sets of prompts with a human score each, of any benchmark: what models learn or are tested on."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import spearman_qpp
from pqpp_models.prompts import COLUMN, ID, normalise

NEWEST_GENERATORS = ("dalle_3", "midjourney_6")
"""Those of GenAI-Bench: what `alignment` calls a current generator."""

_MATCHES = 4


@dataclass(frozen=True)
class ScoredPrompts:
    """A set of prompts with one human score each.

    Attributes:
        name: What the set is called in tables.
        prompts: The prompts.
        scores: One score a prompt; higher is better, on any scale.
        groups: The group of each prompt, or None.
        data: Where they come from: benchmark, release and split, or a file.
        target: What the scores are, which predictors are asked for; None leaves it to the caller.
        ids: The prompts' ids, or None; they tell rows of one text apart.
    """

    name: str
    prompts: Sequence[str]
    scores: Sequence[float]
    groups: Sequence[str] | None = None
    data: str = ""
    target: str | None = None
    ids: Sequence[str | None] | None = None

    @property
    def rows(self) -> dict[str, list[Any]]:
        """The prompts as a table, with their ids where they have any."""
        ids = {} if self.ids is None else {ID: list(self.ids)}
        return {COLUMN: list(self.prompts), **ids}


def gimbrr_match_rates(annotations: Mapping[str, Sequence[Mapping]]) -> ScoredPrompts:
    """Return GIMBRR's prompts with the share of models whose image matched.

    The tasks called `Controlled ...` are left out, as in the paper's overall rates.

    Args:
        annotations: Model to its annotated images, rows of `load_dataset("pqpp",
            "gimbrr-annotations")`; only the first of duplicated annotations counts.

    Returns:
        A set grouped by task, in order of first appearance.
    """
    import pandas as pd

    frames = [pd.DataFrame(list(rows)).assign(model=model) for model, rows in annotations.items()]
    votes = pd.concat(frames)
    votes = votes[~votes["task"].str.startswith("Controlled")]
    votes = votes.drop_duplicates(["model", "prompt_id"])
    of_prompt = votes.groupby("prompt_id", sort=False)
    about = of_prompt.agg({"prompt": "last", "task": "last", "matched": "mean"})
    prompts, tasks, rates = (about[name].tolist() for name in about.columns)
    return ScoredPrompts("gimbrr", prompts, rates, tasks, "gimbrr-annotations", "mean_rate")


def alignment_shares(rows: Iterable[Mapping], prompts: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of people who said that an image of a current generator matches.

    The ratings of 4 and 5 among those that GenAI-Bench has of the `NEWEST_GENERATORS`; ratings that
    its scale does not have do not count.

    Args:
        rows: Those of `load_dataset("pqpp", "genai")`.
        prompts: Prompts of theirs.

    Returns:
        Shape `(prompts,)`, 0 to 1.
    """
    ratings: dict[str, list[int]] = {}
    for row in rows:
        of_newest = (rating for name in NEWEST_GENERATORS for rating in row["ratings"][name])
        known = [rating for rating in of_newest if 1 <= rating <= 5]
        ratings.setdefault(normalise(row["prompt"]), []).extend(known)
    return np.array([np.mean(np.array(ratings[normalise(p)]) >= _MATCHES) for p in prompts])


def within_groups(
    predicted: NDArray[np.float64], scores: NDArray[np.float64], groups: NDArray[np.str_] | None
) -> list[float]:
    """Return Spearman's coefficient in each group whose scores differ, three prompts at least.

    >>> rho = within_groups(np.arange(4.0), np.array([1.0, 2, 3, 9]), np.array(list("aaab")))
    >>> [round(one, 6) for one in rho]
    [1.0]
    """
    if groups is None:
        return []
    coefficients = []
    for label in dict.fromkeys(groups.tolist()):
        mine = groups == label
        if mine.sum() < 3 or np.ptp(scores[mine]) == 0:
            continue  # a group with one rate for all orders nothing
        rho = spearman_qpp(predicted[mine], scores[mine])["spearman_qpp"]
        coefficients.append(0.0 if math.isnan(rho) else rho)  # a constant prediction orders nothing
    return coefficients
