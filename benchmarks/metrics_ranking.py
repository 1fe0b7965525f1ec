"""Ranking metrics over 10,000 queries of 100 documents: this project beside pytrec_eval."""

import numpy as np
from metrics_timing import Row, best_of, with_version

from pqpp_metrics.functional import precision_at_k, reciprocal_rank

QUERIES, DOCUMENTS = 10_000, 100


def rows():
    """Compare at three shares of relevant documents; the dicts are built outside the clock."""
    try:
        import pytrec_eval
    except ImportError:
        pytrec_eval = None
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((QUERIES, DOCUMENTS))
    run = _as_dicts(scores)
    for share in (0.02, 0.1, 0.5):
        relevance = (rng.random((QUERIES, DOCUMENTS)) < share).astype(np.int64)
        peer = None
        if pytrec_eval is not None:
            evaluator = pytrec_eval.RelevanceEvaluator(_as_dicts(relevance), {"recip_rank", "P_10"})
            peer = best_of(lambda evaluator=evaluator: evaluator.evaluate(run), repeats=3)
        ours = best_of(
            lambda relevance=relevance: (
                reciprocal_rank(scores, relevance),
                precision_at_k(scores, relevance),
            )
        )
        task = f"RR + P@10, {QUERIES:,} x {DOCUMENTS}, {share:.0%} relevant"
        yield Row(task, with_version("pytrec_eval-terrier"), peer, ours, 15)


def _as_dicts(values):
    """The nested dicts that pytrec_eval takes."""
    names = [f"d{document}" for document in range(values.shape[1])]
    return {
        f"q{query}": dict(zip(names, row, strict=True)) for query, row in enumerate(values.tolist())
    }
