"""Ranking metrics over 10,000 queries of 100 documents: this project beside pytrec_eval."""

import tempfile
from pathlib import Path

import numpy as np
from metrics_timing import Row, add_version, read_time, time_medians

from pqpp_metrics.functional import (
    evaluate_rankings,
    ndcg,
    precision_at_k,
    r_precision,
    reciprocal_rank,
)
from pqpp_metrics.runs import join_rankings

QUERIES, DOCUMENTS = 10_000, 100
PEER = "pytrec_eval-terrier"
TWO = {"recip_rank": reciprocal_rank, "P_10": precision_at_k}
FOUR = TWO | {"ndcg": ndcg, "Rprec": r_precision}

try:
    import pytrec_eval
except ImportError:
    pytrec_eval = None


def make_rows():
    """Compare at three shares of relevant documents, and from files."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((QUERIES, DOCUMENTS))
    run = to_dicts(scores)
    for share in (0.02, 0.1, 0.5):
        relevance = (rng.random((QUERIES, DOCUMENTS)) < share).astype(np.int64)
        judged = to_dicts(relevance)
        data = share, scores, relevance, run, judged
        yield _time_arrays("RR + P@10, one by one", TWO, 20, _compute_each, *data)
        yield _time_arrays("RR, P@10, nDCG, R-prec, one by one", FOUR, 20, _compute_each, *data)
        yield _time_arrays("RR, P@10, nDCG, R-prec in one call", FOUR, 20, _compute_all, *data)
    relevance = (rng.random((QUERIES, DOCUMENTS)) < 0.1).astype(np.int64)
    yield _time_files(scores, relevance, "1,000,000 lines each, 100 documents", write_files)
    task = "1,000,000 lines of a run, 100,000 of judgments, 1,000,000 documents"
    yield _time_files(scores, relevance, task, write_sampled)


def _compute_each(metrics, scores, relevance):
    return {name: metric(scores=scores, relevance=relevance) for name, metric in metrics.items()}


def _compute_all(metrics, scores, relevance):
    return evaluate_rankings(scores=scores, relevance=relevance, measures=list(metrics))


def _time_arrays(name, metrics, aim, compute, share, scores, relevance, run, judged):
    """Arrays beside dicts, which are built outside the clock."""
    peer = None

    def ours():
        return compute(metrics, scores, relevance)

    if pytrec_eval is None:
        (seconds,) = time_medians([ours])
    else:
        evaluator = pytrec_eval.RelevanceEvaluator(judged, set(metrics))
        seconds, peer = time_medians([ours, lambda: evaluator.evaluate(run)])
        found = evaluator.evaluate(run)
        for measure, values in ours().items():
            expected = [found[f"q{query}"][measure] for query in range(QUERIES)]
            assert np.abs(values - expected).max() < 1e-12
    task = f"{name}, {QUERIES:,} x {DOCUMENTS}, {share:.0%} relevant"
    peer_given = f"{add_version(PEER)}, dicts, evaluator built"
    return Row(task, peer_given, peer, seconds, aim, read_time(scores, relevance))


def to_dicts(values):
    """The nested dicts that pytrec_eval takes."""
    names = [f"d{document}" for document in range(values.shape[1])]
    return {
        f"q{query}": dict(zip(names, row, strict=True)) for query, row in enumerate(values.tolist())
    }


def _time_files(scores, relevance, task, write):
    """Parse and compute from a run and a relevance file."""
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = Path(folder) / "run", Path(folder) / "qrels"
        write(run, qrels, scores, relevance)
        floor = read_time(run.stat().st_size, qrels.stat().st_size)
        both = [lambda: _read_and_compute(run, qrels)]
        if pytrec_eval is not None:
            both.append(lambda: _parse_and_evaluate(run, qrels))
            (queries, found), expected = (function() for function in both)
            for measure in FOUR:
                theirs = [expected[query][measure] for query in queries]
                assert np.abs(found[measure] - theirs).max() < 1e-12
        ours, peer = [*time_medians(both), None][:2]
    return Row(f"TREC files to four metrics, {task}", add_version(PEER), peer, ours, 5, floor)


def write_sampled(run, qrels, scores, relevance):
    """Write a run by rank of documents out of a million, and ten judgments a query, half found."""
    rng = np.random.default_rng(1)
    with run.open("w") as run_file, qrels.open("w") as qrels_file:
        for query, row in enumerate(np.sort(scores, axis=1)[:, ::-1].tolist()):
            names = [f"doc{n:07d}" for n in np.unique(rng.integers(0, 1_000_000, 2 * len(row)))]
            names = rng.permutation(names).tolist()
            run_file.writelines(
                f"{query} Q0 {name} {rank} {score!r} tag\n"
                for rank, (name, score) in enumerate(zip(names, row, strict=False), 1)
            )
            judged = names[: len(row) : len(row) // 5] + names[-5:]
            grades = rng.integers(0, 3, len(judged)).tolist()
            lines = zip(judged, grades, strict=True)
            qrels_file.writelines(f"{query} 0 {name} {grade}\n" for name, grade in lines)


def write_files(run, qrels, scores, relevance):
    """Write scores and relevance, (queries, documents), as TREC files."""
    _write(run, "q{} Q0 d{} 0 {!r} tag\n", scores)
    _write(qrels, "q{} 0 d{} {}\n", relevance)


def _write(path, line, values):
    with path.open("w") as file:
        for query, row in enumerate(values.tolist()):
            file.writelines(line.format(query, column, value) for column, value in enumerate(row))


def _parse_and_evaluate(run, qrels):
    with run.open() as run_file, qrels.open() as qrels_file:
        parsed, judged = pytrec_eval.parse_run(run_file), pytrec_eval.parse_qrel(qrels_file)
    return pytrec_eval.RelevanceEvaluator(judged, set(FOUR)).evaluate(parsed)


def _read_and_compute(run, qrels):
    found = join_rankings(run, qrels)
    left = found.unretrieved
    values = evaluate_rankings(
        scores=found.scores, relevance=found.relevance, measures=list(FOUR), unretrieved=left
    )
    return found.query_ids, values
