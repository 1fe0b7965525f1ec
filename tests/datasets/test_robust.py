"""Robust means of votes, and who is flagged, where many answer at random, alike or turned."""

import numpy as np
import pytest
from support.tiny_models import load_script
from support.votes import build, scores, write

from pqpp_datasets.errors import OptionError
from pqpp_datasets.own_benchmark.trust.annotators import weighted_means

planted_votes = load_script("robust_means", "benchmarks")


@pytest.mark.parametrize(("kind", "bad"), planted_votes.KINDS)
def test_robust_means_are_nearly_those_of_honest_people(kind, bad):
    found = planted_votes.measured(kind, bad, 4)
    everyone, robust, honest = found.correlation
    assert robust >= 0.98 * honest and robust >= everyone - 0.002
    assert found.rmse[1] <= min(found.rmse[2] / 0.95, found.rmse[0] + 0.002)
    assert found.rank[1] >= 0.95 * found.rank[2]
    assert found.honest_flagged == 0
    assert kind in ("lazy", "none") or found.bad_flagged == 1.0


def test_weights_by_hand():
    # Three who always agree, one who is turned: the turned one keeps the least weight alone.
    truth = np.tile(np.arange(1.0, 6.0), 8)
    item, who = np.tile(np.arange(40), 4), np.repeat(np.arange(4), 40)
    value = np.concatenate([truth, truth, truth, 6 - truth])
    found, weight = weighted_means(who, item, item, value, 4, 40)
    assert weight == pytest.approx([1.0, 1.0, 1.0, 0.01])
    np.testing.assert_allclose(found, (3 * truth + 0.01 * (6 - truth)) / 3.01)


def test_a_benchmark_of_robust_means(tmp_path):
    truth, _, _, who, item, value, _ = planted_votes.planted(0, "random", 10)
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
