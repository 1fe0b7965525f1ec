"""Penetration: rendered solids that touch or intersect, and scores by hand."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")

from sklearn.metrics import roc_auc_score
from support.meeting_solids import make_solids

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.scores.penetration import PenetrationScore, find_contacts, score_pairs

PICTURE = Picture(Path("a.png"), "two solids")


def score_scene(scene, weighting="corrected"):
    pairs = find_contacts(scene.masks, scene.depth, [1, 1])
    evidence = {"objects": 2, "labels": ["a", "b"], "pairs": pairs}
    return PenetrationScore(weighting=weighting).score(evidence, PICTURE).score


def compute_auc(seeds):
    scores, is_touching = [], []
    for seed in seeds:
        depth = np.random.default_rng([seed, 6]).uniform(0.15, 0.5)
        scores += [score_scene(make_solids(seed, 0)), score_scene(make_solids(seed, depth))]
        is_touching += [1, 0]
    return roc_auc_score(is_touching, scores)


def test_auc_of_rendered_solids():
    assert compute_auc(range(1000, 1006)) >= 0.8


@pytest.mark.slow
def test_auc_of_200_rendered_solids():
    assert compute_auc(range(1000, 1100)) >= 0.9


PAIR = {"overlap": [1.0, 1.5], "outside": [1.0, 3.0], "relief": 1.0, "contact": 2.0}
PAIR |= {"enclosed": 0.1, "confidences": [1.0, 0.5], "objects": [0, 1]}


def test_score_pairs_by_hand():
    # C = .5 / (2 + 1); the printed weighting times .5, the corrected 1 - .5 (1 - C).
    assert score_pairs([PAIR], "printed") == pytest.approx([1 / 12])
    assert score_pairs([PAIR], "corrected") == pytest.approx([1 - 0.5 * (1 - 1 / 6)])
    # In units of the relief: half of .5 / (1 + 1).
    assert score_pairs([{**PAIR, "relief": 2.0}], "printed") == pytest.approx([0.0625])
    # Half the contact halves the weight; a conflict within an attachment is halved.
    for change in ({"contact": 0.5}, {"enclosed": 0.95}):
        assert score_pairs([{**PAIR, **change}], "corrected") == pytest.approx([1 - 0.25 * 5 / 6])


def score_evidence(objects, pairs, weighting="corrected"):
    evidence = {"objects": objects, "labels": ["cup", "table", "cat"], "pairs": pairs}
    return PenetrationScore(weighting=weighting).score(evidence, PICTURE)


def test_reason_names_the_worst_pair():
    harmless = {**PAIR, "overlap": [1.0, 9.0], "objects": [0, 2]}
    verdict = score_evidence(3, [harmless, PAIR])
    assert verdict.score == pytest.approx(1 - 0.5 * 5 / 6) and "cup and table" in verdict.reason
