"""Choosing distinct captions: an exact k-means++ start, the nearest caption of each cluster."""

import itertools

import numpy as np
import pytest

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.select import sample_centres, select_captions

pytest.importorskip("faiss")


def clusters(count=20, each=30, dimensions=8, seed=0):
    generator = np.random.default_rng(seed)
    middles = generator.normal(size=(count, dimensions)) * 50
    points = np.repeat(middles, each, axis=0) + generator.normal(size=(count * each, dimensions))
    return points, np.repeat(np.arange(count), each)


def test_one_of_each_cluster_and_nearest_to_its_middle():
    points, cluster = clusters()
    chosen = select_captions(points, 20)
    assert cluster[chosen].tolist() == list(range(20))
    for row in chosen:
        own = points[cluster == cluster[row]]
        distance = np.linalg.norm(points[row] - own.mean(axis=0))
        assert distance == pytest.approx(np.linalg.norm(own - own.mean(axis=0), axis=1).min())


def test_seeded_and_distinct():
    points = np.random.default_rng(1).normal(size=(500, 16))
    first = select_captions(points, 200, seed=3)
    assert first.tolist() == select_captions(points, 200, seed=3).tolist()
    assert first.tolist() != select_captions(points, 200, seed=4).tolist()
    assert len(set(first)) == 200 and first.tolist() == sorted(first)


def test_start_is_drawn_as_kmeans_plus_plus_draws():
    # Four points on a line: the chance of each ordered start of three is worked out by hand.
    points = np.array([[0.0], [1.0], [3.0], [7.0]], np.float32)
    expected = {}
    for a, b, c in itertools.permutations(range(4), 3):
        first = (points[:, 0] - points[a, 0]) ** 2
        second = np.minimum(first, (points[:, 0] - points[b, 0]) ** 2)
        expected[a, b, c] = first[b] / first.sum() * second[c] / second.sum() / 4
    assert sum(expected.values()) == pytest.approx(1)
    generator = np.random.default_rng(0)
    drawn = [tuple(sample_centres(points, 3, generator).tolist()) for _ in range(3000)]
    for start, chance in expected.items():
        assert drawn.count(start) / 3000 == pytest.approx(chance, abs=0.015)


@pytest.mark.daily
def test_many_drawn_at_once_are_drawn_as_one_at_a_time():
    # The mean distance that is left over, from many starts: the same within its error.
    points = np.random.default_rng(2).normal(size=(400, 4)).astype(np.float32)

    def left(rows):
        return ((points[:, None] - points[rows]) ** 2).sum(axis=2).min(axis=1).sum()

    def one_at_a_time(generator):
        rows = [generator.integers(400)]
        while len(rows) < 60:
            distance = ((points[:, None] - points[rows]) ** 2).sum(axis=2).min(axis=1)
            rows.append(generator.choice(400, p=distance / distance.sum()))
        return rows

    generator = np.random.default_rng(0)
    ours = [left(sample_centres(points, 60, generator)) for _ in range(100)]
    plain = [left(one_at_a_time(generator)) for _ in range(100)]
    error = np.hypot(np.std(ours), np.std(plain)) / 10
    assert abs(np.mean(ours) - np.mean(plain)) < 4 * error


def test_duplicates():
    points = np.repeat(np.eye(5), 4, axis=0)
    chosen = select_captions(points, 5)
    assert len(set(chosen // 4)) == 5
    with pytest.raises(BenchmarkError, match="only 5 embeddings are distinct"):
        select_captions(points, 6)
