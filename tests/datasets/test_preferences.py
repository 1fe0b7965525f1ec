"""Preferences: strengths of models, agreement of voters and refused inputs."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats
from support.votes import build, to_dict, write

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.target_columns import get_measure
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import bradley_terry

HEADER = "prompt,model_a,model_b,choice,annotator"


def make_wins(seed, models=5, most=12):
    """Return random wins of each model over each other, with ties as halves and gaps."""
    wins = np.random.default_rng(seed).integers(0, 2 * most, (models, models)) / 2
    for gap in range(2, models - 1):
        wins[0, gap] = wins[gap, 0] = 0
    return wins * (1 - np.eye(models))


def fit_by_minorization(wins):
    """Fit strengths by the minorization-maximization algorithm of Hunter (2004)."""
    counts, strength = wins + wins.T, np.ones(len(wins))
    for _ in range(100_000):
        new = wins.sum(axis=1) / (counts / (strength[:, None] + strength)).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        if np.abs(np.log(new / strength)).max() < 1e-14:
            break
        strength = new
    return np.log(new)


def compute_standard_errors(wins, strength):
    """Compute standard errors of centred strengths by logistic regression."""
    size = len(wins)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    design = np.zeros((len(pairs), size))
    for row, (i, j) in enumerate(pairs):
        design[row, i], design[row, j] = 1, -1
    probability = stats.logistic.cdf(design @ strength)
    counts = np.array([wins[i, j] + wins[j, i] for i, j in pairs])
    free_columns = design[:, :-1]
    covariance = np.zeros((size, size))
    weights = counts * probability * (1 - probability)
    covariance[:-1, :-1] = np.linalg.inv((free_columns.T * weights) @ free_columns)
    centre = np.eye(size) - 1 / size
    return np.sqrt(np.diagonal(centre @ covariance @ centre.T))


@pytest.mark.parametrize("seed", range(8))
def test_strengths_and_errors_match_other_estimators(seed):
    wins = make_wins(seed)
    result = bradley_terry(wins, confidence=0.9)
    assert result["strength"] == pytest.approx(fit_by_minorization(wins), abs=1e-9)
    errors = compute_standard_errors(wins, result["strength"])
    assert result["standard_error"] == pytest.approx(errors, rel=1e-9)
    margin = stats.norm.ppf(0.95) * errors
    assert result["high"] - result["strength"] == pytest.approx(margin, rel=1e-9)
    assert result["strength"] - result["low"] == pytest.approx(margin, rel=1e-9)
    with_prior = bradley_terry(wins, prior_wins=0.5)["strength"]
    assert with_prior == pytest.approx(fit_by_minorization(wins + 0.5 * (1 - np.eye(5))), abs=1e-9)


def test_rejects_undefined_strengths():
    disconnected = np.zeros((4, 4))
    disconnected[0, 1] = disconnected[1, 0] = disconnected[2, 3] = disconnected[3, 2] = 3
    for wins in ([[0, 2], [0, 0]], disconnected):
        with pytest.raises(MetricInputError, match="has no chain of wins from model"):
            bradley_terry(wins)
        assert np.isfinite(bradley_terry(wins, prior_wins=0.5)["high"]).all()


ROWS = ["A,m,n,a,x", "A,n,m,a,y", "A,m,n,Tie,z", "B,m,n,model_a,x", "B,o,n,b,x", "B,o,m,right,x"]


def test_builds_a_benchmark_of_preferences(tmp_path):
    path = write(tmp_path / "v.csv", *ROWS, "C,o,n,left,x", "C,n,m,tie,x", header=HEADER)
    built = build(preferences=path)
    wins = np.array([[0, 3, 1], [2, 0, 1], [0, 1, 0]])
    preferences = built.preferences
    assert preferences.models == ["m", "n", "o"] and (preferences.rows, preferences.ties) == (8, 2)
    assert preferences.strength == pytest.approx(fit_by_minorization(wins), abs=1e-9)
    assert preferences.comparisons.tolist() == [6, 7, 3]
    assert preferences.win_share == pytest.approx([4 / 6, 3 / 7, 1 / 3])
    assert to_dict(built, "m_rate") == {"A": 0.5, "B": 1.0, "C": 0.5}
    assert to_dict(built, "o_rate") == {"A": None, "B": 0.0, "C": 1.0}
    assert [target.name for target in built.targets] == ["m_rate", "n_rate", "o_rate"]
    assert all("of comparisons won" in get_measure(t.name).about for t in built.targets)
    assert preferences.describe_models()[0].startswith("m: strength 0.")
    write(path, "A,m,n,a,x", "A,n,m,b,x", "B,m,n,b,y", header=HEADER)  # sides changed, one model
    averaged = build(preferences=path, repeats="mean").preferences
    assert averaged.win_share.tolist() == [0.5, 0.5] and averaged.ties == 0


def test_rejects_invalid_preferences(tmp_path):
    path = tmp_path / "v.csv"
    for rows, options, expected in (
        (["A,m,m,a,x"], {}, r"row 2: 'model_b' is 'm', the same as model_a"),
        (["A,m,n,better,x"], {}, r"row 2: 'choice' is 'better', .* one of a, .* `missing`=better"),
        (["A,m,n,no,x", "B,m,n,-1,x"], {}, r"`labels` '{\"no\": \"\?\", \"-1\": -1}'"),
        (["A,m,n,a,x", "A,n,m,a,x"], {}, r"row 3: this choice .* row 2; .* `repeats` to first"),
    ):
        write(path, *rows, header=HEADER)
        with pytest.raises(BenchmarkError, match=expected):
            build(preferences=path, **options)
    write(path, "A,m,n,a,x", "B,m,n,b,x", "A,m,o,a,x", header=HEADER)
    with pytest.raises(BenchmarkError, match=r"\(o never won\); .* set `prior_wins` to 0\.5"):
        build(preferences=path)
    assert build(preferences=path, prior_wins=0.5).preferences.strength.shape == (3,)
    write(path, "A,m,n,good,x", "B,m,n,bad,x", header=HEADER)
    (tmp_path / "map.yaml").write_text("labels: {good: 1, bad: -1, same: 0}")
    preferences = build(preferences=path, labels=str(tmp_path / "map.yaml")).preferences
    assert preferences.strength == pytest.approx([0, 0], abs=1e-12)
    (tmp_path / "map.yaml").write_text("labels: {good: 2, bad: -1}")
    with pytest.raises(BenchmarkError, match=r"a tie.*, got 2"):
        build(preferences=path, labels=str(tmp_path / "map.yaml"))


def test_choice_may_be_a_model_name(tmp_path):
    rows = ["A,m,n,{},x", "A,n,m,{},y", "B,m,n,{},x", "B,n,o,{},x", "C,o,m,{},x"]
    by_side = [row.format(c) for row, c in zip(rows, ["a", "a", "tie", "a", "a"], strict=True)]
    by_name = [row.format(c) for row, c in zip(rows, ["m", "n ", "tie", "n", "o"], strict=True)]
    sides = build(preferences=write(tmp_path / "s.csv", *by_side, header=HEADER))
    names = build(preferences=write(tmp_path / "n.csv", *by_name, header=HEADER))
    assert names.preferences.strength.tolist() == sides.preferences.strength.tolist()
    assert to_dict(names, "m_rate") == to_dict(sides, "m_rate") == {"A": 0.5, "B": 0.5, "C": 0.0}
    path = write(tmp_path / "v.csv", "A,m,n,m,x", "A,n,o,m,x", header=HEADER)
    with pytest.raises(BenchmarkError, match=r"row 3: 'choice' is 'm', expected one of a"):
        build(preferences=path)
    # A word of the scale keeps its meaning if a model has the same name.
    path = write(tmp_path / "v.csv", "A,m,a,a,x", "A,m,a,b,y", "B,m,a,m,x", header=HEADER)
    assert to_dict(build(preferences=path), "m_rate") == {"A": 0.5, "B": 1.0}


def simulate_votes(seed=0, prompts=60, people=5, bias=None, random_sides=True):
    """Simulate choices of honest voters and, optionally, of a biased one, `who<people>`."""
    rng = np.random.default_rng(seed)
    lines = []
    for n in range(prompts):
        better = rng.random() < 0.6  # usually the first model's image
        for who in range(people + (bias is not None)):
            swapped = random_sides and rng.random() < 0.5
            chooses_left = better if rng.random() < 0.85 else not better
            chooses_left = chooses_left != swapped
            if who == people:
                chooses_left = {"left": True, "right": False, "random": rng.random() < 0.5}[bias]
            tie = who < people and rng.random() < 0.1
            a, b = ("n", "m") if swapped else ("m", "n")
            word = "tie" if tie else "a" if chooses_left else "b"
            lines.append(f"P{n},{a},{b},{n}_{a}.png,{n}_{b}.png,who{who},{word},{n % 7}")
    return lines


IMAGE_HEADER = "prompt,model_a,model_b,image_a,image_b,annotator,choice,seconds"


@pytest.mark.daily
@pytest.mark.parametrize("bias", ["left", "right", "random"])
@pytest.mark.parametrize("random_sides", [True, False])
def test_flags_voters_who_ignore_the_images(tmp_path, bias, random_sides):
    hits, false_flags = 0, 0
    for seed in range(20):
        lines = simulate_votes(seed, 150, bias=bias, random_sides=random_sides)
        built = build(preferences=write(tmp_path / "v.csv", *lines, header=IMAGE_HEADER))
        names = [name for name, _ in built.preferences.flagged_voters]
        hits += "who5" in names
        false_flags += len(set(names) - {"who5"})
    assert hits >= 19 and false_flags <= 5  # of 20 biased and 100 honest voters


def test_agreement_on_pairs_matches_scikit_learn(tmp_path):
    from sklearn.metrics import cohen_kappa_score

    lines = simulate_votes(people=2)
    built = build(preferences=write(tmp_path / "v.csv", *lines, header=IMAGE_HEADER))
    choice = {"a": 1, "b": -1, "tie": 0}
    choices: dict[str, list[int]] = {"who0": [], "who1": []}
    for line in lines:
        _, a, _, _, _, who, word, _ = line.split(",")
        choices[who].append(choice[word] * (1 if a == "m" else -1))
    agreements = built.preferences.agreements
    kappa = cohen_kappa_score(choices["who0"], choices["who1"], weights="quadratic")
    assert agreements.agreement == pytest.approx([kappa, kappa], abs=1e-9)
    ties = [np.mean(np.array(own_choices) == 0) for own_choices in choices.values()]
    assert agreements.ties == pytest.approx(ties)
    firsts = [line.split(",")[6] for line in lines if ",who0," in line]
    assert agreements.first[0] == firsts.count("a") / (firsts.count("a") + firsts.count("b"))


def test_excludes_flagged_voters_but_stores_their_votes(tmp_path, capsys):
    from pqpp_cli.main import main

    path = write(tmp_path / "v.csv", *simulate_votes(1, 100, bias="left"), header=IMAGE_HEADER)
    command = ["build", "--preferences", str(path), "--output", str(tmp_path / "b")]
    assert main([*command, "--exclude", "flagged"]) == 0
    output = capsys.readouterr().out
    assert re.search(r"flagged: who5 \(annotator \d+ .* chose the first image in 100% of", output)
    assert "annotators flagged; left out" in output
    votes = pq.read_table(tmp_path / "b/data/preferences").to_pylist()
    assert len(votes) == 600 and sum(vote["counts"] for vote in votes) == 500
    assert {vote["annotator"] for vote in votes} == {1, 2, 3, 4, 5, 6}
    first = next(vote for vote in votes if vote["prompt"] == "P3")
    assert first["image_a"] == f"3_{first['model_a']}.png" and first["seconds"] == 3.0
    page = (tmp_path / "b/report.html").read_text("utf-8")
    assert "chose the first" in page and "who5" not in page and "annotator " in page
    images = pq.read_table(tmp_path / "b/data/images").to_pylist()
    assert len(images) == 200 and {row["votes"] for row in images} == {5}
    shares = [row["score"] for row in images if row["prompt"] == "P3"]
    assert sum(shares) == pytest.approx(1.0)
    counted = [vote for vote in votes if vote["prompt"] == "P3" and vote["counts"]]
    winners = [vote.get(f"model_{vote['choice']}", "tie") for vote in counted]
    wins = np.mean([0.5 if winner == "tie" else winner == "m" for winner in winners])
    (score,) = [row["score"] for row in images if row["prompt"] == "P3" and row["model"] == "m"]
    assert score == pytest.approx(wins)


NUMERIC_CHOICES = [
    # Pick-a-Pic has the share of the first image; other files have its index or position.
    ("share", "label_0", ["1", "0", "0.5", "1.0"]),
    (None, "label_0", ["1", "0", "0.5", "1.0"]),
    ("index", "choice", ["0", "1", "tie", "0.0"]),
    (None, "choice", ["1", "2", "0", "1"]),
    (None, "choice", ["1", "-1", "0", "1"]),
    ("sign", "choice", ["+1", "-1", "0", "1"]),
]


@pytest.mark.parametrize(("scale", "column", "numbers"), NUMERIC_CHOICES)
def test_reads_numeric_choices(tmp_path, scale, column, numbers):
    header = f"prompt,model_a,model_b,{column},annotator"
    rows = [f"P{n},m,n,{number},x" for n, number in enumerate(numbers)]
    path = write(tmp_path / "v.csv", *rows, header=header)
    built = build(preferences=path, scale=scale, columns={"choice": column}, prior_wins=0.5)
    tied = 1.0 if {"0.5", ".5", "tie"}.isdisjoint(numbers) and "2" not in numbers else 0.5
    tied = 0.5 if "-1" in numbers else tied
    assert to_dict(built, "m_rate") == {"P0": 1.0, "P1": 0.0, "P2": tied, "P3": 1.0}
    assert any("1 for the first model" in n or "0 for the first" in n for n in built.notes)
