"""Preferences to strengths: against other ways of finding them, and what is refused."""

import numpy as np
import pytest
from scipy import stats
from support.votes import build, scores, write

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.target_columns import measure_of
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import bradley_terry

HEADER = "prompt,model_a,model_b,choice,annotator"


def drawn(seed, models=5, most=12):
    """Wins of each model over each other one, with ties as halves and pairs never compared."""
    wins = np.random.default_rng(seed).integers(0, 2 * most, (models, models)) / 2
    for gap in range(2, models - 1):
        wins[0, gap] = wins[gap, 0] = 0
    return wins * (1 - np.eye(models))


def by_minorisation(wins):
    """Strengths by the fixed point of Hunter (2004), which knows no derivative."""
    number, strength = wins + wins.T, np.ones(len(wins))
    for _ in range(100_000):
        new = wins.sum(axis=1) / (number / (strength[:, None] + strength)).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        if np.abs(np.log(new / strength)).max() < 1e-14:
            break
        strength = new
    return np.log(new)


def errors_by_a_fixed_model(wins, strength):
    """Standard errors of centred strengths, from the logistic regression with the last at 0."""
    size = len(wins)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    design = np.zeros((len(pairs), size))
    for row, (i, j) in enumerate(pairs):
        design[row, i], design[row, j] = 1, -1
    chance = stats.logistic.cdf(design @ strength)
    number = np.array([wins[i, j] + wins[j, i] for i, j in pairs])
    fixed = design[:, :-1]
    covariance = np.zeros((size, size))
    covariance[:-1, :-1] = np.linalg.inv((fixed.T * (number * chance * (1 - chance))) @ fixed)
    centre = np.eye(size) - 1 / size
    return np.sqrt(np.diagonal(centre @ covariance @ centre.T))


@pytest.mark.parametrize("seed", range(8))
def test_strengths_and_errors_found_in_other_ways(seed):
    wins = drawn(seed)
    found = bradley_terry(wins, confidence=0.9)
    assert found["strength"] == pytest.approx(by_minorisation(wins), abs=1e-9)
    errors = errors_by_a_fixed_model(wins, found["strength"])
    assert found["standard_error"] == pytest.approx(errors, rel=1e-9)
    half = stats.norm.ppf(0.95) * errors
    assert found["high"] - found["strength"] == pytest.approx(half, rel=1e-9)
    assert found["strength"] - found["low"] == pytest.approx(half, rel=1e-9)
    prior = bradley_terry(wins, prior_wins=0.5)["strength"]
    assert prior == pytest.approx(by_minorisation(wins + 0.5 * (1 - np.eye(5))), abs=1e-9)


def test_strengths_of_choix():
    """Values of choix 0.4.1, ilsr_pairwise with tol=1e-13, the mean taken off."""
    wins = [[0, 7, 6, 3, 3], [0, 0, 0, 2, 9], [7, 10, 0, 7, 11], [8, 7, 6, 0, 11], [3, 9, 8, 0, 0]]
    assert bradley_terry(wins)["strength"] == pytest.approx(
        [
            *(0.2345520659918335, -1.0817366132077522, 0.5026067322791749),
            *(0.9132506915817962, -0.5686728766450522),
        ],
        abs=1e-9,
    )


def test_no_one_best_set_is_refused():
    parted = np.zeros((4, 4))
    parted[0, 1] = parted[1, 0] = parted[2, 3] = parted[3, 2] = 3
    for wins in ([[0, 2], [0, 0]], parted):
        with pytest.raises(MetricInputError, match="leads by no chain of wins from model"):
            bradley_terry(wins)
        assert np.isfinite(bradley_terry(wins, prior_wins=0.5)["high"]).all()
    for wins in ([[0, -1], [1, 0]], [[1, 1], [1, 0]], [[0, 1, 1], [1, 0, 1]], [[0]]):
        with pytest.raises(MetricInputError, match="`wins`"):
            bradley_terry(wins)


ROWS = ["A,m,n,a,x", "A,n,m,a,y", "A,m,n,Tie,z", "B,m,n,model_a,x", "B,o,n,b,x", "B,o,m,right,x"]


def test_a_benchmark_of_preferences(tmp_path):
    path = write(tmp_path / "v.csv", *ROWS, "C,o,n,left,x", "C,n,m,tie,x", header=HEADER)
    built = build(preferences=path)
    wins = np.array([[0, 3, 1], [2, 0, 1], [0, 1, 0]])
    found = built.preferences
    assert found.models == ["m", "n", "o"] and (found.rows, found.ties) == (8, 2)
    assert found.strength == pytest.approx(by_minorisation(wins), abs=1e-9)
    assert found.comparisons.tolist() == [6, 7, 3]
    assert found.win_share == pytest.approx([4 / 6, 3 / 7, 1 / 3])
    assert scores(built, "m_rate") == {"A": 0.5, "B": 1.0, "C": 0.5}
    assert scores(built, "o_rate") == {"A": None, "B": 0.0, "C": 1.0}
    assert [target.name for target in built.targets] == ["m_rate", "n_rate", "o_rate"]
    assert all("of comparisons won" in measure_of(t.name).about for t in built.targets)
    assert found.lines()[0].startswith("m: strength 0.")


def test_what_is_refused_of_preferences(tmp_path):
    path = tmp_path / "v.csv"
    for rows, options, expected in (
        (["A,m,m,a,x"], {}, r"row 1: model_b is 'm', as model_a"),
        (["A,m,n,better,x"], {}, r"row 1: choice is 'better', one of a, .* --missing=better"),
        (["A,m,n,,x"], {}, r"row 1: choice is empty; .* --blank drop"),
        (["A,m,n,,x"], {"blank": "drop"}, "no choice is left .1 blank votes left out"),
        (["A,m,n,a,x", "A,n,m,a,x"], {}, r"row 2: this choice .* row 1; .* --repeats first"),
    ):
        write(path, *rows, header=HEADER)
        with pytest.raises(DataFileError, match=expected):
            build(preferences=path, **options)
    write(path, "A,m,n,a,x", "B,m,n,b,x", "A,m,o,a,x", header=HEADER)
    with pytest.raises(OptionError, match=r"\(o never won\); give further .* --prior-wins 0\.5"):
        build(preferences=path)
    assert build(preferences=path, prior_wins=0.5).preferences.strength.shape == (3,)
    write(path, "A,m,n,good,x", "B,m,n,bad,x", header=HEADER)
    (tmp_path / "map.yaml").write_text("labels: {good: 1, bad: -1, same: 0}")
    found = build(preferences=path, labels=str(tmp_path / "map.yaml")).preferences
    assert found.strength == pytest.approx([0, 0], abs=1e-12)
    (tmp_path / "map.yaml").write_text("labels: {good: 2, bad: -1}")
    with pytest.raises(OptionError, match="the value 2 came; of choices 1 is the first"):
        build(preferences=path, labels=str(tmp_path / "map.yaml"))


def test_the_chosen_model_may_be_named(tmp_path):
    rows = ["A,m,n,{},x", "A,n,m,{},y", "B,m,n,{},x", "B,n,o,{},x", "C,o,m,{},x"]
    by_side = [row.format(c) for row, c in zip(rows, ["a", "a", "tie", "a", "a"], strict=True)]
    by_name = [row.format(c) for row, c in zip(rows, ["m", "n ", "tie", "n", "o"], strict=True)]
    sides = build(preferences=write(tmp_path / "s.csv", *by_side, header=HEADER))
    names = build(preferences=write(tmp_path / "n.csv", *by_name, header=HEADER))
    assert names.preferences.strength.tolist() == sides.preferences.strength.tolist()
    assert scores(names, "m_rate") == scores(sides, "m_rate") == {"A": 0.5, "B": 0.5, "C": 0.0}
    path = write(tmp_path / "v.csv", "A,m,n,m,x", "A,n,o,m,x", header=HEADER)
    with pytest.raises(DataFileError, match=r"row 2: choice is 'm', one of a"):
        build(preferences=path)
    # A word of the scale keeps its meaning where a model has it for a name.
    path = write(tmp_path / "v.csv", "A,m,a,a,x", "A,m,a,b,y", "B,m,a,m,x", header=HEADER)
    assert scores(build(preferences=path), "m_rate") == {"A": 0.5, "B": 1.0}


def test_a_file_without_labels_is_told_what_it_may_be(tmp_path):
    path = write(tmp_path / "v.csv", "A,m,n,a,x", header=HEADER)
    with pytest.raises(DataFileError, match=r"no column label .* named by --preferences FILE"):
        build(path)
    path = write(tmp_path / "v.csv", "A,m,3,4", header="prompt,model,ann,bob")
    with pytest.raises(DataFileError, match="--column label=COLUMN; --annotators COL,COL"):
        build(path)


def test_a_later_choice_of_one_person_counts_if_asked(tmp_path):
    path = write(tmp_path / "v.csv", "A,m,n,a,x", "A,n,m,a,x", "A,m,n,a,y", header=HEADER)
    assert scores(build(preferences=path, repeats="last"), "m_rate") == {"A": 0.5}
    assert scores(build(preferences=path, repeats="mean"), "m_rate") == {"A": 0.75}
    with pytest.raises(OptionError, match="n never won"):
        build(preferences=path, repeats="first")
