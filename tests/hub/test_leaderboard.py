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
def benchmark(state, tmp_path, cache, run_pqpp):
    """The sample as a benchmark on the Hub."""
    export(["sample"], tmp_path / "toy")
    run_pqpp("datasets", "push", tmp_path / "toy", f"{state.owner}/toy")
    return f"{state.owner}/toy"


@pytest.fixture
def push(state, tmp_path, run_pqpp):
    def run(measure: str, *more: str) -> str:
        folder = MeasurePredictor(measure).save_pretrained(tmp_path / measure)
        name = f"{state.owner}/{measure}"
        run_pqpp("models", "push", folder, name, *more)
        return name

    return run


def read_files(state, kind, name, head=None):
    repository = state.hub.hub.store.repositories[kind, name]
    commit = repository.commits[head or repository.branches["main"]]
    return {path: state.hub.hub.store.read_text(commit, path) for path in commit.files}


def test_pushed_benchmark_lists_tasks(state, benchmark):
    content = yaml.safe_load(read_files(state, "dataset", benchmark)["eval.yaml"])
    assert content["evaluation_framework"] == "pqpp" and content["name"] == "sample"
    assert len(content["tasks"]) == 2 * N_TARGETS and "GENERATED" in content["description"]
    first = {"id": "sample--validation--glide_hbpp", "config": "sample", "split": "validation"}
    assert content["tasks"][0] == first


def test_submitted_results_are_ranked_and_verified(state, benchmark, push, run_pqpp, tmp_path):
    """Entries match scipy; a claim that differs from the recomputed value is reported."""
    from datasets import load_dataset

    first = push("n_words", "--benchmark", benchmark)
    second = push("mean_word_length")
    accounts = state.hub.hub.accounts
    account, accounts["hf_tester"] = accounts["hf_tester"], DEFAULT_ACCOUNTS["hf_other"]
    report = run_pqpp("models", "submit", second, "--benchmark", benchmark, "--dry-run")
    assert f"would add .eval_results/{benchmark.replace('/', '--')}.yaml" in report.stdout
    assert "dry run: nothing was written" in report.stdout
    submitted = run_pqpp("models", "submit", second, "--benchmark", benchmark)
    assert submitted.stdout.strip().endswith(f"{second}/discussions/1")
    accounts["hf_tester"] = account
    repository = state.hub.hub.store.repositories["model", second]
    path = f".eval_results/{benchmark.replace('/', '--')}.yaml"
    assert path not in read_files(state, "model", second)
    proposed = read_files(state, "model", second, repository.requests[0]["head"])[path]
    entries = parse_eval_result_entries(yaml.safe_load(proposed))
    assert len(entries) == 2 * N_TARGETS and {one.dataset_id for one in entries} == {benchmark}
    rows = load_dataset("pqpp", "sample", split="test")
    lengths = [sum(map(len, p.split())) / len(p.split()) for p in rows["prompt"]]
    (test,) = (one for one in entries if one.task_id == "sample--test--mean_rr")
    assert test.value == pytest.approx(kendalltau(lengths, rows["mean_rr"]).statistic, abs=0.02)
    branches = state.hub.hub.store.repositories["dataset", benchmark].branches
    assert test.dataset_revision == branches["main"]
    assert "n 80" in test.notes and test.source_url.endswith(benchmark)

    board = run_pqpp("leaderboard", benchmark, "--format", "json")
    rows = json.loads(board.stdout)["rows"]
    assert {row["predictor"] for row in rows} == {first, second}
    assert "from an open pull request" in board.stderr
    # A wrong claim in the first model's repository.
    claim = tmp_path / "n_words" / path
    claim.parent.mkdir()
    task = BenchmarkTask("sample", "test", "mean_rr")
    claim.write_text(render_results([make_entry(task, benchmark, 0.99)]))
    claim.with_name("broken.yaml").write_text("- dataset: {id: 3}")
    run_pqpp("models", "push", tmp_path / "n_words", first)
    models = ("--models", f"{first},{second}")
    page = tmp_path / "board.html"
    verified = run_pqpp("leaderboard", benchmark, "--verify", *models, "--report", page)
    assert f"{first} reports 0.990 on mean_rr; recomputed: " in verified.stderr
    assert f"{first}: .eval_results/broken.yaml has no valid results" in verified.stderr
    assert "95% intervals" in verified.stdout and "Difference from " in verified.stdout
    text = page.read_text("utf-8")
    assert "Kendall&#39;s τ, highest first" in text and "Predicted vs. true" in text
    space = f"{state.owner}/board"
    report = run_pqpp("leaderboard", benchmark, "--space", space, "--dry-run")
    assert f"would create the repository {space}" in report.stdout
    run_pqpp("leaderboard", benchmark, "--space", space)
    assert state.hub.hub.store.repositories["space", space].sdk == "static"
    files = read_files(state, "space", space)
    assert yaml.safe_load(files["README.md"].split("---\n")[1])["sdk"] == "static"
    assert second in files["index.html"] and "<script src" not in files["index.html"]


def test_rejects_fitted_models_and_missing_results(state, benchmark, push, run_pqpp, tmp_path):

    from datasets import load_dataset

    from pqpp_models.text.ridge.fitting import fit

    rows = load_dataset("pqpp", "sample", split="test")
    fitted = fit(rows["prompt"][:], [[v] for v in rows["mean_hbpp"]], ["mean_hbpp"])
    fitted.save_pretrained(tmp_path / "learned")
    output = ("--eval-results", tmp_path / "out")
    options = ("--dataset", benchmark, "--subset", "sample", "--split", "test", *output)
    options += ("--predictors", tmp_path / "learned", "--targets", "mean_hbpp")
    outcome = run_pqpp("bench", *options, fails=True)
    assert "it was fitted to 80 of these rows" in outcome.stderr and not (tmp_path / "out").exists()
    outcome = run_pqpp("bench", "--dataset", tmp_path / "toy", *output, fails=True)
    assert "OWNER/DATASET" in outcome.stderr
    model = push("n_words")
    outcome = run_pqpp("models", "submit", model, "--benchmark", model, fails=True)
    assert "does not exist or is private" in outcome.stderr
    outcome = run_pqpp("leaderboard", benchmark, fails=True)
    assert "no results of pqpp" in outcome.stderr
    model = f"{state.owner}/none"
    outcome = run_pqpp("models", "submit", model, "--benchmark", benchmark, fails=True)
    assert f"'{model}" in outcome.stderr


def test_scores_predictions_on_private_labels(state, benchmark, run_pqpp, tmp_path):
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
    outcome = run_pqpp("bench", "--dataset", labels, *options, fails=True)
    assert "need the name of a split" in outcome.stderr
    run_pqpp("bench", "--dataset", tmp_path / "labels", "--split", "test", *options)
    board = json.loads(run_pqpp("leaderboard", tmp_path / "results", "--format", "json").stdout)
    (row,) = board["rows"]
    expected = kendalltau(scores, np.round(rows["mean_hbpp"], 9)).statistic  # equal means tie
    assert row["kendall"] == pytest.approx(expected, abs=1e-6)
    assert row["predictor"] == "theirs.csv_score" and row["n"] == 80
