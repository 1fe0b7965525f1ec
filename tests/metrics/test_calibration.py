"""The rule of `benchmarks/calibration.py`, and that no cell of its page fails in silence."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from support.tiny_models import load_script

PAGE = Path(__file__).resolve().parents[2] / "benchmarks" / "calibration.md"


@pytest.fixture(scope="module")
def script():
    return load_script("calibration", "benchmarks")


def test_a_cell_fails_where_its_binomial_interval_misses_the_band(script):
    def cell(hits, is_judged=True):
        return script.cell(np.arange(4000) < hits, (0.92, 0.97), is_judged)

    # 91.5 % of 4,000: 90.6 to 92.3; 90.5 %: 89.6 to 91.4.
    assert (cell(3800), cell(3660), cell(3620)) == ("95.0", "91.5", "**90.5**")
    assert cell(3920) == "**98.0**" and cell(3620, is_judged=False) == "(90.5)"


def test_unlike_predictors_are_made_equally_good(script):
    amount = script.equal_amount("growing noise", "pearson", None)
    # r = 1 / sqrt(1 + amount^2), for noise of one spread and for |y| times noise.
    assert amount == pytest.approx(1, abs=0.05)
    heavy = script.equal_amount("t3 noise", "rmse", None)
    assert heavy == pytest.approx(math.sqrt(1 / 3), abs=0.02)  # the variance of t3 is 3
    assert math.isnan(script.equal_amount("skewed", "rmse", None))


def test_the_runs_of_a_cell(script):
    true = {"pearson": 0.5, "spearman": 0.483, "kendall": 1 / 3, "smare": 0.23, "rmse": 1.0}
    hits = script.covered("normal", 50, true, None, 20)
    assert all(found.sum() >= 15 for found in hits.values())
    for name in script.QPP_MEASURES:
        alike, _ = script.rejected("tied", 30, name, None, 40)
        better, warned = script.rejected("normal", 60, name, None, 40, amount=6.0, first=0.2)
        assert alike.sum() <= 10 and better.all() and len(warned) == 40


def test_what_the_page_says_fails_is_known():
    failing = re.findall(r"^\| ([\w, ]+) \| (\d+) \|.*\*\*", PAGE.read_text("utf-8"), re.MULTILINE)
    # Pearson's r, whose influences are errors times errors: of t3 without a fourth moment.
    assert failing == [("t3", "200"), ("t3", "2000"), ("skewed", "200")]
