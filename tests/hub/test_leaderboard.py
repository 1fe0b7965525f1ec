"""A benchmark on a Hub on loopback: pushed with tasks, submitted to, ranked, verified, shown."""

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

TARGETS = 9


@pytest.fixture
def pqpp(shared, tmp_path):
    """Run the command line against the Hub; no token is ever said."""

    def run(*arguments: str, fails: bool = False):
        outcome = shared.user.pqpp(*map(str, arguments))
        assert outcome.error is None, outcome.error
        assert bool(outcome.value) == fails, outcome.stderr
        assert not any(secret in outcome.said for secret in DEFAULT_ACCOUNTS)
        return outcome

    return run


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


def files_of(shared, kind, name, head=None):
    repository = shared.hub.hub.store.repositories[kind, name]
    commit = repository.commits[head or repository.branches["main"]]
    return {path: shared.hub.hub.store.text(commit, path) for path in commit.files}


def test_tasks_of_a_pushed_benchmark(shared, benchmark):
    about = yaml.safe_load(files_of(shared, "dataset", benchmark)["eval.yaml"])
    assert about["evaluation_framework"] == "pqpp" and about["name"] == "sample"
    assert len(about["tasks"]) == 2 * TARGETS and "GENERATED" in about["description"]
    first = {"id": "sample--validation--glide_hbpp", "config": "sample", "split": "validation"}
    assert about["tasks"][0] == first


def test_submitted_results_are_ranked_and_verified(shared, benchmark, push, pqpp, tmp_path):
    """The entry is what scipy says; a claim that does not hold is told."""
    from datasets import load_dataset

    own = push("n_words", "--benchmark", benchmark)
    theirs = push("mean_word_length")
    shared.hub.hub.accounts["hf_tester"], kept = (
        DEFAULT_ACCOUNTS["hf_other"],
        shared.hub.hub.accounts["hf_tester"],
    )
    dry = pqpp("models", "submit", theirs, "--benchmark", benchmark, "--dry-run")
    assert f"would add .eval_results/{benchmark.replace('/', '--')}.yaml" in dry.stdout
    assert "dry run: nothing was written" in dry.stdout
    done = pqpp("models", "submit", theirs, "--benchmark", benchmark)
    assert done.stdout.strip().endswith(f"{theirs}/discussions/1")
    shared.hub.hub.accounts["hf_tester"] = kept
    repository = shared.hub.hub.store.repositories["model", theirs]
    path = f".eval_results/{benchmark.replace('/', '--')}.yaml"
    assert path not in files_of(shared, "model", theirs)
    proposed = files_of(shared, "model", theirs, repository.requests[0]["head"])[path]
    entries = parse_eval_result_entries(yaml.safe_load(proposed))
    assert len(entries) == 2 * TARGETS and {one.dataset_id for one in entries} == {benchmark}
    rows = load_dataset("pqpp", "sample", split="test")
    lengths = [sum(map(len, p.split())) / len(p.split()) for p in rows["prompt"]]
    (test,) = (one for one in entries if one.task_id == "sample--test--mean_rr")
    assert test.value == pytest.approx(kendalltau(lengths, rows["mean_rr"]).statistic, abs=0.02)
    assert (
        test.dataset_revision
        == shared.hub.hub.store.repositories["dataset", benchmark].branches["main"]
    )
    assert "n 80" in test.notes and test.source_url.endswith(benchmark)

    board = pqpp("leaderboard", benchmark, "--format", "json")
    listed = json.loads(board.stdout)["rows"]
    assert {row["predictor"] for row in listed} == {own, theirs}
    assert "from an open pull request" in board.stderr
    # A claim in the repository of the first, which does not hold.
    lie = tmp_path / "n_words" / path
    lie.parent.mkdir()
    task = BenchmarkTask("sample", "test", "mean_rr")
    lie.write_text(render_results([make_entry(task, benchmark, 0.99)]))
    lie.with_name("broken.yaml").write_text("- dataset: {id: 3}")
    pqpp("models", "push", tmp_path / "n_words", own)
    named = ("--models", f"{own},{theirs}")
    page = tmp_path / "board.html"
    told = pqpp("leaderboard", benchmark, "--verify", *named, "--report", page)
    assert f"{own} reports 0.990 on mean_rr; recomputed: " in told.stderr
    assert f"{own}: .eval_results/broken.yaml has no valid results" in told.stderr
    assert "95% intervals" in told.stdout and "Difference from " in told.stdout
    text = page.read_text("utf-8")
    assert "Kendall&#39;s τ, highest first" in text and "Predicted vs. true" in text
    space = f"{shared.owner}/board"
    dry = pqpp("leaderboard", benchmark, "--space", space, "--dry-run")
    assert f"would create the repository {space}" in dry.stdout
    pqpp("leaderboard", benchmark, "--space", space)
    assert shared.hub.hub.store.repositories["space", space].sdk == "static"
    files = files_of(shared, "space", space)
    assert yaml.safe_load(files["README.md"].split("---\n")[1])["sdk"] == "static"
    assert theirs in files["index.html"] and "<script src" not in files["index.html"]


def test_what_is_refused(shared, benchmark, push, pqpp, tmp_path):
    """Rows that were learned give no result; what lacks tasks or results is told in a line."""
    from datasets import load_dataset

    from pqpp_models.text.ridge.fitting import fit

    rows = load_dataset("pqpp", "sample", split="test")
    learned = fit(rows["prompt"][:], [[v] for v in rows["mean_hbpp"]], ["mean_hbpp"])
    learned.save_pretrained(tmp_path / "learned")
    place = ("--dataset", benchmark, "--predictors", tmp_path / "learned", "--targets", "mean_hbpp")
    where = ("--eval-results", tmp_path / "out")
    done = pqpp("bench", *place, "--subset", "sample", "--split", "test", *where, fails=True)
    assert "it was fitted to 80 of these rows" in done.stderr and not (tmp_path / "out").exists()
    done = pqpp("bench", "--dataset", tmp_path / "toy", *where, fails=True)
    assert "OWNER/DATASET" in done.stderr
    model = push("n_words")
    done = pqpp("models", "submit", model, "--benchmark", model, fails=True)
    assert "does not exist or is private" in done.stderr
    done = pqpp("leaderboard", benchmark, fails=True)
    assert "no results of pqpp" in done.stderr
    done = pqpp("models", "submit", f"{shared.owner}/none", "--benchmark", benchmark, fails=True)
    assert "'" + f"{shared.owner}/none" in done.stderr


def test_labels_in_private(shared, benchmark, pqpp, tmp_path):
    """Predictions come as a file; the owner scores them on labels that nobody else has."""
    from datasets import load_dataset

    rows = load_dataset("pqpp", "sample", split="test")
    (tmp_path / "labels").mkdir()
    labels, theirs = tmp_path / "labels" / "test.csv", tmp_path / "theirs.csv"
    rows.select_columns(["prompt", "mean_hbpp"]).to_csv(labels, index=False)
    scores = [len(re.findall(r"\w+", prompt)) for prompt in rows["prompt"]]
    rows.select_columns(["prompt"]).add_column("score", scores).to_csv(theirs, index=False)
    into = ("--eval-results", tmp_path / "results", "--listed-as", benchmark)
    what = ("--targets", "mean_hbpp", "--predictors", f"{theirs}:score", *into)
    refused = pqpp("bench", "--dataset", labels, *what, fails=True)
    assert "need the name of a split" in refused.stderr
    pqpp("bench", "--dataset", tmp_path / "labels", "--split", "test", *what)
    board = json.loads(pqpp("leaderboard", tmp_path / "results", "--format", "json").stdout)
    (row,) = board["rows"]
    expected = kendalltau(scores, np.round(rows["mean_hbpp"], 9)).statistic  # equal means tie
    assert row["kendall"] == pytest.approx(expected, abs=1e-6)
    assert row["predictor"] == "theirs.csv_score" and row["n"] == 80
