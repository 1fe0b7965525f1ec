"""Slow, obvious computations that the tests compare with."""

import itertools

import numpy as np
import scipy.stats


def iterate_orders(scores):
    """Yield every order of the documents of one query that its scores allow, best first."""
    groups = {}
    for document, score in enumerate(scores):
        groups.setdefault(float(score), []).append(document)
    tied = [itertools.permutations(groups[score]) for score in sorted(groups, reverse=True)]
    for parts in itertools.product(*tied):
        yield [document for part in parts for document in part]


def over_orders(measure, scores, relevance, ties):
    """The value of `measure(relevance in ranked order)` by the rule `ties`, one query at a time."""
    pick = {"expected": np.mean, "optimistic": max, "pessimistic": min}
    values = []
    for row_scores, row_relevance in zip(
        np.asarray(scores), np.asarray(relevance, dtype=float), strict=True
    ):
        if ties == "order":
            stable = np.argsort(-row_scores, kind="stable")
            values.append(measure(row_relevance[stable]))
        else:
            order_values = [measure(row_relevance[order]) for order in iterate_orders(row_scores)]
            values.append(pick[ties](order_values))
    return np.asarray(values, dtype=float)


def reciprocal_rank(ranked, k=None):
    hits = np.flatnonzero(np.asarray(ranked) > 0)
    if not len(hits) or (k is not None and hits[0] >= k):
        return 0.0
    return 1.0 / (hits[0] + 1)


def precision(ranked, k):
    return float((np.asarray(ranked)[:k] > 0).sum()) / k


def recall(ranked, k):
    relevant = np.asarray(ranked) > 0
    return relevant[:k].sum() / relevant.sum() if relevant.any() else 0.0


def hit(ranked, k):
    return float((np.asarray(ranked)[:k] > 0).any())


def r_precision(ranked):
    return recall(ranked, int((np.asarray(ranked) > 0).sum()))


def ndcg(ranked, k=None, exponential=False):
    grades = np.asarray(ranked, dtype=float)
    gains = 2**grades - 1 if exponential else grades
    discount = 1 / np.log2(np.arange(2, len(gains) + 2))
    if k is not None:
        discount[k:] = 0
    best = (np.sort(gains)[::-1] * discount).sum()
    return (gains * discount).sum() / best if best else 0.0


def average_precision(ranked, k=None):
    hits = [rank for rank, grade in enumerate(ranked) if grade > 0]
    precisions = [
        (index + 1) / (rank + 1) for index, rank in enumerate(hits) if k is None or rank < k
    ]
    return sum(precisions) / len(hits) if hits else 0.0


def image_relevance(votes, ties):
    """One image's relevance as the paper defines it."""
    votes = [vote for vote in votes if not np.isnan(vote)]
    relevant = [vote for vote in votes if vote in (1, 2)]
    unacceptable = [vote for vote in votes if vote in (0, -1)]
    if not votes:
        return np.nan
    if len(relevant) == len(unacceptable):
        winners = {"mean": votes, "positive": relevant, "negative": unacceptable}[ties]
    else:
        winners = max(relevant, unacceptable, key=len)
    return sum(winners) / len(winners)


def smare(predictions, references):
    """Mean of |rank - rank| / n, by scipy's ranks."""
    ranks = [scipy.stats.rankdata(side) for side in (predictions, references)]
    return np.abs(ranks[0] - ranks[1]).mean() / len(predictions)


def auc_judd(prediction, truth):
    """Trapezoids between the shares of fixations and other pixels at or above each threshold."""
    fixated = truth > 0
    if not fixated.any() or fixated.all():
        return np.nan
    points = [(0.0, 0.0)]
    for threshold in sorted(set(prediction[fixated]), reverse=True):
        reached = prediction >= threshold
        points.append((reached[~fixated].mean(), np.average(reached, weights=truth)))
    points.append((1.0, 1.0))
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in itertools.pairwise(points))


def richhf_kld(prediction, truth):
    """The formula of the first author's code: 1e-8 in every divisor and in the logarithm."""
    if not truth.any():
        return np.nan
    p, q = prediction / (prediction.sum() + 1e-8), truth / (truth.sum() + 1e-8)
    return (q * np.log(1e-8 + q / (p + 1e-8))).sum()
