"""Runs in dicts of dicts, and the provider for ir_measures, beside pytrec_eval."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
from metrics_ranking import FOUR, PEER, to_dicts
from metrics_timing import Row, add_version, read_time, time_medians

from pqpp_metrics.runs import evaluate_run

QUERIES, DOCUMENTS, JUDGED = 3_000, 100, 10
PAGE = Path(__file__).parents[1] / "docs" / "ir_measures.md"
MEASURES = ("RR", "P@10", "nDCG", "Rprec")

try:
    import ir_measures
    import pytrec_eval
except ImportError:
    ir_measures = pytrec_eval = None


def make_rows():
    """Compare with all documents judged, and with ten a query."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((QUERIES, DOCUMENTS))
    run = to_dicts(scores)
    all_judged = to_dicts((rng.random(scores.shape) < 0.1).astype(np.int64))
    some = {query: dict(list(of.items())[::JUDGED]) for query, of in all_judged.items()}
    for judged, told in ((all_judged, "all judged"), (some, f"{JUDGED} judged")):
        task = f"dicts of dicts, {QUERIES:,} x {DOCUMENTS}, {told}"
        # A pointer to a name and one to a value, and what they point to.
        floor = read_time(sum(len(of) for side in (run, judged) for of in side.values()) * 40)
        yield from _time_dicts(task, run, judged, floor)
        yield from _time_provider(task, run, judged, floor)
    frames = [
        pd.DataFrame([(q, d, v) for q, of in side.items() for d, v in of.items()], columns=names)
        for side, names in ((run, ("query", "doc", "score")), (all_judged, ("query", "doc", "rel")))
    ]
    yield from _time_frames(*frames)


def _time_frames(run, judged):
    def nested(frame, value):
        return {q: dict(zip(of["doc"], of[value], strict=True)) for q, of in frame.groupby("query")}

    def theirs():
        evaluator = pytrec_eval.RelevanceEvaluator(nested(judged, "rel"), set(FOUR))
        return evaluator.evaluate(nested(run, "score"))

    both = [lambda: evaluate_run(run, judged, list(FOUR))] + [theirs] * (pytrec_eval is not None)
    own, peer = [*time_medians(both), None][:2]
    task = f"RR, P@10, nDCG, R-prec, long data frames, {QUERIES:,} x {DOCUMENTS}"
    yield Row(
        task, f"{add_version(PEER)}, from the frames", peer, own, 25, read_time(24 * len(run))
    )


def _time_dicts(task, run, judged, floor):
    def ours():
        return evaluate_run(run, judged, list(FOUR), missing="drop")

    task, peer = f"RR, P@10, nDCG, R-prec, {task}", add_version(PEER)
    if pytrec_eval is None:
        yield Row(task, peer, None, time_medians([ours])[0], 3, floor)
        return
    evaluator = pytrec_eval.RelevanceEvaluator(judged, set(FOUR))

    def anew():
        return pytrec_eval.RelevanceEvaluator(judged, set(FOUR)).evaluate(run)

    own, built, unbuilt = time_medians([ours, lambda: evaluator.evaluate(run), anew])
    yield Row(task, f"{peer}, evaluator built", built, own, 3, floor)
    yield Row(task, f"{peer}, from both dicts", unbuilt, own, 3, floor)


def _time_provider(task, run, judged, floor):
    if ir_measures is None:
        return
    names = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0], names)
    ours, theirs = names["provider"], ir_measures.providers.registry["pytrec_eval"]
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    built = [provider.evaluator(measures, judged) for provider in (ours, theirs)]
    own, peer = time_medians([lambda one=one: one.calc_aggregate(run) for one in built])
    name = f"pytrec_eval provider of {add_version('ir_measures')}, evaluator built"
    yield Row(f"provider for ir_measures, {task}", name, peer, own, 1, floor)
