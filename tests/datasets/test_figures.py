"""Agreement and reliability: variances, intervals and study plans."""

import numpy as np
import pytest
from support.votes import write

from pqpp_cli.main import main
from pqpp_datasets.own_benchmark.trust.figures import (
    compute_alpha,
    estimate_variances,
    measure_agreement,
)
from pqpp_metrics.functional import gwet_ac1, icc

DEVIATIONS = np.array([0.7, 0.5, 0.4, 0.5, 1.0])  # of prompt, image, annotator, both, rest


def make_study(seed, prompts, images, annotators, deviations, crowd=None):
    """Simulate votes on all images of each prompt, by all annotators or by some of a crowd."""
    rng = np.random.default_rng(seed)
    prompt, image, position = (x.ravel() for x in np.indices((prompts, images, annotators)))
    people = crowd or annotators
    who = rng.random((prompts, people)).argsort(1)[prompt, position] if crowd else position
    item = prompt * images + image
    effects = [rng.normal(size=size) for size in (prompts, prompts * images, people)]
    pair = rng.normal(size=(prompts, people))[prompt, who]
    rest = rng.normal(size=len(item))
    terms = (effects[0][prompt], effects[1][item], effects[2][who], pair, rest)
    return prompt, 0 * prompt, item, who, np.dot(deviations, terms)


def test_variances_of_full_design_match_mean_squares():
    prompt, base, item, who, value = make_study(0, 30, 3, 4, DEVIATIONS)
    table = value.reshape(30, 3, 4)
    mean, by_prompt, by_annotator = table.mean(), table.mean((1, 2)), table.mean((0, 1))
    by_image, by_pair = table.mean(2), table.mean(1)
    rest = table - by_image[..., None] - by_pair[:, None] + by_prompt[:, None, None]
    rest = (rest**2).sum() / (30 * 2 * 3)
    image = 4 * ((by_image - by_prompt[:, None]) ** 2).sum() / (30 * 2)
    pair = 3 * ((by_pair - by_prompt[:, None] - by_annotator + mean) ** 2).sum() / (29 * 3)
    rater, squares = 90 * by_annotator.var(ddof=1), 12 * by_prompt.var(ddof=1)
    expected = [(squares - image - pair + rest) / 12, (image - rest) / 4, (rater - pair) / 90]
    variances = estimate_variances(value, base, [prompt, item, who, prompt * 4 + who], prompt)[0]
    assert variances == pytest.approx([*expected, (pair - rest) / 3, rest], abs=1e-9)


def test_recovers_variances_of_an_incomplete_design():
    estimates = []
    for seed in range(60):
        is_rated = np.random.default_rng(seed).random(60 * 4 * 3) < 0.8
        columns = make_study(seed, 60, 4, 3, DEVIATIONS, 40)
        prompt, base, item, who, value = (column[is_rated] for column in columns)
        codes = prompt, item, who, prompt * 40 + who
        levels = [np.unique(x, return_inverse=True)[1] for x in codes]
        estimates.append(estimate_variances(value, base, levels, prompt))
    is_included = prompt != 7  # the last study without one prompt
    levels = [np.unique(x[is_included], return_inverse=True)[1] for x in levels]
    expected = estimate_variances(value[is_included], base[is_included], levels, levels[0])[0]
    assert estimates[-1][8] == pytest.approx(expected, abs=1e-9)
    estimates = [rows[0] for rows in estimates]
    error = np.std(estimates, axis=0) / np.sqrt(60)
    assert (np.abs(np.mean(estimates, axis=0) - DEVIATIONS**2) < 3.5 * error).all()


def test_icc_of_full_design_matches_metrics():
    prompt, base, item, who, value = make_study(0, 40, 1, 3, DEVIATIONS)
    others = measure_agreement(prompt, base, item, who, value, "interval").others
    expected = icc(value.reshape(40, 3))
    iccs = [others[f"ICC of {n}, strictness counted"][0] for n in ("a vote", "3 votes")]
    assert iccs == pytest.approx([expected["icc"], expected["average"]], abs=1e-9)
    # In the example of Shrout and Fleiss, ICC(3,1) is .71 and ICC(3,4) is .91.
    table = np.array([9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7])
    row, rater = (x.ravel() for x in np.indices((6, 4)))
    example = measure_agreement(row, 0 * rater, row, rater, 1.0 * table, "interval")
    single, mean = example.others["ICC of a vote"][0], example.figures["ICC of 4 votes"][0]
    assert (single, mean) == pytest.approx((0.7148407, 0.9093155), abs=1e-6)
    first, *rows = example.plan_studies(0.1)[0].rows
    assert first["reliability"] == example.figures["ICC of 4 votes"]
    assert first["annotators"] == "4" not in [row["annotators"] for row in rows]
    label = (value > 0).astype(float)
    ac1 = measure_agreement(prompt, base, item, who, label, "nominal").figures["Gwet's AC1"]
    assert ac1[0] == pytest.approx(gwet_ac1(label.reshape(40, 3))["gwet_ac1"], abs=1e-9)
    assert ac1[1] == pytest.approx(gwet_ac1(label.reshape(40, 3))["ci_low"], abs=0.03)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_interval_matches_jackknife(level):
    prompt, _, item, _, value = make_study(0, 60, 4, 3, DEVIATIONS, 40)
    value = np.clip(value.round(), -2, 2)
    masks = [prompt != n for n in range(60)]
    z = np.arctanh([compute_alpha(prompt[m], item[m], value[m], level)[0] for m in masks])
    alpha, margin = compute_alpha(prompt, item, value, level), 2 * np.sqrt(59 * z.var())
    expected = np.tanh(np.arctanh(alpha[0]) + margin * np.array([-1, 1]))
    assert alpha[1:] == pytest.approx(expected, abs=0.004)


def test_icc_is_stable_if_one_vote_is_missing():
    prompt, base, item, who, value = make_study(0, 100, 1, 4, DEVIATIONS * (1, 0, 1, 0, 1))
    stray = np.where(np.arange(400) == 5, 999, item)
    studies = [(base, item, who, value), (base, stray, who, value)]
    results = [measure_agreement(prompt, *votes, "interval").figures for votes in studies]
    missing = [x[1:] for x in (prompt, base, item, who, value)]
    results.append(measure_agreement(*missing, "interval").figures)
    expected, *others = ([*figures.values()][-1] for figures in results)  # the ICC
    assert all(icc == pytest.approx(expected, abs=0.01) for icc in others)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_duplicated_votes_do_not_narrow_intervals(level):
    prompt, base, item, who, value = make_study(0, 40, 1, 3, DEVIATIONS)
    figures = measure_agreement(prompt, base, item, who, value.round(), level).figures
    item = np.tile(item, 4) * 4 + np.repeat(np.arange(4), len(item))
    prompt, base, who, value = (np.tile(x, 4) for x in (prompt, base, who, value.round()))
    copied = measure_agreement(prompt, base, item, who, value, level).figures
    for name in set(figures) - {"ICC of 3 votes"}:
        widths = [x[name][2] - x[name][1] for x in (figures, copied)]
        assert widths[1] == pytest.approx(widths[0], rel=0.1)


@pytest.mark.daily
@pytest.mark.parametrize(
    ("prompts", "images", "annotators", "crowd"),
    [(50, 1, 3, None), (80, 1, 3, 40), (60, 4, 3, 40), (60, 2, 3, None), (30, 1, 3, None)],
)
def test_planned_intervals_cover_true_reliability(prompts, images, annotators, crowd):
    # With 400 studies, the coverage is 92 to 98% for pilots and 94 to 97% for larger studies.
    deviations = DEVIATIONS if images > 1 else DEVIATIONS * (1, 0, 1, 0, 1)
    prompt, image, annotator, pair, rest = deviations**2

    def covers(estimate, n_images, n_annotators):
        others = (annotator * bool(crowd) + pair + rest / n_images) / n_annotators
        return estimate[1] <= prompt / (prompt + image / n_images + others) <= estimate[2]

    hits, larger_hits, more_images = dict[tuple, list](), [], 2 * images if images > 1 else 1
    for seed in range(60):
        pilot = make_study(seed, prompts, images, annotators, deviations, crowd)
        for row in measure_agreement(*pilot, "interval").plan_studies(0.1)[0].rows[1:]:
            size = float(row["images"]), float(row["annotators"])
            hits.setdefault(size, []).append(covers(row["reliability"], *size))
        study = make_study(900 + seed, 20, more_images, 6, deviations, crowd)
        larger = measure_agreement(*study, "interval")
        larger_hits.append(covers(larger.compute_reliability(larger.size), more_images, 6))
    complete = [row for row in hits.values() if len(row) == 60]  # sizes in all plans
    assert min(map(np.mean, (larger_hits, *complete))) >= 0.85
    assert 0.9 <= np.mean(complete) <= 0.99


def test_planned_prompts_give_the_planned_width():
    deviations = DEVIATIONS * (1, 0, 1, 0, 1)
    agreement = measure_agreement(*make_study(0, 2000, 1, 3, deviations), "interval")
    pilot = agreement.plan_studies(0.1)[0].rows[2]  # of 5
    studies = [make_study(s, pilot["pairs for width 0.1"], 1, 5, deviations) for s in range(20)]
    iccs = [measure_agreement(*votes, "interval").figures["ICC of 5 votes"] for votes in studies]
    assert np.mean([high - low for _, low, high in iccs]) == pytest.approx(0.1, rel=0.1)


def test_terminal_card_and_report_show_agreement_and_plan(tmp_path, capsys):
    prompt, _, item, who, value = make_study(0, 30, 2, 3, DEVIATIONS)
    rows = [f"P{p}.,{i},m,{w},{v:.3f}" for p, i, w, v in zip(prompt, item, who, value, strict=True)]
    path = write(tmp_path / "votes.csv", *rows)
    command = ["build", str(path), "--scale=-9..9", "--output", str(tmp_path / "mine"), "--plan"]
    command += ["--plan-width", "0.15"]
    assert main([*command, "--collection", "In May, by chat, for 12 euros an hour."]) == 0
    output = capsys.readouterr().out
    assert main(["build", "--plan"]) == 0 and "An assumption" in capsys.readouterr().out
    card = (tmp_path / "mine" / "README.md").read_text()
    report = (tmp_path / "mine" / "report.html").read_text()
    assert "ICC of 6 votes" in output and "pairs for width 0.15" in output
    assert "ICC of 6 votes" in card and "12 euros" in card and "3 people" in card
    assert "ICC of 6 votes" in report and r"\begin{tabular}" in report
    assert "pairs for width 0.15" in report and "<polyline" in report
    assert all("0 of 3 annotators are flagged" in page for page in (card, report))
