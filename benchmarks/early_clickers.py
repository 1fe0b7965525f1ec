"""How early random and constant clickers of a running study are named, and honest people never.

    python benchmarks/early_clickers.py > benchmarks/early_clickers.md

A study in which each item has three people (k = 3) and each of 20 people has done so many items:
16 are honest, two answer at random and two always alike. An honest person gives the planted label
with probability sqrt(.5) and else any, so that two honest people agree by a kappa of .5. The rule
is that of `pqpp build`'s flags, which the owner's page shows: agreement with the others under half
of the usual one, where its standard error is a quarter of the usual at most; always one label where
the others vary. Images of an item are five (of `preference` it is one pair).

`random` and `constant` are the shares of these who are named, `honest` that of honest people.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pqpp_datasets.own_benchmark.options import MIN_KAPPA
from pqpp_datasets.own_benchmark.trust.annotators import agreements

PEOPLE, RANDOM, CONSTANT, PLACES = 20, 2, 2, 3
CONTROLS = (4, 6, 8, 10, 12, 16, 20, 30)
ITEMS = (5, 10, 20, 30, 40, 60, 100)
DRAWS = 500
_BY_CHANCE = """
## Honest people refused after a few control images

The share of honest people whose kappa with one of two members of the control group is under .41.
Labels are four, of the same frequency; of everybody's answers, the members' too, the share in the
head is drawn at random. 20,000 draws.
"""
HONEST = 0.5**0.5


@dataclass(frozen=True)
class Kind:
    """A kind of task: its labels, its level, and how many answers an item takes."""

    name: str
    labels: int
    level: str
    answers: int


KINDS = (
    Kind("rating", 5, "ordinal", 5),
    Kind("relevance", 4, "ordinal", 5),
    Kind("match", 2, "nominal", 5),
    Kind("preference", 3, "nominal", 1),
)


def named(kind: Kind, items: int, seed: int) -> np.ndarray:
    """Return who is named in a study in which everybody has done so many items."""
    rng = np.random.default_rng(seed)
    number = -(-PEOPLE * items // PLACES)
    # Everybody's next item is one of those that have a place left.
    done = np.zeros(number, int)
    has = np.zeros((PEOPLE, number), bool)
    people, units = [], []
    for _ in range(items):
        for person in rng.permutation(PEOPLE):
            free = np.flatnonzero((done < PLACES) & ~has[person])
            if len(free):
                item = rng.choice(free)
                done[item] += 1
                has[person, item] = True
                people.append(person)
                units.append(item)
    who = np.repeat(people, kind.answers)
    prompt = np.repeat(units, kind.answers)
    item = prompt * kind.answers + np.tile(np.arange(kind.answers), len(people))
    truth = rng.integers(kind.labels, size=number * kind.answers)[item]
    anything = rng.integers(kind.labels, size=len(item))
    value = np.where(rng.random(len(item)) < HONEST, truth, anything)
    value = np.where(who < RANDOM, anything, value)
    constant = (who >= RANDOM) & (who < RANDOM + CONSTANT)
    value = np.where(constant, rng.integers(kind.labels, size=PEOPLE)[who], value)
    found = agreements(who, item, prompt, value.astype(float), kind.level, PEOPLE)
    return np.array([bool(reason) for reason in found.reasons])


def by_chance(controls: int, wrong: float, draws: int = 20_000) -> float:
    """Return the share of honest people whose kappa with one of two members is too low."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=(draws, controls))

    def said() -> np.ndarray:
        anything = rng.integers(4, size=truth.shape)
        return np.where(rng.random(truth.shape) < wrong, anything, truth)

    own, refused = said(), np.zeros(draws, bool)
    for member in (said(), said()):
        alike = (own == member).mean(axis=1)
        expected = sum((own == k).mean(axis=1) * (member == k).mean(axis=1) for k in range(4))
        with np.errstate(invalid="ignore", divide="ignore"):
            refused |= ~((alike - expected) / (1 - expected) >= MIN_KAPPA)
    return float(refused.mean())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the curve of each kind; return 1 where rating misses its bound at 40 items."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--kind", action="append", choices=[kind.name for kind in KINDS])
    parser.add_argument("--items", action="append", type=int)
    options = parser.parse_args(arguments)
    print("# Clickers named early\n\n" + __doc__.split("\n\n", 2)[2])
    print(f"{options.draws} draws a row, seeds from 0.\n")
    print("| kind | items each | random | constant | honest |\n|---|---|---|---|---|")
    missed = False
    for kind in KINDS:
        if options.kind and kind.name not in options.kind:
            continue
        for items in options.items or ITEMS:
            told = np.array([named(kind, items, seed) for seed in range(options.draws)])
            parts = np.split(told, [RANDOM, RANDOM + CONSTANT], axis=1)
            random, constant, honest = (float(part.mean()) for part in parts)
            row = (kind.name, str(items), *(f"{x:.1%}" for x in (random, constant, honest)))
            print("| " + " | ".join(row) + " |", flush=True)
            if (kind.name, items) == ("rating", 40):
                missed = min(random, constant) < 0.95 or honest > 0.01
    print(_BY_CHANCE)
    print("| control images | 8 % wrong | 16 % wrong |\n|---|---|---|")
    for controls in CONTROLS:
        shares = (f"{by_chance(controls, wrong):.2%}" for wrong in (0.08, 0.16))
        print(f"| {controls} | " + " | ".join(shares) + " |")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
