"""Robust means of votes, and who is flagged, where many answer at random, alike or turned."""

import numpy as np
import pytest
from support.votes import build, scores, write

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.trust.annotators import agreements, weighted_means

PEOPLE, IMAGES, AN_IMAGE, LABELS = 20, 1_040, 5, 5


def planted(seed, kind, bad):
    """Votes of 20 people on 1,040 images, of whom some are bad: truth, who, item, value, is_bad."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=IMAGES)
    item = np.repeat(np.arange(IMAGES), AN_IMAGE)
    who = np.concatenate([rng.permutation(PEOPLE) for _ in range(IMAGES * AN_IMAGE // PEOPLE)])
    seen = truth[item] + rng.normal(size=len(item))
    value = np.searchsorted(np.quantile(seen, np.arange(1, LABELS) / LABELS), seen) + 1.0
    is_bad = rng.permutation(PEOPLE) < bad
    rows = is_bad[who] & (rng.random(len(item)) < (0.5 if kind == "lazy" else 1))
    other = {
        "constant": rng.integers(1, LABELS + 1, PEOPLE)[who],
        "reversed": LABELS + 1 - value,
    }.get(kind, rng.integers(1, LABELS + 1, len(item)))
    return truth, who, item, np.where(rows, other, value), is_bad


def correlation(truth, item, value, weight):
    """Pearson's coefficient of the truth and the weighted mean of each image's votes."""
    total = np.bincount(item, weight)
    means = np.bincount(item, weight * value) / np.where(total > 0, total, 1)
    return np.corrcoef(truth, np.where(total > 0, means, value.mean()))[0, 1]


@pytest.mark.parametrize(
    ("kind", "bad"),
    [("random", 2), ("random", 10), ("constant", 6), ("lazy", 10), ("reversed", 6), ("none", 0)],
)
def test_robust_means_are_nearly_those_of_honest_people(kind, bad):
    for seed in range(4):
        truth, who, item, value, is_bad = planted(seed, kind, bad)

        robust, _ = weighted_means(who, item, item, value, PEOPLE, IMAGES)
        robust = np.corrcoef(truth, robust)[0, 1]
        assert robust >= 0.97 * correlation(truth, item, value, 1.0 - is_bad[who])
        assert robust >= correlation(truth, item, value, np.ones(len(who))) - 0.005
        reasons = agreements(who, item, item, value, "ordinal", PEOPLE).reasons
        flagged = np.array([bool(reason) for reason in reasons])
        assert not flagged[~is_bad].any()
        assert kind in ("lazy", "none") or flagged[is_bad].all()


def test_weights_by_hand():
    # Three who always agree, one who is turned: the turned one keeps the least weight alone.
    truth = np.tile(np.arange(1.0, 6.0), 8)
    item, who = np.tile(np.arange(40), 4), np.repeat(np.arange(4), 40)
    value = np.concatenate([truth, truth, truth, 6 - truth])
    found, weight = weighted_means(who, item, item, value, 4, 40)
    assert weight == pytest.approx([1.0, 1.0, 1.0, 0.01])
    np.testing.assert_allclose(found, (3 * truth + 0.01 * (6 - truth)) / 3.01)


def test_a_benchmark_of_robust_means(tmp_path):
    truth, who, item, value, _ = planted(0, "random", 10)
    rows = [f"P{i},{i}.png,m,a{w},{v:g}" for i, w, v in zip(item, who, value, strict=True)]
    path = write(tmp_path / "v.csv", *rows)
    names = [f"P{number}" for number in range(len(truth))]

    def reached(**options):
        built = build(path, scale="likert5", **options)
        found = scores(built, "m_rating")
        return built, np.corrcoef(truth, [found[name] for name in names])[0, 1]

    built, robust = reached(aggregate="robust")
    assert robust > reached()[1] + 0.1
    assert any("robust: weights of 20 annotators from 0.0" in note for note in built.notes)
    assert built.generation.limits == (1, 5)
    path = write(tmp_path / "y.csv", *(row[:-1] + str(int(row[-1] > "3")) for row in rows))
    built = build(path, scale="yes-no", aggregate="robust")
    assert built.generation.measure == "rate"
    rates = [scores(built, "m_rate")[name] for name in names]
    assert min(rates) >= 0 and max(rates) <= 1 and np.corrcoef(truth, rates)[0, 1] > 0.5
    path = write(tmp_path / "n.csv", "P,1.png,m,4", header="prompt,image,model,label")
    with pytest.raises(BenchmarkError, match="`aggregate` robust: no annotators came"):
        build(path, scale="likert5", aggregate="robust")
