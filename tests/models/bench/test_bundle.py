"""The file for reviewers: its figures come out again, by its own commands and by scipy."""

import hashlib
import json
import shlex
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pqpp_cli.main import main


@pytest.fixture
def bundle(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_scores.py").write_text("def f(prompts):\n    return list(map(len, prompts))\n")
    words = ["bench", "--dataset", "sample", "--split", "test", "--targets", "mean_rr,sdxl_hbpp"]
    words += ["--predictors", "static-train,my_scores:f", "--baseline", "my_scores:f"]
    for name in ("a.zip", "b.zip"):
        assert main([*words, "--bundle", name]) == 0
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    zipfile.ZipFile("a.zip").extractall("a")
    capsys.readouterr()
    return tmp_path / "a"


def test_scipy_gets_the_same_from_its_tables(bundle):
    truth, results = pd.read_csv(bundle / "prompts.csv"), pd.read_csv(bundle / "results.csv")
    assert len(results) == 4
    for row in results.itertuples():
        said = pd.read_csv(bundle / "predictions" / f"{row.target}.csv")
        assert said.prompt_id.tolist() == truth.prompt_id.tolist()
        x, y = said[row.predictor.replace(":", "_")], truth[row.target]
        r, tau = stats.pearsonr(x, y), stats.kendalltau(x, y)
        assert [row.pearson, row.pearson_p] == pytest.approx([r.statistic, r.pvalue], abs=1e-9)
        assert row.kendall == pytest.approx(tau.statistic, abs=1e-9)


def test_a_reviewer_runs_its_commands(bundle, monkeypatch, capsys):
    results = pd.read_csv(bundle / "results.csv").set_index(["target", "predictor"]).sort_index()
    page = (bundle / "README.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("pqpp bench")]
    monkeypatch.chdir(bundle)
    for line in lines[:-1]:
        assert main([*shlex.split(line)[1:], "--output", "again.csv"]) == 0
        again = pd.read_csv("again.csv")
        for row in again.itertuples():
            name = row.predictor.partition("csv:")[2]
            name = "my_scores:f" if name == "my_scores_f" else name
            known = results.loc[row.target, name]
            for figure in ("n", "pearson", "pearson_p", "kendall", "kendall_p"):
                assert getattr(row, figure) == pytest.approx(known[figure], abs=1e-9)
    monkeypatch.chdir(bundle.parent)
    recipe = shlex.split(lines[-1].replace("recipe", "a/recipe"))[1:]
    assert main([*recipe, "--format", "csv", "--output", "again.csv"]) == 0
    assert (bundle.parent / "again.csv").read_bytes() == (bundle / "results.csv").read_bytes()


def test_hashes_and_versions_are_told(bundle):
    about = json.loads((bundle / "about.json").read_text())
    assert about["versions"]["numpy"] == np.__version__
    assert len(about["predictors"]["static-train"]["weights_sha256"]) == 64
    for name, digest in about["files"].items():
        assert hashlib.sha256((bundle / name).read_bytes()).hexdigest() == digest
