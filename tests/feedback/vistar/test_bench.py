"""`pqpp bench vistar`: agreement with preferences, and rankings by role."""

import numpy as np
import pytest

pytest.importorskip("yaml", reason="roles need pqpp[assess]")

from pqpp_cli.main import main
from pqpp_feedback.vistar.bench import (
    rank_by_role,
    read_choices,
    read_image_scores,
    read_published,
    read_roles,
    score_preferences,
)
from pqpp_feedback.vistar.score import ANGLES


def make_scores(generator, values, angle="TR"):
    return [
        {"generator": generator, "prompt_id": n, "angle": angle, "score": value}
        for n, value in enumerate(values)
    ]


@pytest.mark.parametrize("role", sorted(read_roles()))
def test_core_column_equals_mean_of_nine_angles(role):
    rows = []
    for name, scores in read_published()["scores"].items():
        for angle, score in zip(ANGLES, scores, strict=True):
            rows += make_scores(name, [score], angle)
    ranked = rank_by_role(rows, read_roles()[role], resamples=2)
    core_scores = {r["generator"]: round(r["score"][0], 1) for r in ranked}
    assert core_scores == read_published()["core"]
    assert [r["generator"] for r in ranked][:2] == ["SD 3.5", "Imagen 3"]


def test_rank_by_role_by_hand():
    rows = make_scores("a", [0.2, 0.4]) + make_scores("a", [0.8, 0.8], "LI")
    rows += make_scores("b", [0.6, 0.6]) + make_scores("b", [0.5, None], "LI")
    first, second = rank_by_role(rows, {"TR": 3, "LI": 1, "GC": 5}, 100)
    # (3 * .6 + .5) / 4 and (3 * .3 + .8) / 4; no generator has GC.
    assert (first["generator"], first["score"][0]) == ("b", pytest.approx(0.575))
    assert (second["generator"], second["score"][0]) == ("a", pytest.approx(0.425))
    assert first["angles"] == ["TR", "LI"]
    assert rank_by_role(rows, {"GC": 1}) == []
    # An angle without scores of one generator is left out.
    assert rank_by_role([*rows, *make_scores("b", [1, 1], "MA")], {"TR": 1, "MA": 9}, 50)[0][
        "angles"
    ] == ["TR"]


def test_scores_without_prompt_ids_are_ranked(tmp_path):
    rows = [f"{name}{n}.png,{name},TR,{n / 10}," for name in "ab" for n in range(4)]
    rows[0] = "a0.png,a,TR,0.8,7"
    text = "\n".join(["image,generator,angle,score,prompt_id", *rows])
    (tmp_path / "scores.csv").write_text(text)
    first, second = rank_by_role(read_image_scores(tmp_path / "scores.csv"), {"TR": 1}, 100)
    assert (first["generator"], first["score"][0]) == ("a", pytest.approx((0.8 + 0.6) / 4))
    assert (second["score"][0], second["score"][1] < 0.15) == (pytest.approx(0.15), True)


def test_interval_matches_scipy_bootstrap():
    from scipy.stats import bootstrap

    random = np.random.default_rng(0)
    one, other = random.random(60), random.random(60)
    ranked = rank_by_role(make_scores("a", one) + make_scores("b", other), {"TR": 1}, 10_000)
    for line in ranked:
        values = one if line["generator"] == "a" else other
        low, high = bootstrap(
            (values,), np.mean, method="percentile", n_resamples=10_000, rng=1
        ).confidence_interval
        assert line["score"][1:] == pytest.approx((low, high), abs=0.005)


CHOICES = """image_a,image_b,choice,angle
1.png,2.png,a,TR
2.png,1.png,a,
1.png,3.png,b,TR
2.png,3.png,tie,TR
1.png,2.png,a,LI
1.png,9.png,b,TR
"""


def test_score_preferences_by_hand(tmp_path):
    (tmp_path / "c.csv").write_text(CHOICES)
    values = {"1.png": 0.9, "2.png": 0.1, "3.png": 0.9}
    rows = [{"image": i, "name": "s", "angle": "TR", "score": v} for i, v in values.items()]
    (line,) = score_preferences(rows, read_choices(tmp_path / "c.csv"))
    # Right, wrong, equal scores, and no preference; LI and 9.png do not count.
    counts = [line[name] for name in ("pairs", "equal scores", "no preference")]
    assert counts == [3, 1, 1]
    assert line["accuracy"][0] == pytest.approx(1 / 3)
    assert line["ties half"] == pytest.approx(0.5)
    assert line["published"] == 0.825
    from scipy.stats import binomtest

    wilson = binomtest(1, 3).proportion_ci(0.95, method="wilson")
    assert line["accuracy"][1:] == pytest.approx((wilson.low, wilson.high))


def test_bench_command_writes_agreement_and_roles(tmp_path, capsys):
    table = "image,score,routine,angle,generator,prompt_id\n"
    for n in range(12):
        table += (
            f"{n}/x.png,{0.5 + n / 100},mine,TR,x,{n}\n{n}/y.png,{0.1 + n / 90},mine,TR,y,{n}\n"
        )
    (tmp_path / "s.csv").write_text(table)
    pairs = "".join(f"{n}/x.png,{n}/y.png,{'ab'[n % 4 == 0]}\n" for n in range(12))
    (tmp_path / "c.csv").write_text("image_a,image_b,choice\n" + pairs)
    command = ["bench", "vistar", "--verdicts", str(tmp_path / "s.csv")]
    assert main([*command, "--people", str(tmp_path / "c.csv"), "--format", "markdown"]) == 0
    output = capsys.readouterr().out
    assert ".750 [.468, .911]" in output and "For the role graphic_designer" in output
    assert main([*command, "--people", str(tmp_path / "s.csv")]) == 2
    assert main(command[:2]) == 2
    assert "--verdicts" in capsys.readouterr().err
    (tmp_path / "s.csv").write_text("image,score,inputs\na.png,1,7\n")
    assert main([*command, "--people", str(tmp_path / "c.csv")]) == 2
    assert "`inputs` is no JSON object" in capsys.readouterr().err
