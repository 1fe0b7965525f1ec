"""CONTRIBUTING's recipe of a benchmark, followed to the letter in a copy of the checkout."""

import sys

import pytest
from support.processes import run
from support.recipes import copy_of_the_checkout, follow


@pytest.fixture
def checkout(tmp_path, cache):
    return copy_of_the_checkout(tmp_path / "checkout")


def pqpp(checkout, *words):
    command = [sys.executable, "-m", "pqpp_cli.main", *words]
    return run(command, checkout, PYTHONPATH=str(checkout))


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
    tests = [sys.executable, "-m", "pytest", "-q", "tests/datasets/test_toy.py"]
    done = run(tests, checkout, PYTHONPATH=str(checkout))
    assert "2 passed" in done.stdout, done.stdout + done.stderr


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
