"""`select_captions`: nearest captions, seeds and duplicates."""

import numpy as np
import pytest

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.select import select_captions

pytest.importorskip("faiss")


def make_clusters(count=20, each=30, dimensions=8, seed=0):
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(count, dimensions)) * 500
    points = np.repeat(centres, each, axis=0) + generator.normal(size=(count * each, dimensions))
    return points, np.repeat(np.arange(count), each)


def test_selects_nearest_caption_of_each_cluster():
    points, cluster = make_clusters()
    selected = select_captions(points, 20)
    assert cluster[selected].tolist() == list(range(20))
    for row in selected:
        members = points[cluster == cluster[row]]
        distances = np.linalg.norm(members - members.mean(axis=0), axis=1)
        assert distances.min() == pytest.approx(np.linalg.norm(points[row] - members.mean(axis=0)))


def test_selection_is_seeded_and_distinct():
    points = np.random.default_rng(1).normal(size=(500, 16))
    first = select_captions(points, 200, seed=3)
    assert first.tolist() == select_captions(points, 200, seed=3).tolist()
    assert first.tolist() != select_captions(points, 200, seed=4).tolist()
    assert len(set(first)) == 200 and first.tolist() == sorted(first)


def test_selects_distinct_captions_among_duplicates():
    points = np.repeat(np.eye(5), 4, axis=0)
    assert len(set(select_captions(points, 5) // 4)) == 5
    with pytest.raises(BenchmarkError, match=r"at most 5 \(distinct embeddings\)"):
        select_captions(points, 6)
