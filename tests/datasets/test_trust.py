"""Agreement, flags and reliability of annotators, against other libraries and simulations."""

import html
import math

import numpy as np
import pytest
from support.tiny_models import load_script
from support.votes import build, write

from pqpp_cli.main import main
from pqpp_datasets.own_benchmark.build import BuildOptions, build_benchmark
from pqpp_datasets.own_benchmark.trust.annotators import compare_annotators
from pqpp_datasets.own_benchmark.trust.figures import compute_alpha, measure_agreement
from pqpp_datasets.own_benchmark.write import write_benchmark


def crowd(seed, images=60, people=5, labels=5):
    """Votes of people on some of the images each, as arrays."""
    rng = np.random.default_rng(seed)
    item, who = np.nonzero(rng.random((images, people)) < 0.7)
    truth = rng.integers(0, labels, images)
    value = np.clip(truth[item] + rng.integers(-1, 2, len(item)), 0, labels - 1)
    order = rng.permutation(len(item))
    return who[order], item[order], value[order].astype(float)


def others_of(who, item, value, one):
    """Pairs of one annotator's vote with each of the others' on the image, and their weights."""
    pairs = []
    for row in np.flatnonzero(who == one):
        others = value[(item == item[row]) & (who != one)]
        pairs += [(value[row], other, 1 / len(others)) for other in others]
    return np.array(pairs).T


@pytest.mark.parametrize(("level", "weights"), [("nominal", None), ("ordinal", "quadratic")])
def test_kappa_matches_scikit_learn(level, weights):
    metrics = pytest.importorskip("sklearn.metrics")
    who, item, value = crowd(0)
    found = compare_annotators(who, item, item, value, level, 5)
    for one in range(5):
        mine, theirs, weight = others_of(who, item, value, one)
        both = mine.astype(int), theirs.astype(int)
        expected = metrics.cohen_kappa_score(*both, weights=weights, sample_weight=weight)
        assert found.agreement[one] == pytest.approx(expected, abs=1e-9)
    assert found.measure == ("kappa" if weights is None else "weighted kappa")


def test_correlation_excludes_own_votes():
    who, item, value = crowd(1)
    found = compare_annotators(who, item, item, value, "interval", 5)
    for one in range(5):
        rows = [r for r in np.flatnonzero(who == one) if (item == item[r]).sum() > 1]
        others = [value[(item == item[r]) & (who != one)].mean() for r in rows]
        expected = np.corrcoef(value[rows], others)[0, 1]
        assert found.agreement[one] == pytest.approx(expected, abs=1e-9)
        assert found.votes[one] == (who == one).sum() and found.shared[one] == len(rows)
    assert found.measure == "correlation"


def test_standard_error_matches_repeated_studies():
    # Votes on 400 prompts by a panel that errs on its own: the spread of kappa over 200 studies.
    rng = np.random.default_rng(0)
    item, who = np.repeat(np.arange(400), 3), np.tile(np.arange(3), 400)
    kappas, errors = [], []
    for _ in range(200):
        truth = rng.integers(0, 2, 400)[item]
        value = np.where(rng.random(1200) < 0.8, truth, 1 - truth).astype(float)
        found = compare_annotators(who, item, item, value, "nominal", 3)
        kappas.append(found.agreement[0])
        errors.append(found.error[0])
    assert np.mean(errors) == pytest.approx(np.std(kappas), rel=0.15)


@pytest.mark.parametrize(("kind", "bad"), [("random", 10), ("constant", 6), ("reversed", 6)])
def test_flags_bad_annotators_among_many(kind, bad):
    rng = np.random.default_rng(0)
    truth, item = rng.normal(size=1040), np.repeat(np.arange(1040), 5)
    who = np.concatenate([rng.permutation(20) for _ in range(260)])
    seen = truth[item] + rng.normal(size=len(item))
    value = np.searchsorted(np.quantile(seen, [0.2, 0.4, 0.6, 0.8]), seen) + 1.0
    other = {"constant": rng.integers(1, 6, 20)[who], "reversed": 6 - value}
    value = np.where(who < bad, other.get(kind, rng.integers(1, 6, len(item))), value)
    reasons = compare_annotators(who, item, item, value, "ordinal", 20).reasons
    assert [bool(reason) for reason in reasons] == [True] * bad + [False] * (20 - bad)
    assert ("the scale was reversed" in reasons[0]) == (kind == "reversed")


# The figures of benchmarks/planted_voters.md, with fewer plantings.
@pytest.mark.realdata
@pytest.mark.parametrize("task", [pytest.param("composition", marks=pytest.mark.daily), "counting"])
def test_flags_only_simulated_annotators_in_tia2(real_data, task):
    planted = load_script("planted_voters", "benchmarks")
    votes = planted.read_tia2(real_data, task)
    for kind in planted.KINDS:
        found = planted.rates(votes, kind, 5)
        assert found.flagged == 1 and found.honest == 0
    crowd = planted.deal_votes(votes, 200, seed=0)
    for kind in planted.KINDS:
        found = planted.rates(crowd, kind, 10, size=200)
        assert found.flagged >= 0.9 and found.honest <= 0.05


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_matches_krippendorff(level):
    krippendorff = pytest.importorskip("krippendorff")
    who, item, value = crowd(2)
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
    found = measure_agreement(item, 0 * item, item, np.arange(12), value, "nominal").figures
    assert found["Fleiss' kappa"][0] == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


def test_recovers_true_reliability():
    # A prompt's true score has variance 1, an annotator's error 2: of 4 annotators 1 / (1 + 2 / 4).
    values, inside = [], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        prompt, who = np.repeat(np.arange(300), 4), rng.random((300, 30)).argsort(1)[:, :4].ravel()
        value = rng.normal(size=300)[prompt] + math.sqrt(2) * rng.normal(size=1200)
        found = measure_agreement(prompt, 0 * prompt, np.arange(1200), who, value, "interval")
        value, low, high = found.compute_reliability(found.size)
        values.append(value)
        inside += low <= 2 / 3 <= high
        assert found.size[0] == pytest.approx(4) and found.prompts == 300
    assert np.mean(values) == pytest.approx(2 / 3, abs=0.02) and inside >= 35


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
        found = measure_agreement(prompt, 0 * prompt, prompt, who, value, "interval")
        assert found.compute_reliability(found.size)[0] == pytest.approx(expected, abs=1e-9)
        assert found.needed_annotators == math.ceil(8 * (1 - expected) / expected)
        planned = {row["annotators"]: row["reliability"] for row in found.plan_studies(0.1)[0].rows}
        assert planned[str(found.needed_annotators)][0] >= 0.8
    models = [
        measure_agreement(prompt, model, prompt, who, scores.ravel() + n * model, "interval")
        for n in (0, 9)
    ]
    assert models[0].variances == pytest.approx(models[1].variances, abs=1e-9)


SCALES = {"ada": 0.05, "bob": 1, "cleo": 1, "strict": 0.6}


def rated_by(path, prompts, people, spread):
    """Votes of some people that scatter by so much, of two who are opposed for 0."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 101, prompts)
    votes = {a: truth + rng.integers(-spread, spread + 1, prompts) for a in range(people)}
    if not spread:
        votes = {0: truth, 1: 100 - truth}
    rows = [f"P{n}.,{n}.png,sdxl,{a},{v[n]}" for a, v in votes.items() for n in range(prompts)]
    return write(path, *rows)


@pytest.mark.parametrize(
    ("prompts", "people", "spread", "begins"),
    [
        (60, 2, 0, "Annotators contradict one another"),
        (3, 3, 5, "Too few votes to estimate"),
        (5, 2, 60, "Too few votes to estimate the reliability (ICC)"),
        (60, 3, 5, "The mean of 3 annotators' votes"),
        (300, 2, 90, "Unreliable"),
    ],
)
def test_reliability_is_the_first_line_everywhere(
    tmp_path, capsys, prompts, people, spread, begins
):
    path = rated_by(tmp_path / "votes.csv", prompts, people, spread)
    words = ["build", str(path), "--scale=-90..190", "--output", str(tmp_path / "mine")]
    assert main(words) == 0
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith(begins) and "inf" not in line and "nan" not in line
    assert line in (tmp_path / "mine" / "README.md").read_text()
    assert line in html.unescape((tmp_path / "mine" / "report.html").read_text())


def test_reliability_of_anonymous_votes(tmp_path):
    rng = np.random.default_rng(0)
    score = rng.normal(size=(100, 1, 1)) + 0.5 * rng.normal(size=(100, 4, 1))  # prompts, images
    score = score + 0.8 * rng.normal(size=(1, 1, 5)) + rng.normal(size=(100, 4, 5))
    rows = [f"P{p}.,{p}-{i}.png,sdxl,{score[p, i, a]:.6f}" for p, i, a in np.ndindex(100, 4, 5)]
    path = write(tmp_path / "votes.csv", *rows, header="prompt,image,model,label")
    found = build(path, scale="-9..9").generation.trust
    assert found.among == "votes"
    assert found.reliability[0] == pytest.approx(pg_icc(score.mean(axis=2)), abs=1e-5)
    assert found.agreement.size == pytest.approx((20, 4, 20))


def pg_icc(table):
    """ICC(1, k), of the mean of the columns, by the mean squares of one-way variance analysis."""
    between = table.shape[1] * table.mean(axis=1).var(ddof=1)
    return 1 - table.var(axis=1, ddof=1).mean() / between


def test_flags_annotator_on_another_scale(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(20, 101, 60)
    rows = [f"P{n}.,{n},m,{who},{truth[n] * by:g}" for n in range(60) for who, by in SCALES.items()]
    built = build(write(tmp_path / "votes.csv", *rows), scale="0..100")
    assert [one.name for one in built.generation.annotators if "scale" in one.flag] == ["ada"]
    assert not any("ada" in note for note in built.notes)  # they stand in the report, too


def test_merges_spellings_of_annotator_names(tmp_path):
    names = ["ANNA", "anna ", "bob", "bob"]
    one, other = ([f"P{n}.,{n},m,{names[n % 2 + 2 * k]},5" for n in range(6)] for k in (0, 1))
    first = write(tmp_path / "1.csv", *one)
    second = write(tmp_path / "2.csv", *(row.replace("P", "Q") for row in [*other, *one]))
    built = build([first, second], scale="likert5")
    assert built.generation.table.annotator_names == ["ANNA", "bob"]
    said = [note for note in built.notes if note.startswith("annotators: ")]
    assert said[0].startswith("annotators: 1 name ") and "1 of 2 names occur in several" in said[1]


def planted_votes(path):
    """Four honest people, one at random and one who always says 3, on 150 images of 50 prompts."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 150)
    lines = ["prompt,image,model,annotator,label,seconds"]
    for name in ("ada", "bob", "cleo", "dan", "random", "constant"):
        answers = np.clip(truth + rng.integers(-1, 2, 150), 1, 5)
        if name == "random":
            answers = rng.integers(1, 6, 150)
        elif name == "constant":
            answers = np.full(150, 3)
        about = f"sdxl,{name}"
        lines += [f"Prompt {n // 3}.,{n}.png,{about},{vote},8" for n, vote in enumerate(answers)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_excludes_flagged_annotators(tmp_path):
    path = planted_votes(tmp_path / "votes.csv")
    built = build_benchmark(path, options=BuildOptions(scale="likert5", exclude="flagged"))
    flagged = {one.name for one in built.generation.annotators if one.flag and one.reasons}
    assert flagged == {"random", "constant"}
    lines = path.read_text().splitlines(True)
    path.write_text("".join(n for n in lines if ",random," not in n and ",constant," not in n))
    expected = build_benchmark(path, options=BuildOptions(scale="likert5"))
    assert built.splits == expected.splits


def test_summary_and_plan_exclude_reversed_annotator(tmp_path):
    rng = np.random.default_rng(0)
    votes = np.clip(rng.integers(1, 6, 150) + rng.integers(-1, 2, (4, 150)), 1, 5)
    votes[3] = 6 - votes[3]
    rows = [f"P{n}.,{n},m,{who},{votes[who, n]}" for n in range(150) for who in range(4)]
    built = build(write(tmp_path / "votes.csv", *rows), scale="likert5")
    honest = [row for row in rows if ",m,3," not in row]
    expected = build(write(tmp_path / "3.csv", *honest), scale="likert5")
    (headline,), (best,) = built.reliability_summaries, expected.reliability_summaries
    assert best[1:] in headline and "Without 1 flagged annotator" in headline
    plan, known = (b.generation.trust.plan_studies(0.1)[0].rows for b in (built, expected))
    assert plan == known
    write_benchmark(built, tmp_path / "mine")
    assert "perhaps with a reversed scale" in (tmp_path / "mine/report.html").read_text()


def test_control_kappa_is_weighted_on_ordinal_scales(tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    control, other = rng.integers(1, 6, (2, 40))
    rows = [
        f"P{n}.,{n}.png,sdxl,{name},{answers[n]},{name == 'ann'}"
        for name, answers in (("ann", control), ("zoe", other))
        for n in range(40)
    ]
    path = tmp_path / "votes.csv"
    path.write_text("prompt,image,model,annotator,label,control\n" + "\n".join(rows) + "\n")
    built = build_benchmark(path, options=BuildOptions(scale="likert5", min_kappa=-1))
    expected = metrics.cohen_kappa_score(control, other, weights="quadratic")
    assert built.generation.annotators[0].kappa == pytest.approx(expected, abs=1e-9)
