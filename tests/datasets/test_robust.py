"""Robust means of votes, and who is flagged, where many answer at random, alike or turned."""

import numpy as np
import pytest
from support.votes import build, scores, write

from pqpp_datasets.errors import OptionError
from pqpp_datasets.own_benchmark.trust.annotators import agreements
from pqpp_datasets.own_benchmark.trust.weights import weighted_means

PEOPLE, VOTES, AN_IMAGE, LABELS = 20, 260, 5, 5
KINDS = [(kind, bad) for kind in ("random", "constant", "lazy") for bad in (2, 6, 10)]
KINDS += [("reversed", 2), ("reversed", 6), ("none", 0)]


def planted(seed, kind, bad, noise=1.0):
    """Return the truth of 1,040 images, votes of 20 people on them, and who of these is bad."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=PEOPLE * VOTES // AN_IMAGE)
    item = np.repeat(np.arange(len(truth)), AN_IMAGE)
    who = np.concatenate([rng.permutation(PEOPLE) for _ in range(VOTES)])
    seen = truth[item] + noise * rng.normal(size=len(item))
    value = np.searchsorted(np.quantile(seen, np.arange(1, LABELS) / LABELS), seen) + 1.0
    is_bad = rng.permutation(PEOPLE) < bad
    rows = is_bad[who]
    if kind == "lazy":
        rows = rows & (rng.random(len(item)) < 0.5)
    other = rng.integers(1, LABELS + 1, len(item)).astype(float)
    if kind == "constant":
        other = rng.integers(1, LABELS + 1, PEOPLE)[who].astype(float)
    elif kind == "reversed":
        other = LABELS + 1 - value
    return truth, who, item, np.where(rows, other, value), is_bad


def means(item, value, weight, images):
    total = np.bincount(item, weight, images)
    with np.errstate(invalid="ignore"):
        found = np.bincount(item, weight * value, images) / total
    return np.where(total > 0, found, value.mean())


def measured(kind, bad, draws, noise=1.0):
    """Return the correlation with the truth of all, robust and honest means, and shares flagged."""
    found, flags = [], []
    for seed in range(draws):
        truth, who, item, value, is_bad = planted(seed, kind, bad, noise)
        robust, _ = weighted_means(who, item, item, value, PEOPLE, len(truth))
        three = (
            means(item, value, np.ones(len(item)), len(truth)),
            robust,
            means(item, value, 1.0 - is_bad[who], len(truth)),
        )
        found.append([np.corrcoef(truth, one)[0, 1] for one in three])
        reasons = agreements(who, item, item, value, "ordinal", PEOPLE).reasons
        flags.append([[bool(reason) for reason in reasons], is_bad])
    flagged, is_bad = np.array(flags, bool).transpose(1, 0, 2)
    shares = [flagged[one].mean() if one.any() else 0.0 for one in (is_bad, ~is_bad)]
    return np.mean(found, axis=0), shares


@pytest.mark.parametrize(("kind", "bad"), KINDS)
def test_robust_means_are_nearly_those_of_honest_people(kind, bad):
    (everyone, robust, honest), (bad_flagged, honest_flagged) = measured(kind, bad, 4)
    assert robust >= 0.98 * honest
    assert robust >= everyone - 0.002
    assert honest_flagged == 0
    assert kind in ("lazy", "none") or bad_flagged == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1.0, 2.0])
@pytest.mark.parametrize(("kind", "bad"), KINDS)
def test_two_hundred_draws(kind, bad, noise):
    (everyone, robust, honest), (bad_flagged, honest_flagged) = measured(kind, bad, 200, noise)
    print(
        f"{kind} {bad} of 20, noise {noise:g}: all {everyone:.3f}, robust {robust:.3f}, honest "
        f"{honest:.3f}; flagged {bad_flagged:.1%} of the bad, {honest_flagged:.2%} of the honest"
    )
    assert robust >= 0.95 * honest and honest_flagged <= 0.01


def test_weights_by_hand():
    # Three who always agree, one who is turned: the turned one keeps the least weight alone.
    truth = np.tile(np.arange(1.0, 6.0), 8)
    item, who = np.tile(np.arange(40), 4), np.repeat(np.arange(4), 40)
    value = np.concatenate([truth, truth, truth, 6 - truth])
    found, weight = weighted_means(who, item, item, value, 4, 40)
    assert weight == pytest.approx([1.0, 1.0, 1.0, 0.01])
    np.testing.assert_allclose(found, (3 * truth + 0.01 * (6 - truth)) / 3.01)


def test_nobody_agrees_and_nobody_shares():
    item, who = np.tile(np.arange(30), 2), np.repeat(np.arange(2), 30)
    value = np.concatenate([np.arange(30.0), -np.arange(30.0)])
    found, weight = weighted_means(who, item, item, value, 2, 30)
    assert weight.tolist() == [1.0, 1.0] and found == pytest.approx(np.zeros(30))
    alone, weight = weighted_means(who, np.arange(60), np.arange(60), value, 2, 60)
    assert alone.tolist() == value.tolist()


def test_a_benchmark_of_robust_means(tmp_path):
    truth, who, item, value, _ = planted(0, "random", 10)
    rows = [f"P{i},{i}.png,m,a{w},{v:g}" for i, w, v in zip(item, who, value, strict=True)]
    path = write(tmp_path / "v.csv", *rows)
    names = [f"P{number}" for number in range(len(truth))]

    def correlation(**options):
        built = build(path, scale="likert5", **options)
        found = scores(built, "m_rating")
        return built, np.corrcoef(truth, [found[name] for name in names])[0, 1]

    built, robust = correlation(aggregate="robust")
    assert robust > correlation()[1] + 0.1
    assert any("robust: weights of 20 annotators from 0.0" in note for note in built.notes)
    assert built.generation.limits == (1, 5)
    path = write(tmp_path / "y.csv", *(row[:-1] + str(int(row[-1] > "3")) for row in rows))
    built = build(path, scale="yes-no", aggregate="robust")
    assert built.generation.measure == "rate"
    rates = [scores(built, "m_rate")[name] for name in names]
    assert min(rates) >= 0 and max(rates) <= 1 and np.corrcoef(truth, rates)[0, 1] > 0.5
    path = write(tmp_path / "n.csv", "P,1.png,m,4", header="prompt,image,model,label")
    with pytest.raises(OptionError, match="`aggregate` robust: no annotators came, whose agree"):
        build(path, scale="likert5", aggregate="robust")
