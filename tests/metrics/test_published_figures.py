"""Figures of the papers, computed from their published data."""

import csv
import json

import numpy as np
import pytest

from pqpp_metrics.functional import conqa_relevance, match_rate
from pqpp_metrics.wordnet_depth import wordnet_depth

pytestmark = pytest.mark.realdata
MODELS = {"Dalle": "dalle2", "MJ": "midjourney", "SD2.1": "sd2.1", "SD1.5": "sd1.5"}

# ConQA, Table 2: mean and standard deviation of lowest, highest and mean depth.
WORDNET_DEPTHS = {
    True: [(2.96, 1.94), (6.73, 1.79), (4.88, 1.57)],
    False: [(3.56, 2.30), (8.03, 1.43), (5.99, 1.35)],
}
# DALL-E 2, Midjourney, Stable Diffusion 2.1.
RATES_BY_TASK = {
    "Chimeras": (0.19, 0.18, 0.17),
    "Compositional characteristics": (0.7, 0.71, 0.62),
    "Conditional generation": (0.37, 0.25, 0.43),
    "Counting": (0.29, 0.44, 0.21),
    "Directed actions": (0.51, 0.41, 0.1),
    "Multiple objects": (0.53, 0.28, 0.12),
    "Negation": (0.66, 0.23, 0.53),
    "Simple arithmetic": (0.0, 0.0, 0.0),
    "Single object": (0.976, 0.936, 0.612),
    "Spatial relationships": (0.34, 0.08, 0.12),
    "Text rendering": (0.05, 0.0, 0.03),
    "Unusual arrangements": (0.23, 0.16, 0.1),
}


@pytest.fixture(scope="module")
def annotations(real_data):
    path = real_data / "gimbrr" / "annotations" / "annotations_df_230311.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8408
    return [row for row in rows if not row["Task"].startswith("Controlled")]


def test_gimbrr_match_rates_by_task(annotations):
    matches = [row["annotation"] == "True" for row in annotations]
    groups = [[row["Task"], MODELS[row["Algorithm"]]] for row in annotations]
    result = match_rate(matches, groups, ["task", "model"])
    found = {(row["task"], row["model"]): row["match_rate"] for row in result["groups"]}
    for task, rates in RATES_BY_TASK.items():
        for model, rate in zip(("dalle2", "midjourney", "sd2.1"), rates, strict=True):
            digits = 3 if task == "Single object" else 2
            assert round(found[task, model], digits) == rate, (task, model)


def test_conqa_relevant_images_per_query(real_data):
    votes = json.loads((real_data / "conqa" / "mturk.json").read_text())
    counts = [vote for images in votes.values() for vote in images.values()]
    per_query = {
        rule: conqa_relevance(counts, rule=rule).sum() / len(votes)
        for rule in ("unanimous", "three_votes", "majority")
    }
    assert {rule: round(float(mean), 1) for rule, mean in per_query.items()} == {
        "unanimous": 22.5,
        "three_votes": 32.9,
        "majority": 53.1,
    }


def test_conqa_wordnet_depth(real_data, monkeypatch):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(real_data / "nltk_data"), *nltk.data.path])
    queries = json.loads((real_data / "conqa" / "seed.json").read_text()).values()
    for conceptual, expected in WORDNET_DEPTHS.items():
        depths = wordnet_depth([q["Text"] for q in queries if q["Conceptual"] == conceptual])
        assert not np.isnan(depths).any()
        means, deviations = depths.mean(axis=0).round(2), depths.std(axis=0).round(2)
        assert list(zip(means, deviations, strict=True)) == expected
    assert np.isnan(wordnet_depth(["zzzzqx"])).all()
