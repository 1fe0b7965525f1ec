"""What stands below a table: the splits, and why a figure is missing."""

import numpy as np
import pytest

from pqpp_models.bench.notes import without_figure
from pqpp_models.bench.protocol import Predictions, evaluate_predictions
from pqpp_models.bench.published import published_results
from pqpp_models.bench.split import Split
from pqpp_models.bench.tables import format_results

SPLIT = Split(None, "mine.csv", "all rows")


def results_of(said, true):
    predictions = [
        Predictions(name, tuple(true), np.column_stack([values] * len(true)))
        for name, values in said.items()
    ]
    return evaluate_predictions(predictions, true, SPLIT)


@pytest.mark.parametrize(
    ("said", "true", "lines"),
    [
        ({"a": [1.0, 2.0, 3.0]}, [0.1, 0.4, 0.3], []),
        (
            {"a": [1.0, 2.0, 3.0]},
            [None, 0.4, None],
            ["– no figure on mean_rr: n = 1, and a correlation needs two prompts"],
        ),
        (
            {"a": [1.0, 2.0, 3.0], "b": [1.0, 1.0, 1.0]},
            [0.1, 0.4, 0.3],
            ["– no figure of b on mean_rr: the same is said of all prompts"],
        ),
        (
            {"a": [1.0, 2.0, 3.0], "b": [3.0, 2.0, 3.0]},
            [0.4, 0.4, 0.4],
            [
                "– no figure on mean_rr: its true values, or what a predictor says of all of these "
                "prompts, are equal"
            ],
        ),
    ],
)
def test_a_dash_has_its_reason(said, true, lines):
    results = results_of(said, {"mean_rr": true})
    assert list(without_figure(results)) == lines
    text = format_results("table", results)
    assert all(line in text.splitlines() for line in lines)
    assert ("–" in text) == bool(lines)


def test_a_rule_parts_ours_from_what_is_published():
    true = {"mean_hbpp": [0.1, 0.4, 0.3, 0.9]}
    results = results_of({"mine": [1.0, 2.0, 4.0, 3.0]}, true)
    lines = format_results("table", results, published_results()).splitlines()
    first = next(n for n, line in enumerate(lines) if line.endswith(" 0.416") or "[b]" in line)
    assert set(lines[first - 1]) == {"-", " "} and lines[first - 2].startswith("mine")
