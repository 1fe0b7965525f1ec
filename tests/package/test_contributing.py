"""CONTRIBUTING's recipes, followed to the letter in a copy of the checkout."""

import json
import sys

import pytest
from support.processes import run
from support.recipes import copy_of_the_checkout, follow


@pytest.fixture
def checkout(tmp_path, cache):
    return copy_of_the_checkout(tmp_path / "checkout")


def python(checkout, *words):
    return run([sys.executable, *words], checkout, PYTHONPATH=str(checkout))


def pqpp(checkout, *words):
    return python(checkout, "-m", "pqpp", *words)


def passed(checkout, *files):
    done = python(checkout, "-m", "pytest", "-q", "-x", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    return True


def test_a_toy_benchmark_is_listed_loaded_and_exported(checkout):
    written = follow("Add a benchmark", checkout)
    assert written == [
        "pqpp_datasets/toy.py",
        "hub_cards/datasets/toy.md",
        "tests/datasets/test_toy.py",
    ]
    assert "toy  " in pqpp(checkout, "datasets", "list").stdout
    shown = pqpp(checkout, "datasets", "show", "toy").stdout
    assert "toy 1.0.0: One row is a prompt" in shown and "toy_hbpp  float64" in shown
    data = checkout / "data" / "toy"
    data.mkdir(parents=True)
    for split in ("train", "test"):
        (data / f"{split}.csv").write_text("prompt,toy_hbpp\nA red cat.,1.5\n")
    words = ("datasets", "export", "toy", "--data-dir", "data", "--output", "out")
    done = pqpp(checkout, *words)
    assert done.stdout.startswith("toy train: 1 rows\ntoy test: 1 rows\n"), done.stderr
    card = (checkout / "out" / "README.md").read_text()
    assert 'license: "mit"' in card and "| `toy` | 1.0.0 | `test` | 1 |" in card
    assert passed(checkout, "tests/datasets/test_toy.py")


def test_a_benchmark_without_a_card_names_it(checkout):
    follow("Add a benchmark", checkout)
    (checkout / "hub_cards/datasets/toy.md").unlink()
    (checkout / "train.csv").write_text("prompt,toy_hbpp\nA red cat.,1.5\n")
    words = ("datasets", "export", "toy", "--data-dir", ".", "--output", "out")
    done = pqpp(checkout, *words)
    assert done.returncode == 2 and "no card template datasets/toy.md" in done.stderr
    assert not (checkout / "out").exists()


def test_a_benchmark_without_a_year_names_it(checkout):
    follow("Add a benchmark", checkout)
    path = checkout / "pqpp_datasets" / "toy.py"
    path.write_text(path.read_text().replace("        year=2026,\n", ""))
    done = pqpp(checkout, "datasets", "list")
    assert done.returncode == 2
    assert "benchmark toy: year=0 came; say the year" in done.stderr


def test_a_toy_metric_is_listed_shown_computed_and_loaded(checkout):
    written = follow("Add a metric", checkout)
    assert "tests/metrics/module_cases.py" in written
    assert "toy_bias" in pqpp(checkout, "metrics", "list").stdout
    assert "Mean of predicted minus true" in pqpp(checkout, "metrics", "show", "toy_bias").stdout
    (checkout / "t.csv").write_text("id,predictions,references\n1,0.5,1\n2,2,1\n")
    words = ("--predictions", "t.csv", "--references", "t.csv", "--format", "json")
    done = pqpp(checkout, "metrics", "compute", "toy_bias", *words)
    assert json.loads(done.stdout)["toy_bias"] == 0.25, done.stderr
    code = (
        "import evaluate, pqpp_metrics\n"
        "print(evaluate.load('pqpp/toy_bias').compute(predictions=[0.5, 2], references=[1, 1]))"
    )
    assert "{'toy_bias': 0.25}" in python(checkout, "-c", code).stdout
    assert passed(checkout, "tests/metrics/test_toy_bias.py")
    assert passed(checkout, "tests/metrics/test_evaluate_modules.py", "-k", "oracle or toy_bias")


def test_a_metric_without_an_oracle_fails_by_name(checkout):
    cases = checkout / "tests" / "metrics" / "module_cases.py"
    before = cases.read_text()
    follow("Add a metric", checkout)
    cases.write_text(before)
    words = ("tests/metrics/test_evaluate_modules.py", "-k", "every_module_has_an_oracle")
    done = python(checkout, "-m", "pytest", "-q", *words)
    assert "no oracle in module_cases.py: toy_bias" in done.stdout


def test_a_toy_predictor_is_listed_shown_asked_and_compared(checkout):
    follow("Add a predictor", checkout)
    assert "toy  " in pqpp(checkout, "models", "list").stdout
    assert "A line through the number of words" in pqpp(checkout, "models", "show", "toy").stdout
    done = pqpp(checkout, "predict", "a red cat", "--predictor", "toy", "--format", "csv")
    assert float(done.stdout.splitlines()[1].split(",")[1]) == pytest.approx(1.2 - 0.06), (
        done.stderr
    )
    words = ("--dataset", "pqpp", "--subset", "sample", "--split", "test", "--predictors", "toy")
    done = pqpp(checkout, "bench", *words, "--targets", "mean_hbpp", "--format", "csv")
    assert "toy" in done.stdout, done.stderr
    assert passed(checkout, "tests/models/test_toy.py")


def test_a_saved_predictor_whose_weights_do_not_ship_says_how_to_get_it(checkout):
    follow("Add a predictor", checkout)
    path = checkout / "pqpp_models" / "toy.py"
    head, _, tail = path.read_text().partition("    @classmethod\n    def from_shipped")
    path.write_text(head + "    @classmethod\n" + tail.partition("    @classmethod\n")[2])
    done = pqpp(checkout, "predict", "a red cat", "--predictor", "toy")
    assert done.returncode == 2
    assert "no weights of 'toy' come with the package; give a folder (./toy" in done.stderr
