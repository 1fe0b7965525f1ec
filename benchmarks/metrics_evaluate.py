"""Evaluate modules beside the functions that they call: what the module itself costs."""

import os
import tempfile

import numpy as np
from metrics_timing import Row, best_time

from pqpp_metrics import functional

QUERIES, DOCUMENTS, PROMPTS, MAPS, SIDE = 10_000, 100, 20_000, 100, 128


def make_rows():
    """Compare a ranking metric, one of strings, one of pairs and one of maps, all in one call."""
    rng = np.random.default_rng(0)
    ids = [f"mscoco-{prompt}" for prompt in np.repeat(np.arange(PROMPTS), 4)]
    votes = rng.choice([2.0, 1.0, 0.0, -1.0], (len(ids), 3))
    scores = rng.standard_normal((QUERIES, DOCUMENTS))
    grades = rng.integers(0, 3, (QUERIES, DOCUMENTS))
    maps = rng.random((2, MAPS, SIDE, SIDE))
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("MODULES", "METRICS"):
            os.environ.setdefault(f"HF_{kind}_CACHE", f"{folder}/{kind}")
        yield _time("ndcg", f"{QUERIES:,} x {DOCUMENTS}", predictions=scores, references=grades)
        yield _time("ndcg", "the same as lists", scores.tolist(), grades.tolist())
        yield _time("hbpp", f"{votes.size:,} judgments, string ids", labels=votes, prompt_ids=ids)
        yield _time("pearson_qpp", f"{PROMPTS:,} pairs", *rng.standard_normal((2, PROMPTS)))
        yield _time("nss", f"{MAPS} maps {SIDE} x {SIDE}", maps[0], maps[1] > 0.99)


def _time(name, size, predictions=None, references=None, **inputs):
    import evaluate

    if predictions is not None:
        inputs = {"predictions": predictions, "references": references}
    function, metric = getattr(functional, name), evaluate.load(f"pqpp/{name}")
    names = ("scores", "relevance") if name == "ndcg" else inputs
    own = best_time(lambda: function(**dict(zip(names, inputs.values(), strict=True))))
    module = best_time(lambda: metric.compute(**inputs))
    return Row(f"module {name}, {size}", "its function", own, module, 0.33)
