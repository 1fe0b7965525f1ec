"""Agreement, flags and reliability of annotators, against other libraries and simulations."""

import html
import math

import numpy as np
import pytest
from support.tiny_models import load_script
from support.votes import build, write

from pqpp_cli.main import main
from pqpp_datasets.own_benchmark.trust.annotators import compare_annotators
from pqpp_datasets.own_benchmark.trust.figures import compute_alpha, measure_agreement
from pqpp_datasets.own_benchmark.write import write_benchmark


def simulate_votes(seed, images=60, people=5, labels=5):
    """Simulate votes; each annotator rates about 70% of the images."""
    rng = np.random.default_rng(seed)
    item, who = np.nonzero(rng.random((images, people)) < 0.7)
    truth = rng.integers(0, labels, images)
    value = np.clip(truth[item] + rng.integers(-1, 2, len(item)), 0, labels - 1)
    order = rng.permutation(len(item))
    return who[order], item[order], value[order].astype(float)


def pair_with_others(who, item, value, annotator):
    """Return pairs of an annotator's vote and another vote on the image, with their weights."""
    pairs = []
    for row in np.flatnonzero(who == annotator):
        others = value[(item == item[row]) & (who != annotator)]
        pairs += [(value[row], other, 1 / len(others)) for other in others]
    return np.array(pairs).T


@pytest.mark.parametrize(("level", "weights"), [("nominal", None), ("ordinal", "quadratic")])
def test_kappa_matches_scikit_learn(level, weights):
    metrics = pytest.importorskip("sklearn.metrics")
    who, item, value = simulate_votes(0)
    agreements = compare_annotators(who, item, item, value, level, 5)
    for annotator in range(5):
        own, others, weight = pair_with_others(who, item, value, annotator)
        labels = own.astype(int), others.astype(int)
        expected = metrics.cohen_kappa_score(*labels, weights=weights, sample_weight=weight)
        assert agreements.agreement[annotator] == pytest.approx(expected, abs=1e-9)
    assert agreements.measure == ("kappa" if weights is None else "weighted kappa")


def test_correlation_excludes_own_votes():
    who, item, value = simulate_votes(1)
    agreements = compare_annotators(who, item, item, value, "interval", 5)
    for annotator in range(5):
        rows = [r for r in np.flatnonzero(who == annotator) if (item == item[r]).sum() > 1]
        others = [value[(item == item[r]) & (who != annotator)].mean() for r in rows]
        expected = np.corrcoef(value[rows], others)[0, 1]
        assert agreements.agreement[annotator] == pytest.approx(expected, abs=1e-9)
        assert agreements.votes[annotator] == (who == annotator).sum()
        assert agreements.shared[annotator] == len(rows)
    assert agreements.measure == "correlation"


def test_standard_error_matches_repeated_studies():
    # The errors of the annotators are independent, on 400 prompts in each of 200 studies.
    rng = np.random.default_rng(0)
    item, who = np.repeat(np.arange(400), 3), np.tile(np.arange(3), 400)
    kappas, errors = [], []
    for _ in range(200):
        truth = rng.integers(0, 2, 400)[item]
        value = np.where(rng.random(1200) < 0.8, truth, 1 - truth).astype(float)
        agreements = compare_annotators(who, item, item, value, "nominal", 3)
        kappas.append(agreements.agreement[0])
        errors.append(agreements.error[0])
    assert np.mean(errors) == pytest.approx(np.std(kappas), rel=0.15)


@pytest.mark.parametrize(("kind", "bad"), [("random", 10), ("constant", 6), ("reversed", 6)])
def test_flags_bad_annotators_among_many(kind, bad):
    rng = np.random.default_rng(0)
    truth, item = rng.normal(size=1040), np.repeat(np.arange(1040), 5)
    who = np.concatenate([rng.permutation(20) for _ in range(260)])
    noisy = truth[item] + rng.normal(size=len(item))
    value = np.searchsorted(np.quantile(noisy, [0.2, 0.4, 0.6, 0.8]), noisy) + 1.0
    biased = {"constant": rng.integers(1, 6, 20)[who], "reversed": 6 - value}
    value = np.where(who < bad, biased.get(kind, rng.integers(1, 6, len(item))), value)
    reasons = compare_annotators(who, item, item, value, "ordinal", 20).reasons
    assert [bool(reason) for reason in reasons] == [True] * bad + [False] * (20 - bad)
    assert ("the scale was reversed" in reasons[0]) == (kind == "reversed")


# As in benchmarks/planted_voters.md, with fewer repetitions.
@pytest.mark.realdata
@pytest.mark.parametrize("task", [pytest.param("composition", marks=pytest.mark.daily), "counting"])
def test_flags_only_simulated_annotators_in_tia2(real_data, task):
    planted = load_script("planted_voters", "benchmarks")
    votes = planted.read_tia2(real_data, task)
    for kind in planted.KINDS:
        rates = planted.compute_rates(votes, kind, 5)
        assert rates.flagged == 1 and rates.honest == 0
    large_crowd = planted.deal_votes(votes, 200, seed=0)
    for kind in planted.KINDS:
        rates = planted.compute_rates(large_crowd, kind, 10, size=200)
        assert rates.flagged >= 0.9 and rates.honest <= 0.05


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_matches_krippendorff(level):
    krippendorff = pytest.importorskip("krippendorff")
    who, item, value = simulate_votes(2)
    table = np.full((5, 60), np.nan)
    table[who, item] = value
    expected = krippendorff.alpha(table, level_of_measurement=level)
    assert compute_alpha(item, item, value, level)[0] == pytest.approx(expected, abs=1e-9)
    assert math.isnan(compute_alpha(np.arange(3), np.arange(3), np.arange(3.0), level)[0])


def test_fleiss_kappa_uses_most_common_vote_count():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    item = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 4])
    value = np.array([1.0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    counts = [[1, 2], [3, 0], [2, 1]]
    figures = measure_agreement(item, 0 * item, item, np.arange(12), value, "nominal").figures
    assert figures["Fleiss' kappa"][0] == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


def test_recovers_true_reliability():
    # Scores have variance 1 and errors 2, so 4 annotators have a reliability of 1 / (1 + 2 / 4).
    values, covered = [], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        prompt, who = np.repeat(np.arange(300), 4), rng.random((300, 30)).argsort(1)[:, :4].ravel()
        value = rng.normal(size=300)[prompt] + math.sqrt(2) * rng.normal(size=1200)
        agreement = measure_agreement(prompt, 0 * prompt, np.arange(1200), who, value, "interval")
        value, low, high = agreement.compute_reliability(agreement.size)
        values.append(value)
        covered += low <= 2 / 3 <= high
        assert agreement.size[0] == pytest.approx(4) and agreement.prompts == 300
    assert np.mean(values) == pytest.approx(2 / 3, abs=0.02) and covered >= 35


def test_panel_reliability_ignores_strictness():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 1)) + rng.normal(size=(50, 2))
    prompt, who = np.repeat(np.arange(50), 2), np.tile([0, 1], 50)
    mean, rest = scores.mean(axis=1), scores - scores.mean(axis=1, keepdims=True)
    rest -= scores.mean(axis=0)
    rest = ((rest + scores.mean()) ** 2).sum() / 49
    expected = 1 - rest / (2 * mean.var(ddof=1))
    model = prompt % 2
    for value in (scores.ravel(), scores.ravel() + 5.0 * who):
        agreement = measure_agreement(prompt, 0 * prompt, prompt, who, value, "interval")
        assert agreement.compute_reliability(agreement.size)[0] == pytest.approx(expected, abs=1e-9)
        assert agreement.needed_annotators == math.ceil(8 * (1 - expected) / expected)
        plan = agreement.plan_studies(0.1)[0].rows
        reliability_by_size = {row["annotators"]: row["reliability"] for row in plan}
        assert reliability_by_size[str(agreement.needed_annotators)][0] >= 0.8
    agreements = [
        measure_agreement(prompt, model, prompt, who, scores.ravel() + n * model, "interval")
        for n in (0, 9)
    ]
    assert agreements[0].variances == pytest.approx(agreements[1].variances, abs=1e-9)


def write_votes(path, prompts, people, spread):
    """Write votes with errors up to `spread`; 0 makes two annotators who contradict each other."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 101, prompts)
    votes = {a: truth + rng.integers(-spread, spread + 1, prompts) for a in range(people)}
    if not spread:
        votes = {0: truth, 1: 100 - truth}
    rows = [f"P{n}.,{n}.png,sdxl,{a},{v[n]}" for a, v in votes.items() for n in range(prompts)]
    return write(path, *rows)


@pytest.mark.parametrize(
    ("prompts", "people", "spread", "start"),
    [
        (60, 2, 0, "Annotators contradict one another"),
        (3, 3, 5, "Too few votes to estimate"),
        (5, 2, 60, "Too few votes to estimate the reliability (ICC)"),
        (60, 3, 5, "The mean of 3 annotators' votes"),
        (300, 2, 90, "Unreliable"),
    ],
)
def test_reliability_is_the_first_line(tmp_path, capsys, prompts, people, spread, start):
    path = write_votes(tmp_path / "votes.csv", prompts, people, spread)
    assert main(["build", str(path), "--scale=-90..190", "--output", str(tmp_path / "mine")]) == 0
    summary = capsys.readouterr().out.splitlines()[0]
    assert summary.startswith(start) and "inf" not in summary and "nan" not in summary
    assert summary in (tmp_path / "mine" / "README.md").read_text()
    assert summary in html.unescape((tmp_path / "mine" / "report.html").read_text())


def test_reliability_of_anonymous_votes(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(100, 1, 1)) + 0.5 * rng.normal(size=(100, 4, 1))  # prompts, images
    scores = scores + 0.8 * rng.normal(size=(1, 1, 5)) + rng.normal(size=(100, 4, 5))
    rows = [f"P{p}.,{p}-{i}.png,sdxl,{scores[p, i, a]:.6f}" for p, i, a in np.ndindex(100, 4, 5)]
    path = write(tmp_path / "votes.csv", *rows, header="prompt,image,model,label")
    trust = build(path, scale="-9..9").generation.trust
    assert trust.among == "votes"
    table = scores.mean(axis=2)
    between = table.shape[1] * table.mean(axis=1).var(ddof=1)
    icc = 1 - table.var(axis=1, ddof=1).mean() / between  # ICC(1, k), by one-way analysis
    assert trust.reliability[0] == pytest.approx(icc, abs=1e-5)
    assert trust.agreement.size == pytest.approx((20, 4, 20))


def test_flags_annotator_on_another_scale(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(20, 101, 60)
    factors = {"ada": 0.05, "bob": 1, "cleo": 1, "strict": 0.6}.items()
    rows = [f"P{n}.,{n},m,{who},{truth[n] * by:g}" for n in range(60) for who, by in factors]
    built = build(write(tmp_path / "votes.csv", *rows), scale="0..100")
    assert [a.name for a in built.generation.annotators if "scale" in a.flag] == ["ada"]
    assert not any("ada" in note for note in built.notes)  # notes are also in the report


def test_merges_spellings_of_annotator_names(tmp_path):
    names = ["ANNA", "anna ", "bob", "bob"]
    annas, bobs = ([f"P{n}.,{n},m,{names[n % 2 + 2 * k]},5" for n in range(6)] for k in (0, 1))
    first = write(tmp_path / "1.csv", *annas)
    second = write(tmp_path / "2.csv", *(row.replace("P", "Q") for row in [*bobs, *annas]))
    built = build([first, second], scale="likert5")
    assert built.generation.table.annotator_names == ["ANNA", "bob"]
    notes = [note for note in built.notes if note.startswith("annotators: ")]
    assert notes[0].startswith("annotators: 1 name ")
    assert "1 of 2 names occur in several" in notes[1]


def write_flawed_votes(path):
    """Write votes of four honest annotators, a random one and a constant one."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 150)
    rows = []
    for name in ("ada", "bob", "cleo", "dan", "random", "constant"):
        answers = np.clip(truth + rng.integers(-1, 2, 150), 1, 5)
        if name == "random":
            answers = rng.integers(1, 6, 150)
        elif name == "constant":
            answers = np.full(150, 3)
        rows += [f"P{n // 3}.,{n}.png,sdxl,{name},{vote}" for n, vote in enumerate(answers)]
    return write(path, *rows)


def test_excludes_flagged_annotators(tmp_path):
    path = write_flawed_votes(tmp_path / "votes.csv")
    built = build(path, scale="likert5", exclude="flagged")
    flagged = {a.name for a in built.generation.annotators if a.flag and a.reasons}
    assert flagged == {"random", "constant"}
    lines = path.read_text().splitlines(True)
    path.write_text("".join(n for n in lines if ",random," not in n and ",constant," not in n))
    expected = build(path, scale="likert5")
    assert built.splits == expected.splits


def test_summary_and_plan_exclude_reversed_annotator(tmp_path):
    rng = np.random.default_rng(0)
    votes = np.clip(rng.integers(1, 6, 150) + rng.integers(-1, 2, (4, 150)), 1, 5)
    votes[3] = 6 - votes[3]
    rows = [f"P{n}.,{n},m,{who},{votes[who, n]}" for n in range(150) for who in range(4)]
    built = build(write(tmp_path / "votes.csv", *rows), scale="likert5")
    honest = [row for row in rows if ",m,3," not in row]
    expected = build(write(tmp_path / "3.csv", *honest), scale="likert5")
    (summary,), (expected_summary,) = built.reliability_summaries, expected.reliability_summaries
    assert expected_summary[1:] in summary and "Without 1 flagged annotator" in summary
    plan, expected_plan = (b.generation.trust.plan_studies(0.1)[0].rows for b in (built, expected))
    assert plan == expected_plan
    write_benchmark(built, tmp_path / "mine")
    assert "perhaps with a reversed scale" in (tmp_path / "mine/report.html").read_text()


def test_control_kappa_is_weighted_on_ordinal_scales(tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    control, answers_of_zoe = rng.integers(1, 6, (2, 40))
    rows = [
        f"P{n}.,{n}.png,sdxl,{name},{answers[n]},{name == 'ann'}"
        for name, answers in (("ann", control), ("zoe", answers_of_zoe))
        for n in range(40)
    ]
    header = "prompt,image,model,annotator,label,control"
    path = write(tmp_path / "votes.csv", *rows, header=header)
    built = build(path, scale="likert5", min_kappa=-1)
    expected = metrics.cohen_kappa_score(control, answers_of_zoe, weights="quadratic")
    assert built.generation.annotators[0].kappa == pytest.approx(expected, abs=1e-9)
