"""Rankings: conversion to preferences and refused inputs."""

import itertools
import random

import pytest
from support.votes import build, to_dict, write

from pqpp_datasets.errors import BenchmarkError

HEADER = "prompt,model,annotator,rank"


def make_rankings(seed, models="mnop", prompts=12, people=("x", "y")):
    """Return rankings with ties and missing models, and the equivalent choices."""
    rng = random.Random(seed)
    rows, choices = [], []
    for prompt, person in itertools.product(range(prompts), people):
        ranks = {model: rng.choice((1, 2, 3, 4)) for model in models if rng.random() < 0.8}
        rows += [f"P{prompt},{model},{person},{rank}" for model, rank in ranks.items()]
        for a, b in itertools.combinations(ranks, 2):
            word = "a" if ranks[a] < ranks[b] else "b" if ranks[a] > ranks[b] else "tie"
            choices.append(f"P{prompt},{a},{b},{word},{person}")
    rng.shuffle(rows)
    return rows, choices


@pytest.mark.parametrize("seed", range(5))
def test_converts_rankings_to_preferences(tmp_path, seed):
    rows, choices = make_rankings(seed)
    ranks = build(rankings=write(tmp_path / "r.csv", *rows, header=HEADER))
    header = "prompt,model_a,model_b,choice,annotator"
    pairs = build(preferences=write(tmp_path / "p.csv", *choices, header=header))
    for model in "mnop":
        name = f"{model}_rate"
        expected = {p: s for p, s in to_dict(pairs, name).items() if s is not None}
        assert {p: s for p, s in to_dict(ranks, name).items() if s is not None} == expected
    strengths = [
        dict(zip(b.preferences.models, b.preferences.strength.tolist(), strict=True))
        for b in (ranks, pairs)
    ]
    assert strengths[0] == pytest.approx(strengths[1], abs=1e-9)
    assert ranks.preferences.rows == pairs.preferences.rows == len(choices)
    assert any("read as" in note and "preferences" in note for note in ranks.notes)


def test_reads_one_column_of_ranks_per_model(tmp_path):
    long = write(tmp_path / "r.csv", "A,m,x,1", "A,n,x,2", "A,o,x,2", "A,p,x,9", header=HEADER)
    expected = {"m_rate": 1.0, "n_rate": 0.5, "o_rate": 0.5, "p_rate": 0.0}
    wide = write(tmp_path / "w.csv", "A,x,1,2,2,9", header="prompt,annotator,m,n,o,p")
    for built in (
        build(rankings=long, prior_wins=0.5),
        build(rankings=wide, prior_wins=0.5, models=("m", "n", "o", "p")),
    ):
        assert {name: to_dict(built, name)["A"] for name in expected} == expected


@pytest.mark.parametrize(("rows", "fault"), [(501, "501 models"), (201, "201 rows, more than 200")])
def test_rejects_invalid_rankings(tmp_path, rows, fault):
    path = write(tmp_path / "r.csv", *(f"P,m{n},x,1" for n in range(rows)), header=HEADER)
    with pytest.raises(BenchmarkError, match=fault):
        build(rankings=path)
