"""Whether random and constant annotators among honest ones are flagged, and honest ones are not.

    python benchmarks/planted_voters.py --data-dir DATA > benchmarks/planted_voters.md

Needs the votes of TIA2 in DATA (ratings/tia2_composition.csv and ratings/tia2_counting.csv): three
columns of yes and no on 15,000 and 7,500 images of 300 and 150 prompts, 50 a prompt.

- columns: each column is one annotator who rated all images; the planted one rated all, too.
- dealt out: as in a crowd, the images of each column are divided among annotators with the given
  number of votes; the planted one has as many votes, on images drawn at random.
- by prompt (with --by-prompt): likewise, but with whole prompts of 50 images. An annotator who saw
  fewer than three prompts is recognised only if all answers are equal.

The planted annotator answers at random (`random`), at random with everyone's share of yes
(`guess`), or always the same (`constant`, yes and no in turn). `flagged` is the share of plantings
in which the planted annotator is flagged, `honest` the share of honest annotators flagged, and
`undecided` the share of planted ones with too few votes for `pqpp build` to decide.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.own_benchmark.trust.annotators import compare_annotators

KINDS = ("random", "guess", "constant")
TASKS = ("composition", "counting")
PLANTINGS = 100
SIZES = (50, 100, 200, 500, 1000)
SIZES_BY_PROMPT = (100, 200, 500)


@dataclass(frozen=True)
class Votes:
    """Votes with the image, the prompt and the annotator of each, as whole numbers from 0."""

    annotator: NDArray[np.int64]
    item: NDArray[np.int64]
    value: NDArray[np.float64]
    prompt: NDArray[np.int64]  # of each image


@dataclass(frozen=True)
class Rates:
    """Shares over the plantings."""

    flagged: float
    honest: float
    undecided: float


def read_tia2(data_dir: str | Path, task: str) -> Votes:
    """Read the votes of a task; the annotator is the column."""
    import pandas as pd

    table = pd.read_csv(Path(data_dir) / "ratings" / f"tia2_{task}.csv")
    labels = table[["label_1", "label_2", "label_3"]].to_numpy(float)
    item, column = np.nonzero(labels >= 0)  # -1 is no answer
    return Votes(column, item, labels[item, column], pd.factorize(table.caption)[0])


def deal_votes(votes: Votes, size: int, seed: int, by_prompt: bool = False) -> Votes:
    """Return the votes with each column dealt out to people of `size` votes."""
    rng = np.random.default_rng(seed)
    order = _deal_images(votes, rng, by_prompt)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    person = place // size
    annotator = votes.annotator * (person.max() + 1) + person[votes.item]
    return Votes(annotator, votes.item, votes.value, votes.prompt)


def _deal_images(votes: Votes, rng: np.random.Generator, by_prompt: bool) -> NDArray[np.int64]:
    """Return the images in a random order, those of a prompt together if `by_prompt`."""
    if not by_prompt:
        return rng.permutation(len(votes.prompt))
    rank = rng.permutation(votes.prompt.max() + 1)
    return np.argsort(rank[votes.prompt], kind="stable")


def compute_rates(
    votes: Votes, kind: str, plantings: int, size: int | None = None, by_prompt: bool = False
) -> Rates:
    """Plant a voter again and again, one at a time, and count who is flagged.

    Args:
        votes: Of honest people.
        kind: Of `KINDS`.
        plantings: How often; the number of each is its seed.
        size: How many votes the planted voter gives; on all images if left out.
        by_prompt: Whether on whole prompts.
    """
    people = int(votes.annotator.max()) + 1
    flagged, honest, undecided = [], [], []
    for seed in range(plantings):
        rng = np.random.default_rng(seed)
        item = _deal_images(votes, rng, by_prompt)[:size]
        if kind == "random":
            value = rng.integers(0, 2, len(item))
        elif kind == "guess":
            value = rng.choice(votes.value, len(item))
        else:
            value = np.full(len(item), seed % 2)
        everybody = np.concatenate([votes.item, item])
        found = compare_annotators(
            np.concatenate([votes.annotator, np.full(len(item), people)]),
            everybody,
            votes.prompt[everybody],
            np.concatenate([votes.value, value]).astype(float),
            "nominal",
            people + 1,
        )
        told = np.array([bool(reason) for reason in found.reasons])
        flagged.append(told[people])
        honest.append(told[:people].mean())
        undecided.append(found.undecided[people])
    return Rates(*(float(np.mean(shares)) for shares in (flagged, honest, undecided)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where a voter beside the columns is missed, or one is flagged."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--plantings", type=int, default=PLANTINGS)
    parser.add_argument("--task", action="append", choices=TASKS, help="both if left out")
    parser.add_argument("--by-prompt", action="store_true", help="these crowds, too")
    options = parser.parse_args(arguments)
    print(__doc__.split("\n\n", 1)[0].join(["# Planted annotators\n\n", "\n"]))
    print(f"{options.plantings} plantings per row, seeds 0 to {options.plantings - 1}; ", end="")
    print(f"pqpp {version('pqpp')}, numpy {np.__version__}.\n")
    print("| task | people | votes each | kind | flagged | honest | undecided |")
    print("|---|---|---|---|---|---|---|")
    missed = False
    for task in options.task or TASKS:
        votes = read_tia2(options.data_dir, task)
        for name, crowd, size, by_prompt in _list_crowds(votes, options.by_prompt):
            for kind in KINDS:
                found = compute_rates(crowd, kind, options.plantings, size, by_prompt)
                people = int(crowd.annotator.max()) + 1
                given = len(votes.prompt) if size is None else size
                row = (task, f"{people}, {name}", f"{given:,}", kind)
                shares = (f"{x:.1%}" for x in (found.flagged, found.honest, found.undecided))
                print("| " + " | ".join([*row, *shares]) + " |", flush=True)
                if name == "columns":
                    missed |= found.flagged < 0.95 or found.honest > 0.05
    print("\n" + __doc__.split("\n\n", 3)[3])
    return int(missed)


def _list_crowds(votes: Votes, by_prompt: bool):
    yield "columns", votes, None, False
    for size in SIZES:
        yield "dealt out", deal_votes(votes, size, seed=0), size, False
    for size in SIZES_BY_PROMPT if by_prompt else ():
        yield "by prompt", deal_votes(votes, size, seed=0, by_prompt=True), size, True


if __name__ == "__main__":
    raise SystemExit(main())
