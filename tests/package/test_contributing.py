"""CONTRIBUTING's recipes, followed exactly in a copy of the checkout."""

import json
import sys

import pyarrow.parquet as pq
import pytest
from PIL import Image
from support.processes import run
from support.recipes import ROOT, copy_checkout, write_blocks


@pytest.fixture
def checkout(tmp_path, cache):
    if (ROOT / "pqpp_cli/toy.py").is_file():
        pytest.skip("this copy already contains the recipes' files")
    return copy_checkout(tmp_path / "checkout")


def run_python(checkout, *words):
    return run([sys.executable, *words], checkout, PYTHONPATH=str(checkout))


def pqpp(checkout, *words):
    return run_python(checkout, "-m", "pqpp", *words)


def run_tests(checkout, *files):
    done = run_python(checkout, "-m", "pytest", "-q", "-x", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    return True


@pytest.mark.daily
def test_toy_benchmark_is_listed_and_exported(checkout):
    write_blocks("Add a benchmark", checkout)
    modules = checkout / "pqpp_datasets" / "benchmarks.py"
    modules.write_text(modules.read_text().replace(" sample", " sample, toy"))
    assert "toy  " in pqpp(checkout, "datasets", "list").stdout
    shown = pqpp(checkout, "datasets", "show", "toy").stdout
    assert "toy 1.0.0: One row is a prompt" in shown and "toy_hbpp  float64" in shown
    data = checkout / "data" / "toy"
    data.mkdir(parents=True)
    for split in ("train", "test"):
        (data / f"{split}.csv").write_text("prompt,toy_hbpp\nA red cat.,1.5\n")
    done = pqpp(checkout, "datasets", "export", "toy", "--data-dir", "data", "--output", "out")
    assert done.stdout.startswith("toy train: 1 rows\ntoy test: 1 rows\n"), done.stderr
    card = (checkout / "out" / "README.md").read_text()
    assert 'license: "mit"' in card and "| `toy` | 1.0.0 | `test` | 1 |" in card
    assert run_tests(checkout, "tests/datasets/test_toy.py")


@pytest.mark.daily
def test_toy_metric_is_listed_computed_and_loaded(checkout):
    written = write_blocks("Add a metric", checkout)
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
    assert "{'toy_bias': 0.25}" in run_python(checkout, "-c", code).stdout
    assert run_tests(checkout, "tests/metrics/test_toy_bias.py")
    assert run_tests(checkout, "tests/metrics/test_evaluate_modules.py", "-k", "oracle or toy_bias")


@pytest.mark.daily
def test_toy_predictor_is_listed_used_and_compared(checkout):
    write_blocks("Add a predictor", checkout)
    assert "toy  " in pqpp(checkout, "models", "list").stdout
    assert "A linear function of the word count" in pqpp(checkout, "models", "show", "toy").stdout
    done = pqpp(checkout, "predict", "a red cat", "--predictor", "toy", "--format", "csv")
    assert float(done.stdout.splitlines()[1].split(",")[1]) == pytest.approx(1.2 - 0.06), (
        done.stderr
    )
    words = ("--dataset", "pqpp", "--subset", "sample", "--split", "test", "--predictors", "toy")
    done = pqpp(checkout, "bench", *words, "--targets", "mean_hbpp", "--format", "csv")
    assert "toy" in done.stdout, done.stderr
    assert run_tests(checkout, "tests/models/test_toy.py")


@pytest.mark.daily
def test_toy_command_is_listed_run_and_configured(checkout):
    written = write_blocks("Add a command", checkout)
    assert written == ["pqpp_cli/toy.py", "pqpp_cli/commands.py", "tests/cli/test_toy.py"]
    assert "toy" in pqpp(checkout, "--help").stdout
    assert pqpp(checkout, "toy", "a red cat").stdout == "3\n"
    (checkout / "toy.yaml").write_text("prompts: [a red cat]\nleast: 2\n")
    done = pqpp(checkout, "toy", "--config", "toy.yaml")
    assert done.stdout == "2\n", done.stderr
    assert "did you mean '--least'" in pqpp(checkout, "toy", "a", "--leest", "2").stderr
    assert run_tests(checkout, "tests/cli/test_toy.py")


@pytest.mark.daily
def test_toy_kind_of_task_makes_a_study(checkout):
    written = write_blocks("Add a kind of task", checkout)
    assert written[-1] == "tests/annotation/kinds/test_toy.py" and len(written) == 4
    (checkout / "prompts.csv").write_text("prompt_id,prompt,image,model\n1,A cat.,a.png,sdxl\n")
    (checkout / "images").mkdir()
    Image.new("RGB", (8, 8)).save(checkout / "images" / "a.png")
    words = ("--kind", "toy", "--file", "prompts.csv", "--image-dir", "images")
    done = pqpp(checkout, "annotate", "init", "study.yaml", *words)
    assert done.returncode == 0, done.stderr
    assert run_tests(checkout, "tests/annotation/kinds/test_toy.py")


@pytest.mark.daily
def test_toy_score_assesses_images(checkout):
    assert len(write_blocks("Add a score of images", checkout)) == 3
    (checkout / "images").mkdir()
    Image.new("RGB", (8, 8), (51, 51, 51)).save(checkout / "images" / "a.png")
    (checkout / "images" / "a.txt").write_text("a cat")
    words = ("assess", "vistar", "--image-dir", "images", "--only", "toy")
    done = pqpp(checkout, *words)
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(checkout / "verdicts.parquet").to_pylist()
    assert [row["score"] for row in rows] == [pytest.approx(0.4)]
    assert run_tests(checkout, "tests/feedback/vistar/test_toy.py")
