"""The peers' own test cases as tests of ours, found where the peers are installed.

This file is also the plugin of pytest under which they run: each call of a peer's function that
leaves its other options alone is one of ours too, and the peer's tests see nothing of it.
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

SUITES = {  # tests of a peer, words of their names, how many calls are equal at least
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
STATED = {  # what may differ, and why
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
    found = F.holm(values, alpha)
    return [*found["rejected"], *found["adjusted"]]


def wilson(hits, n, alpha):
    pairs = [*np.broadcast(hits, n)]
    found = [F.match_rate(np.arange(n) < hit, confidence=1 - alpha) for hit, n in pairs]
    return [[one[end] for one in found] for end in ("ci_low", "ci_high")]


def of_run(measures, qrels, run):
    names = [str(one) for one in measures if one.NAME in RANKED]
    found = evaluate_run(run, qrels, names, missing="zero", ties="docno")
    return np.sort(np.ravel([*found["values"].values()]))


def of_provider(found):
    return sorted(value for _, name, value in found if name.NAME in RANKED)


BASE = """from unittest import TestCase
class BaseMeasureTest(TestCase):
    def assertMetrics(self, found, *_, **__): list(found)
"""
RANKED = ("AP", "P", "R", "RR", "Rprec", "Success", "nDCG")
PROVIDER = "ir_measures.providers.pytrec_eval_provider:PytrecEvalProvider"
FUNCTIONS = {  # a peer's: its arguments that ours has too, ours, what of theirs
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
    f"{PROVIDER}.iter_calc": ("measures qrels run", of_run, of_provider),
}
COUNTS, BUSY = Counter(), []


def compare(theirs, ours, inputs):
    """Return "equal", or what came out."""
    try:
        with warnings.catch_warnings(action="ignore"):
            found = ours(*inputs)
        found = np.ravel([*found.values()] if hasattr(found, "values") else found)[: theirs.size]
        near = 1e-9 if theirs.itemsize >= 8 else 1e-5
        np.testing.assert_allclose(theirs[: found.size].astype(float), found, near, near / 100)
        return "equal"
    except AssertionError:
        return f"{theirs}, {found}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def beside(peer, names, ours, part=np.ravel):
    """Replace a peer's function by one that gives its arguments of these names to ours too."""
    original = resolve_name(peer)
    wanted = [name for name in names.split() if "=" not in name]
    defaults = {key: one.default for key, one in inspect.signature(original).parameters.items()}
    asked = defaults | dict(name.split("=") for name in names.split() if "=" in name)

    @wraps(original)
    def both(*args, **options):
        found = original(*args, **options)
        found = [*found] if inspect.isgenerator(found) else found
        given = defaults | dict(zip(defaults, args, strict=False)) | options
        others = given.keys() - {*wanted, "self", "axis", "nan_policy", "keepdims"}
        if not BUSY and all(str(given[key]) == str(asked.get(key)) for key in others):
            BUSY.append(peer)
            theirs = np.ravel(part(found))
            said = compare(theirs, ours, [given[key] for key in wanted])
            COUNTS["equal" if said == "equal" else f"{peer}: {said}"] += theirs.size > 0
            BUSY.clear()
        return found

    holder, _, name = peer.replace(":", ".").rpartition(".")
    setattr(resolve_name(holder), name, both)
    for table in gc.get_referrers(original):
        if type(table) is dict and original in table:
            table[both] = table[original]  # what scipy's tests look up by function


def pytest_configure():
    for peer, row in FUNCTIONS.items():
        with suppress(ImportError):
            beside(peer, *row)


def pytest_unconfigure():
    print(json.dumps(COUNTS))


@pytest.mark.slow
@pytest.mark.parametrize("peer", SUITES)
def test_calls_of_a_peer_give_the_same_here(peer, tmp_path):
    modules, words, least = SUITES[peer]
    tests = ["--pyargs", *(f"{peer}.tests.{module}" for module in modules.split())]
    if not modules:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", peer]
        if subprocess.run([*pip, peer], cwd=tmp_path).returncode:
            pytest.skip("no package index can be reached")
        with tarfile.open(*tmp_path.glob("*.tar.gz")) as archive:
            archive.extractall(tmp_path, filter="data")
        (folder,) = tests = [*tmp_path.glob("*/tests")]
        (folder / "__init__.py").touch()
        (folder / "base.py").write_text(BASE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "metrics.test_peers", *tests]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command += ["-k", " or ".join(words.split())]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    counts = json.loads(ran.stdout.splitlines()[-1])
    print(peer, counts)
    assert counts.pop("equal") >= least
    others = [said for said, times in counts.items() if times]
    assert not [said for said in others if not any(re.search(text, said) for text in STATED)]
