"""How far votes agree on the whole, and how far scores that are made of them can be relied on."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pqpp_datasets.own_benchmark.trust.figures import CONFIDENCE, Agreement, agreement_of, alpha
from pqpp_datasets.own_benchmark.votes.votes import Votes, number_items
from pqpp_files.names import how_many

WANTED = 0.8
_SPLITS = 100
_WORK = 3_000_000  # votes that are dealt out, over all splits
_LEAST_SPLITS = 4
_NOISE = 0.5  # of the differences between scores less than half is of the prompts
_OPPOSED = -0.1


@dataclass(frozen=True)
class Reliability:
    """The reliability of a prompt's mean score with a model, by halves of its annotators.

    Attributes:
        value: Spearman-Brown's, of all annotators of a prompt, 0 to 1; NaN where unknown. It is 0
            where the halves say the opposite of each other.
        low: The lower end of the 95 % interval.
        high: The upper end.
        prompts: How many pairs of prompt and model have two annotators or more.
        annotators: How many annotators a prompt has (their harmonic mean).
        needed: How many a prompt would be needed for a reliability of .8; None where unknown.
        votes_needed: How many votes these would give, each as many as now.
        among: What was dealt out to the halves: annotators; where nothing says who voted, a
            prompt's images, or its votes if it has one image.
    """

    value: float
    low: float
    high: float
    prompts: int
    annotators: float
    needed: int | None
    votes_needed: int | None
    among: str = "annotators"


@dataclass(frozen=True)
class Trust:
    """How far the votes that count agree.

    Attributes:
        level: Of measurement, of the scale: "nominal", "ordinal" or "interval".
        alpha: Krippendorff's, NaN where no image has two votes.
        reliability: Of a prompt's mean vote.
        agreement: Further figures, with intervals; None of ready scores and of no votes.
    """

    level: str
    alpha: float
    reliability: Reliability
    agreement: Agreement | None

    @property
    def told(self) -> str:
        """How far scores can be relied on, in a line that says the bad news first."""
        found, about = self.reliability, "reliability of a prompt's mean vote with a model"
        if not found.high <= 1 or (found.low == 0 and found.high > _NOISE):
            units = f"{how_many(found.prompts, 'prompt')} with a model, each with two {found.among}"
            return f"too few to tell the {about}: {units} or more, whose votes differ"
        told = f"{about}: {found.value:.2f} ({found.low:.2f} to {found.high:.2f}), of "
        told += f"{found.annotators:.1f} {found.among}"
        if found.needed:
            told += f"; {found.needed} would be needed for {WANTED}"
        if found.value < _NOISE:
            told = f"unreliable, more noise of the votes than difference of the prompts; {told}"
        return agreement_told(self.alpha, "annotators") + told


def agreement_told(alpha: float, people: str) -> str:
    """Return the beginning of a line on people who contradict one another, else nothing.

    Example:
        >>> agreement_told(-0.5, "voters"), agreement_told(0.5, "voters")
        ("voters contradict one another (Krippendorff's alpha -0.50); ", '')
    """
    told = f"{people} contradict one another (Krippendorff's alpha {alpha:.2f}); "
    return told if alpha <= _OPPOSED else ""


def trust_in(votes: Votes, counted: np.ndarray, seed: int = 0) -> Trust:
    """Say how far the votes that count agree.

    Args:
        votes: All votes.
        counted: The numbers of those that count.
        seed: Of the halves that annotators are dealt out to.
    """
    item, value = votes.item[counted], votes.value[counted]
    level = votes.scale.level
    people, among = votes.annotator[counted], "annotators"
    rated = votes.prompt[counted], votes.model[counted], item
    if not votes.has_annotators and not votes.is_ready:
        # The votes of an image are of different people; one may have judged several images.
        image_of, _ = number_items(rated[0], rated[1])
        several = pd.Series(item).groupby(image_of).nunique().max() > 1
        people, among = (item, "images") if several else (np.arange(len(item)), "votes")
    reliability = replace(split_half(*rated, people, value, seed), among=among)
    named = people if votes.has_annotators else np.arange(len(item))
    agreement = None
    if len(item) and not votes.is_ready:
        agreement = agreement_of(*rated, named, value, level)
    return Trust(level, alpha(item, value, level), reliability, agreement)


def split_half(
    prompt: np.ndarray,
    model: np.ndarray,
    item: np.ndarray,
    annotator: np.ndarray,
    value: np.ndarray,
    seed: int = 0,
) -> Reliability:
    """Return how well other annotators of the same kind would bring the same scores out again.

    All annotators are put in a random order, and those of a prompt are dealt out to two halves in
    that order, so that a panel that judges every prompt is cut the same way for all; with an odd
    number the last one stays out. Where each gave a prompt one vote, they are dealt out image by
    image. The mean votes of the halves are correlated over the prompts, those of each model by
    themselves (its mean is taken off), over up to 100 orders (4 for millions of votes). From them
    Spearman-Brown's formula leads to all annotators of a prompt, and to how many .8 would need. The
    interval is that of the correlation, by how far each prompt moves it.

    Args:
        prompt: The prompt of each vote, whole numbers from 0.
        model: The model, likewise.
        item: The image, likewise.
        annotator: Likewise; without ids a number for each vote of an image.
        value: float64 (votes,).
        seed: Of the halves.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> prompt, who = np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300)
        >>> value = rng.normal(size=300)[prompt] + rng.normal(size=1200)
        >>> found = split_half(prompt, np.zeros(1200, int), np.arange(1200), who, value)
        >>> round(found.value, 1), found.needed
        (0.8, 4)
    """
    from pqpp_metrics.functional._influence import correlation_interval, of_pearson

    cells = _cells_of(prompt, model, item, annotator, value)
    number = np.bincount(cells["unit"])
    model = cells.drop_duplicates("unit")["model"].to_numpy()
    nothing = Reliability(math.nan, math.nan, math.nan, len(number), math.nan, None, None)
    if len(number) < 3:
        return nothing
    models = np.maximum(np.bincount(model), 1)
    rng = np.random.default_rng(seed)
    splits = int(np.clip(_WORK // len(cells), _LEAST_SPLITS, _SPLITS))
    correlations, influences = [], np.zeros(len(number))
    for _ in range(splits):
        left, right = (
            half - (np.bincount(model, half) / models)[model] for half in _halves(cells, rng)
        )
        if min(left.std(), right.std()) < 1e-12:
            return nothing
        correlations.append(float(np.corrcoef(left, right)[0, 1]))
        influences += of_pearson(left, right)[1] / splits
    correlation = float(np.mean(correlations))
    low, high = correlation_interval(correlation, influences, CONFIDENCE)
    of_half = float(np.mean(1 / (number // 2)))
    of_all = float(np.mean(1 / number))
    ends = np.maximum([correlation, low, high], 0)  # by Spearman-Brown; the ratio is of errors
    whole, low, high = (ends / (ends + (1 - ends) * (of_all / of_half))).tolist()
    needed = votes = None
    if correlation > 0:
        error = (1 - correlation) / correlation / of_half  # of one annotator, with true variance 1
        needed = max(1, math.ceil(round(error * WANTED / (1 - WANTED), 9)))
        votes = math.ceil(needed * int(cells["count"].sum()) / len(cells))
    return Reliability(whole, low, high, len(number), float(1 / of_all), needed, votes)


def _cells_of(prompt, model, item, annotator, value) -> pd.DataFrame:
    """Return what each annotator gave each prompt and model, those of a unit beside each other.

    Returns:
        A row a cell: `unit`, the prompt and model, numbered from 0; `image`, a number that rises
        with the unit and, where each annotator of a unit judged one image, with the image;
        `annotator`; `model`; and `total` and `count` of the votes. A unit has two cells or more.
    """
    keys = ["prompt", "model"]
    votes = pd.DataFrame({"prompt": prompt, "model": model, "annotator": annotator, "item": item})
    of_one = votes.groupby([*keys, "annotator"])["item"]
    cells = of_one.agg(first="min", count="size").reset_index()
    ordered = value[np.argsort(of_one.ngroup(), kind="stable")]
    cells["total"] = np.add.reduceat(ordered, cells["count"].cumsum() - cells["count"])
    cells = cells[cells.duplicated(keys, keep=False)]
    by_image = cells.groupby(keys)["count"].transform("max") == 1
    cells = cells.assign(first=cells["first"].where(by_image, 0)).sort_values([*keys, "first"])
    image = (~cells.duplicated([*keys, "first"])).cumsum()
    return cells.assign(unit=cells.groupby(keys).ngroup(), image=image)


def _halves(cells: pd.DataFrame, rng: np.random.Generator) -> list[np.ndarray]:
    """Deal the annotators of each unit out to two halves, and return the halves' mean votes."""
    names = ("unit", "annotator", "total", "count")
    unit, annotator, total, count = (cells[name].to_numpy() for name in names)
    number = np.bincount(unit)
    rank = rng.permutation(int(annotator.max()) + 1) / (annotator.max() + 1.0)
    order = np.argsort(cells["image"].to_numpy() + rank[annotator], kind="stable")
    place = np.arange(len(order)) - (np.cumsum(number) - number)[unit]
    paired = place < (number // 2 * 2)[unit]
    means = []
    for half in (0, 1):
        mine = np.flatnonzero(paired & (place % 2 == half))
        sums = np.bincount(unit[mine], total[order[mine]], len(number))
        means.append(sums / np.bincount(unit[mine], count[order[mine]], len(number)))
    return means
