"""Benchmarks on a Hub on loopback: tasks, submitted results, and leaderboards."""

import json
import re

import numpy as np
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from scipy.stats import kendalltau
from support.local_hub import DEFAULT_ACCOUNTS

from pqpp_datasets.export.export import export
from pqpp_hub.eval_results import BenchmarkTask, make_entry, render_results
from pqpp_models.measures.predictor import MeasurePredictor

N_TARGETS = 9


@pytest.fixture
def benchmark(shared, tmp_path, cache, pqpp):
    """The sample as a benchmark on the Hub."""
    export(["sample"], tmp_path / "toy")
    pqpp("datasets", "push", tmp_path / "toy", f"{shared.owner}/toy")
    return f"{shared.owner}/toy"


@pytest.fixture
def push(shared, tmp_path, pqpp):
    def run(measure: str, *more: str) -> str:
        folder = MeasurePredictor(measure).save_pretrained(tmp_path / measure)
        name = f"{shared.owner}/{measure}"
        pqpp("models", "push", folder, name, *more)
        return name

    return run


def read_files(shared, kind, name, head=None):
    repository = shared.hub.hub.store.repositories[kind, name]
    commit = repository.commits[head or repository.branches["main"]]
    return {path: shared.hub.hub.store.text(commit, path) for path in commit.files}


def test_pushed_benchmark_lists_tasks(shared, benchmark):
    content = yaml.safe_load(read_files(shared, "dataset", benchmark)["eval.yaml"])
    assert content["evaluation_framework"] == "pqpp" and content["name"] == "sample"
    assert len(content["tasks"]) == 2 * N_TARGETS and "GENERATED" in content["description"]
    first = {"id": "sample--validation--glide_hbpp", "config": "sample", "split": "validation"}
    assert content["tasks"][0] == first


def test_submitted_results_are_ranked_and_verified(shared, benchmark, push, pqpp, tmp_path):
    """Entries match scipy; a claim that differs from the recomputed value is reported."""
    from datasets import load_dataset

    first = push("n_words", "--benchmark", benchmark)
    second = push("mean_word_length")
    accounts = shared.hub.hub.accounts
    account, accounts["hf_tester"] = accounts["hf_tester"], DEFAULT_ACCOUNTS["hf_other"]
    report = pqpp("models", "submit", second, "--benchmark", benchmark, "--dry-run")
    assert f"would add .eval_results/{benchmark.replace('/', '--')}.yaml" in report.stdout
    assert "dry run: nothing was written" in report.stdout
    submitted = pqpp("models", "submit", second, "--benchmark", benchmark)
    assert submitted.stdout.strip().endswith(f"{second}/discussions/1")
    accounts["hf_tester"] = account
    repository = shared.hub.hub.store.repositories["model", second]
    path = f".eval_results/{benchmark.replace('/', '--')}.yaml"
    assert path not in read_files(shared, "model", second)
    proposed = read_files(shared, "model", second, repository.requests[0]["head"])[path]
    entries = parse_eval_result_entries(yaml.safe_load(proposed))
    assert len(entries) == 2 * N_TARGETS and {one.dataset_id for one in entries} == {benchmark}
    rows = load_dataset("pqpp", "sample", split="test")
    lengths = [sum(map(len, p.split())) / len(p.split()) for p in rows["prompt"]]
    (test,) = (one for one in entries if one.task_id == "sample--test--mean_rr")
    assert test.value == pytest.approx(kendalltau(lengths, rows["mean_rr"]).statistic, abs=0.02)
    branches = shared.hub.hub.store.repositories["dataset", benchmark].branches
    assert test.dataset_revision == branches["main"]
    assert "n 80" in test.notes and test.source_url.endswith(benchmark)

    board = pqpp("leaderboard", benchmark, "--format", "json")
    rows = json.loads(board.stdout)["rows"]
    assert {row["predictor"] for row in rows} == {first, second}
    assert "from an open pull request" in board.stderr
    # A wrong claim in the first model's repository.
    claim = tmp_path / "n_words" / path
    claim.parent.mkdir()
    task = BenchmarkTask("sample", "test", "mean_rr")
    claim.write_text(render_results([make_entry(task, benchmark, 0.99)]))
    claim.with_name("broken.yaml").write_text("- dataset: {id: 3}")
    pqpp("models", "push", tmp_path / "n_words", first)
    models = ("--models", f"{first},{second}")
    page = tmp_path / "board.html"
    verified = pqpp("leaderboard", benchmark, "--verify", *models, "--report", page)
    assert f"{first} reports 0.990 on mean_rr; recomputed: " in verified.stderr
    assert f"{first}: .eval_results/broken.yaml has no valid results" in verified.stderr
    assert "95% intervals" in verified.stdout and "Difference from " in verified.stdout
    text = page.read_text("utf-8")
    assert "Kendall&#39;s τ, highest first" in text and "Predicted vs. true" in text
    space = f"{shared.owner}/board"
    report = pqpp("leaderboard", benchmark, "--space", space, "--dry-run")
    assert f"would create the repository {space}" in report.stdout
    pqpp("leaderboard", benchmark, "--space", space)
    assert shared.hub.hub.store.repositories["space", space].sdk == "static"
    files = read_files(shared, "space", space)
    assert yaml.safe_load(files["README.md"].split("---\n")[1])["sdk"] == "static"
    assert second in files["index.html"] and "<script src" not in files["index.html"]


def test_rejects_fitted_models_and_missing_results(shared, benchmark, push, pqpp, tmp_path):

    from datasets import load_dataset

    from pqpp_models.text.ridge.fitting import fit

    rows = load_dataset("pqpp", "sample", split="test")
    fitted = fit(rows["prompt"][:], [[v] for v in rows["mean_hbpp"]], ["mean_hbpp"])
    fitted.save_pretrained(tmp_path / "learned")
    output = ("--eval-results", tmp_path / "out")
    options = ("--dataset", benchmark, "--subset", "sample", "--split", "test", *output)
    options += ("--predictors", tmp_path / "learned", "--targets", "mean_hbpp")
    outcome = pqpp("bench", *options, fails=True)
    assert "it was fitted to 80 of these rows" in outcome.stderr and not (tmp_path / "out").exists()
    outcome = pqpp("bench", "--dataset", tmp_path / "toy", *output, fails=True)
    assert "OWNER/DATASET" in outcome.stderr
    model = push("n_words")
    outcome = pqpp("models", "submit", model, "--benchmark", model, fails=True)
    assert "does not exist or is private" in outcome.stderr
    outcome = pqpp("leaderboard", benchmark, fails=True)
    assert "no results of pqpp" in outcome.stderr
    outcome = pqpp("models", "submit", f"{shared.owner}/none", "--benchmark", benchmark, fails=True)
    assert "'" + f"{shared.owner}/none" in outcome.stderr


def test_scores_predictions_on_private_labels(shared, benchmark, pqpp, tmp_path):
    """The owner scores a file of predictions on labels that are not published."""
    from datasets import load_dataset

    rows = load_dataset("pqpp", "sample", split="test")
    (tmp_path / "labels").mkdir()
    labels, predictions = tmp_path / "labels" / "test.csv", tmp_path / "theirs.csv"
    rows.select_columns(["prompt", "mean_hbpp"]).to_csv(labels, index=False)
    scores = [len(re.findall(r"\w+", prompt)) for prompt in rows["prompt"]]
    rows.select_columns(["prompt"]).add_column("score", scores).to_csv(predictions, index=False)
    output = ("--eval-results", tmp_path / "results", "--listed-as", benchmark)
    options = ("--targets", "mean_hbpp", "--predictors", f"{predictions}:score", *output)
    outcome = pqpp("bench", "--dataset", labels, *options, fails=True)
    assert "need the name of a split" in outcome.stderr
    pqpp("bench", "--dataset", tmp_path / "labels", "--split", "test", *options)
    board = json.loads(pqpp("leaderboard", tmp_path / "results", "--format", "json").stdout)
    (row,) = board["rows"]
    expected = kendalltau(scores, np.round(rows["mean_hbpp"], 9)).statistic  # equal means tie
    assert row["kendall"] == pytest.approx(expected, abs=1e-6)
    assert row["predictor"] == "theirs.csv_score" and row["n"] == 80
