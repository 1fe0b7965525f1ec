"""Measure how early a running study stops careless annotators, and that it keeps honest ones.

    python benchmarks/annotation_stops.py > benchmarks/annotation_stops.md

Each of 20 annotators, 15 of them honest, does the number of items in the column; three annotators
rate each item. Honest annotators give the planted label with a probability of .6 to .8, which
differs by person, and otherwise any label (kappa of two of them: .5). They take 2 to 12 s per image
and choose the left and the right image of a pair equally often. `random` (2 people) gives any
label; `constant` (2) always the same one, or the left image; `hasty` (1) any label in .3 s. For
`rich`, half of the honest scores follow the planted one, honest points are .06 of the image's side
from two planted places and miss each in three of ten cases, and one in ten words is misjudged (two
in ten are wrong); `random` places as many points and words anywhere, and `constant` gives no point,
no word and one score. For `order`, honest people rank four images by their value, 0 to 1, with a
deviation of .25; images are shuffled, so `constant` is random. An item has five images (`rich`: one
image; `preference`: one pair of three images).

The service checks after every ten items. A cell is the share of people stopped at any check.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pandas

from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.kinds.rich.kind import RICH_SCORES
from pqpp_annotation.protocol.signals import find_careless_people
from pqpp_metrics.functional import prompt_tokens

MANNERS = ["random"] * 2 + ["constant"] * 2 + ["hasty"] + ["honest"] * 15
ITEMS, PLACES, LOOK = (20, 40, 60), 3, 10
KINDS = {
    "rating": (5, 5),
    "relevance": (4, 5),
    "match": (2, 5),
    "preference": (3, 1),
    "order": (4, 1),
    "rich": (5, 1),
}
# Kind to its labels and the answers of an item.
PROMPT = "a red cat and two small dogs on a table"


def to_study_votes(kind: str, items: int, seed: int) -> pandas.DataFrame:
    """Return the votes of a study of so many items each; `step` counts each person's own."""
    rng = np.random.default_rng(seed)
    people, (labels, answers) = len(MANNERS), KINDS[kind]
    number = -(-people * items // PLACES)
    places = np.concatenate([rng.permutation(number) for _ in range(PLACES)])[: people * items]
    table = pandas.DataFrame({"item_id": places, "annotator": np.arange(len(places)) % people})
    table = table.drop_duplicates(["item_id", "annotator"]).sample(frac=1, random_state=rng)
    table["step"] = table.groupby("annotator").cumcount()
    table = table.loc[table.index.repeat(answers)].reset_index(drop=True)
    table["unit"] = table["item_id"] * answers + np.arange(len(table)) % answers
    table["prompt_id"] = table["item_id"] // (3 if kind == "preference" else 1)
    manner = np.array(MANNERS)[table["annotator"]]
    truth = rng.integers(labels, size=number * answers)[table["unit"]]
    anything = rng.integers(labels, size=len(table))
    care = rng.uniform(0.6, 0.8, people)[table["annotator"]]
    means_it = (manner == "honest") & (rng.random(len(table)) < care)
    label = np.where(means_it, truth, anything)
    label = np.where(manner == "constant", table["annotator"] % labels, label)
    table["label"] = label.astype(float) - (kind == "preference")
    table["spent"] = np.where(manner == "hasty", 0.3, rng.uniform(2, 12, len(table)))
    table["spent"] = table.groupby(["annotator", "item_id"])["spent"].transform("sum")
    facts = {"model": "sdxl", "prompt": PROMPT, "value": None, "manner": manner}
    table = table.assign(**facts, turned=rng.random(len(table)) < 0.5)
    if kind == "preference":  # who is constant takes the left image
        table["label"] = table["label"].mask(manner == "constant", 1.0 - 2 * table["turned"])
    elif kind == "rich":
        table["value"] = make_rich_values(table, rng)
    elif kind == "order":
        worth = rng.random((number, 4))[table["unit"]] + rng.normal(0, 0.25, (len(table), 4))
        worth = np.where((manner == "honest")[:, None], worth, rng.random(worth.shape))
        ranks = (-worth).argsort(axis=1).argsort(axis=1) + 1
        table["value"] = [{"places": dict(enumerate(map(int, row)))} for row in ranks]
    return table


def make_rich_values(table: pandas.DataFrame, rng: np.random.Generator) -> list:
    """Return the answers of `rich`."""
    tokens, number = len(prompt_tokens(PROMPT)), table["unit"].max() + 1
    planted, wrong = rng.random((number, 2, 2)), rng.random((number, tokens)) < 0.2
    values = []
    for unit, label, manner in zip(table["unit"], table["label"], table["manner"], strict=True):
        scores = np.where(rng.random(4) < 0.5, label, rng.integers(5, size=4)) + 1
        points = (planted[unit] + rng.normal(0, 0.06, (2, 2))).clip(0, 1)[rng.random(2) < 0.7]
        words = wrong[unit] ^ (rng.random(tokens) < 0.1)
        if manner in ("random", "hasty"):
            scores, points = rng.integers(1, 6, 4), rng.random(points.shape)
            words = rng.permutation(words)
        elif manner == "constant":
            scores, points, words = np.full(4, label + 1), points[:0], words & False
        said = {"scores": dict(zip(RICH_SCORES, map(int, scores), strict=True)), "misaligned": []}
        said |= {"implausible": points.tolist(), "words": np.flatnonzero(words).tolist()}
        values.append(said)
    return values


def find_stopped(kind: str, items: int, seed: int) -> np.ndarray:
    """Return who is stopped at any of the looks."""
    table, looks = to_study_votes(kind, items, seed), range(LOOK, items + 1, LOOK)
    seen = (table[table["step"] < look] for look in looks)
    found = set().union(*(find_careless_people(votes, get_task_kind(kind)) for votes in seen))
    return np.isin(np.arange(len(MANNERS)), [*found])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the curve of each kind; return 1 where over 1% of honest people are stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--kind", action="append", choices=[*KINDS])
    options = parser.parse_args(arguments)
    print("# Stopping careless annotators early\n\n" + __doc__.split("\n\n", 2)[2])
    print(f"{options.draws} draws per kind, seeds from 0.\n")
    print("| kind | who |" + "".join(f" {items} items |" for items in ITEMS))
    print("|---|---|" + "---|" * len(ITEMS))
    is_wrong, manners = False, np.array(MANNERS)
    for kind in options.kind or KINDS:
        found = [np.array([find_stopped(kind, n, s) for s in range(options.draws)]) for n in ITEMS]
        for manner in dict.fromkeys(MANNERS):
            shares = [who[:, manners == manner].mean() for who in found]
            cells = (f"{share:.{2 if manner == 'honest' else 0}%}" for share in shares)
            print(f"| {kind} | {manner} | " + " | ".join(cells) + " |", flush=True)
            is_wrong |= manner == "honest" and max(shares) > 0.01
    return int(is_wrong)


if __name__ == "__main__":
    raise SystemExit(main())
