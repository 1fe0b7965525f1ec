"""Tests of other packages (peers) as tests of our functions, where the peers are installed.

This file is also the pytest plugin under which they run: each call of a peer's function without
options that ours lacks also calls ours; the peer's tests are not affected.
"""

import gc
import inspect
import json
import os
import re
import subprocess
import sys
import tarfile
import warnings
from collections import Counter
from contextlib import suppress
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

from pqpp_metrics import functional as F
from pqpp_metrics.runs import evaluate_run

SUITES = {  # a peer: its test modules, words in test names, the least number of equal calls
    "scipy.stats": (
        "test_stats test_hypotests test_axis_nan_policy",
        "kendall pearson spearman mann",
        400,
    ),
    "sklearn.metrics": (
        "test_ranking test_common test_classification",
        "dcg kappa rage squared",
        100,
    ),
    "statsmodels.stats": ("test_inter_rater test_multi test_proportion", "fleis multi wilson", 80),
    "ir_measures": ("", "test", 40),  # its tests are in its sdist
}
DIFFERENCES = {  # pattern of an outcome that may differ: why
    r"must have \d dimension|1-d array": "several columns or rankings at once",
    r"NaN or infinite|masked array": "missing values, which the caller drops",
    r"must not be empty|at least 2 values": "nothing to measure",
    r"pearsonr: .*1\.34157586e-08\], \[-?1\. +0": "the p-value of a perfect line is 0",
    r"pearsonr: \[0\.57735": "of values equal but for the last digit, r is 1",
    r"kappa_score: \[nan\], \[1\.\]": "full agreement on one class is 1",
    r"precision_score: ValueError: ties": "ties are the mean over their orders",
    r"fleiss_kappa: \[-0\.16666667\]|confint: \[2\.603": "counts are whole",
    "must be 0 or more, and 0 for grade 0": "what is not relevant has no gain",
}


def average_precision(true, scores):
    if len(set(np.ravel(scores))) < np.size(scores):
        raise ValueError("ties")
    return F.average_precision(scores=[scores], relevance=[np.equal(true, 1)])


def ndcg(true, scores, k):
    return F.ndcg(scores=scores, relevance=true, k=k).mean()


def fleiss(table):
    return F.fleiss_kappa([np.repeat(range(len(row)), row) for row in np.array(table, int)])


def holm(values, alpha):
    result = F.holm(values, alpha)
    return [*result["rejected"], *result["adjusted"]]


def wilson(hits, n, alpha):
    pairs = [*np.broadcast(hits, n)]
    results = [F.match_rate(np.arange(n) < hit, confidence=1 - alpha) for hit, n in pairs]
    return [[result[end] for result in results] for end in ("ci_low", "ci_high")]


def evaluate_ranked(measures, qrels, run):
    names = [str(one) for one in measures if one.NAME in RANKED_MEASURES]
    found = evaluate_run(run, qrels, names, missing="zero", ties="docno")
    return np.sort(np.ravel([*found["values"].values()]))


def ranked_values(found):
    return sorted(value for _, name, value in found if name.NAME in RANKED_MEASURES)


BASE_TEST_CASE = """from unittest import TestCase
class BaseMeasureTest(TestCase):
    def assertMetrics(self, found, *_, **__): list(found)
"""
RANKED_MEASURES = ("AP", "P", "R", "RR", "Rprec", "Success", "nDCG")
PROVIDER = "ir_measures.providers.pytrec_eval_provider:PytrecEvalProvider"
FUNCTIONS = {  # a peer's function: arguments that ours has too, ours, which of its values
    "scipy.stats:pearsonr": ("x y", F.pearson_qpp),
    "scipy.stats:kendalltau": ("x y", F.kendall_qpp),
    "scipy.stats:spearmanr": ("a b", F.spearman_qpp),
    "scipy.stats:mannwhitneyu": ("x y alternative", F.mann_whitney),
    "sklearn.metrics:cohen_kappa_score": ("y1 y2 weights", F.cohen_kappa),
    "sklearn.metrics:root_mean_squared_error": ("y_true y_pred", F.rmse_qpp),
    "sklearn.metrics:average_precision_score": ("y_true y_score", average_precision),
    "sklearn.metrics:ndcg_score": ("y_true y_score k", ndcg),
    "statsmodels.stats.inter_rater:fleiss_kappa": ("table", fleiss),
    "statsmodels.stats.multitest:multipletests": ("pvals alpha method=holm", holm, np.hstack),
    "statsmodels.stats.proportion:proportion_confint": ("count nobs alpha method=wilson", wilson),
    f"{PROVIDER}.iter_calc": ("measures qrels run", evaluate_ranked, ranked_values),
}
COUNTS, ACTIVE = Counter(), []


def compare(theirs, function, inputs):
    """Return "equal", or the different values or the error as text."""
    try:
        with warnings.catch_warnings(action="ignore"):
            found = function(*inputs)
        found = np.ravel([*found.values()] if hasattr(found, "values") else found)[: theirs.size]
        near = 1e-9 if theirs.itemsize >= 8 else 1e-5
        np.testing.assert_allclose(theirs[: found.size].astype(float), found, near, near / 100)
        return "equal"
    except AssertionError:
        return f"{theirs}, {found}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def also_call(peer, names, function, take=np.ravel):
    """Replace a peer's function by one that also calls ours with its arguments of these names."""
    original = resolve_name(peer)
    shared = [name for name in names.split() if "=" not in name]
    defaults = {key: one.default for key, one in inspect.signature(original).parameters.items()}
    required = defaults | dict(name.split("=") for name in names.split() if "=" in name)

    @wraps(original)
    def call_both(*args, **options):
        result = original(*args, **options)
        result = [*result] if inspect.isgenerator(result) else result
        given = defaults | dict(zip(defaults, args, strict=False)) | options
        others = given.keys() - {*shared, "self", "axis", "nan_policy", "keepdims"}
        if not ACTIVE and all(str(given[key]) == str(required.get(key)) for key in others):
            ACTIVE.append(peer)
            theirs = np.ravel(take(result))
            outcome = compare(theirs, function, [given[key] for key in shared])
            COUNTS["equal" if outcome == "equal" else f"{peer}: {outcome}"] += theirs.size > 0
            ACTIVE.clear()
        return result

    holder, _, name = peer.replace(":", ".").rpartition(".")
    setattr(resolve_name(holder), name, call_both)
    for table in gc.get_referrers(original):
        if type(table) is dict and original in table:
            table[call_both] = table[original]  # scipy's tests have tables by function


def pytest_configure():
    for peer, row in FUNCTIONS.items():
        with suppress(ImportError):
            also_call(peer, *row)


def pytest_unconfigure():
    print(json.dumps(COUNTS))


@pytest.mark.slow
@pytest.mark.parametrize("peer", SUITES)
def test_calls_of_a_peer_give_the_same_values(peer, tmp_path):
    modules, words, fewest = SUITES[peer]
    tests = ["--pyargs", *(f"{peer}.tests.{module}" for module in modules.split())]
    if not modules:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", peer]
        if subprocess.run([*pip, peer], cwd=tmp_path).returncode:
            pytest.skip("no package index can be reached")
        with tarfile.open(*tmp_path.glob("*.tar.gz")) as archive:
            archive.extractall(tmp_path, filter="data")
        (folder,) = tests = [*tmp_path.glob("*/tests")]
        (folder / "__init__.py").touch()
        (folder / "base.py").write_text(BASE_TEST_CASE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "metrics.test_peers", *tests]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command += ["-k", " or ".join(words.split())]
    process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    counts = json.loads(process.stdout.splitlines()[-1])
    print(peer, counts)
    assert counts.pop("equal") >= fewest
    outcomes = [outcome for outcome, times in counts.items() if times]
    assert not [one for one in outcomes if not any(re.search(text, one) for text in DIFFERENCES)]
