"""How near robust means of votes come to those of honest people alone, where some are bad.

    python benchmarks/robust_means.py > benchmarks/robust_means.md

20 people give 260 votes each on 1,040 images of ten models, five votes an image, from 1 to 5: the
truth of an image with noise of the same deviation (or twice it), in fifths. Some of the people are
bad: they vote at random (`random`), always alike (`constant`), at random every second time
(`lazy`), or turned round (`reversed`). Each row is the mean of 200 draws, seeds 0 to 199.

Correlation is Pearson's with the truth of the images. RMSE is from the mean label that ever more
honest people would give. The rank of models is Spearman's coefficient of the models' means with
those of that label; models' true means have a deviation of .2, where that of images is 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, spearmanr

from pqpp_datasets.own_benchmark.trust.annotators import agreements, weighted_means

PEOPLE, VOTES, AN_IMAGE, LABELS, MODELS = 20, 260, 5, 5, 10
IMAGES = PEOPLE * VOTES // AN_IMAGE
MODEL_DEVIATION = 0.2
"""Of models' true means, where that of images is 1: the nearest are hard to tell apart."""
KINDS = [(kind, bad) for kind in ("random", "constant", "lazy") for bad in (2, 6, 10)]
KINDS += [("reversed", 2), ("reversed", 6), ("none", 0)]
DRAWS, NOISES = 200, (1.0, 2.0)


class Planted(NamedTuple):
    """Votes of a draw, and what is true.

    Attributes:
        truth: float64 (images,).
        label: The mean label that honest people give an image if ever more of them vote.
        model: The model of each image, from 0.
        who: The annotator of each vote, from 0.
        item: The image of each vote, from 0.
        value: The votes, 1 to 5.
        is_bad: bool (people,).
    """

    truth: NDArray[np.float64]
    label: NDArray[np.float64]
    model: NDArray[np.int64]
    who: NDArray[np.int64]
    item: NDArray[np.int64]
    value: NDArray[np.float64]
    is_bad: NDArray[np.bool_]


def planted(seed: int, kind: str, bad: int, noise: float = 1.0) -> Planted:
    """Return the votes of 20 people on 1,040 images, of whom some are bad."""
    rng = np.random.default_rng(seed)
    model = np.arange(IMAGES) % MODELS
    of_models = MODEL_DEVIATION * rng.normal(size=MODELS)
    truth = of_models[model] + np.sqrt(1 - MODEL_DEVIATION**2) * rng.normal(size=IMAGES)
    item = np.repeat(np.arange(IMAGES), AN_IMAGE)
    who = np.concatenate([rng.permutation(PEOPLE) for _ in range(VOTES)])
    seen = truth[item] + noise * rng.normal(size=len(item))
    steps = np.quantile(seen, np.arange(1, LABELS) / LABELS)
    value = np.searchsorted(steps, seen) + 1.0
    label = 1 + norm.sf((steps - truth[:, None]) / noise).sum(axis=1)
    is_bad = rng.permutation(PEOPLE) < bad
    rows = is_bad[who]
    if kind == "lazy":
        rows = rows & (rng.random(len(item)) < 0.5)
    other = rng.integers(1, LABELS + 1, len(item)).astype(float)
    if kind == "constant":
        other = rng.integers(1, LABELS + 1, PEOPLE)[who].astype(float)
    elif kind == "reversed":
        other = LABELS + 1 - value
    return Planted(truth, label, model, who, item, np.where(rows, other, value), is_bad)


def means(draw: Planted, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted mean of each image's votes, the mean of all where none counts."""
    total = np.bincount(draw.item, weight, IMAGES)
    with np.errstate(invalid="ignore"):
        found = np.bincount(draw.item, weight * draw.value, IMAGES) / total
    return np.where(total > 0, found, draw.value.mean())


class Measured(NamedTuple):
    """Means over draws; arrays are of all people's means, robust ones and honest people's alone.

    Attributes:
        correlation: Pearson's, with the truth of the images.
        rmse: From the labels that honest people would give, in labels.
        rank: Spearman's, of the ten models' means with those of these labels.
        bad_flagged: The share of the bad who are flagged; 0 where nobody is bad.
        honest_flagged: The share of the honest who are.
    """

    correlation: NDArray[np.float64]
    rmse: NDArray[np.float64]
    rank: NDArray[np.float64]
    bad_flagged: float
    honest_flagged: float


def measured(kind: str, bad: int, draws: int, noise: float = 1.0) -> Measured:
    """Return what all, robust and honest means reach, and who is flagged."""
    rows, flags = [], []
    for seed in range(draws):
        draw = planted(seed, kind, bad, noise)
        who, item, value = draw.who, draw.item, draw.value
        robust, _ = weighted_means(who, item, item, value, PEOPLE, IMAGES)
        honest = means(draw, 1.0 - draw.is_bad[who])
        rows.append(
            [figures(draw, one) for one in (means(draw, np.ones(len(who))), robust, honest)]
        )
        reasons = agreements(who, item, item, value, "ordinal", PEOPLE).reasons
        flags.append([[bool(reason) for reason in reasons], draw.is_bad])
    flagged, is_bad = np.array(flags, bool).transpose(1, 0, 2)
    shares = (flagged[one].mean() if one.any() else 0.0 for one in (is_bad, ~is_bad))
    return Measured(*np.mean(rows, axis=0).T, *map(float, shares))


def figures(draw: Planted, found: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the correlation, the RMSE and the models' rank that means of images reach."""
    said, true = (np.bincount(draw.model, one) for one in (found, draw.label))
    error = np.sqrt(np.mean((found - draw.label) ** 2))
    return np.corrcoef(draw.truth, found)[0, 1], error, spearmanr(said, true)[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where robust means fall short or honest people are flagged."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args(arguments)
    print(__doc__.split("\n\n", 1)[0].join(["# Robust means\n\n", "\n"]))
    print("`python benchmarks/robust_means.py`; each cell has all / robust / honest alone.\n")
    print(
        "| noise | bad | correlation | RMSE | rank of models | flagged of the bad | of the honest |"
    )
    print("|---" * 7 + "|")
    missed = False
    for noise in NOISES:
        for kind, bad in KINDS:
            one = measured(kind, bad, options.draws, noise)
            three = [" / ".join(f"{x:.3f}" for x in row) for row in one[:3]]
            shares = [f"{one.bad_flagged:.1%}" if bad else "", f"{one.honest_flagged:.2%}"]
            who = f"{bad} {kind}" if bad else "nobody"
            print("| " + " | ".join([f"{noise:g}", who, *three, *shares]) + " |", flush=True)
            missed |= one.correlation[1] < 0.95 * one.correlation[2] or one.honest_flagged > 0.01
    print("\n" + __doc__.split("\n\n", 2)[2])
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
