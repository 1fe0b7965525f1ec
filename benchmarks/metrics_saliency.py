"""Saliency metrics of 512 x 512 maps: this project beside plain numpy and the published loop."""

import numpy as np
from metrics_timing import Row, add_version, best_time

from pqpp_metrics.functional import auc_judd, cc, kld, nss, sim

SIDE, MAPS = 512, 100


def make_rows():
    """Compare four metrics of many maps, and AUC-Judd of one map with a dense truth."""
    yield _time_metrics()
    yield _time_auc()


def _time_metrics():
    rng = np.random.default_rng(0)
    predictions = rng.random((MAPS, SIDE, SIDE))
    truths = rng.random((MAPS, SIDE, SIDE)) ** 8
    fixations = rng.random((MAPS, SIDE, SIDE)) < 0.0005
    truth_of = {nss: fixations, cc: truths, sim: truths, kld: truths}
    ours = lambda: [m(predictions, t, "unisal") for m, t in truth_of.items()]  # noqa: E731
    peer = lambda: [_score(*maps) for maps in zip(predictions, truths, fixations, strict=True)]  # noqa: E731
    found = np.array(ours()).T
    assert np.abs(found - np.array(peer())).max() < 1e-9
    task = f"NSS + CC + SIM + KLD, {MAPS} maps {SIDE} x {SIDE}"
    return Row(task, f"plain {add_version('numpy')}", best_time(peer, 3), best_time(ours, 3), 1.5)


def _score(prediction, truth, fixations):
    """The four metrics as one would write them down."""
    epsilon = 2.2204e-16
    p, q = prediction / prediction.sum(), truth / truth.sum()
    return (
        ((prediction - prediction.mean()) / prediction.std())[fixations].mean(),
        np.corrcoef(prediction.ravel(), truth.ravel())[0, 1],
        np.minimum(p, q).sum(),
        (q * np.log(epsilon + q / (p + epsilon))).sum(),
    )


def _time_auc():
    rng = np.random.default_rng(0)
    prediction, truth = rng.random((SIDE, SIDE)), np.zeros((SIDE, SIDE))
    truth[200:285, 100:186] = 1
    assert abs(auc_judd(prediction, truth) - _compute_loop(prediction, truth)) < 1e-9
    peer = best_time(lambda: _compute_loop(prediction, truth), repeats=1)
    ours = best_time(lambda: auc_judd(prediction, truth))
    task = f"AUC-Judd, one map {SIDE} x {SIDE}, {int(truth.sum()):,} pixels marked"
    return Row(task, "loop over thresholds, as published", peer, ours, 30)


def _compute_loop(prediction, truth):
    """The published way: one pass over the map for each fixated pixel."""
    values, fixated = prediction.ravel(), truth.ravel() > 0
    thresholds = np.sort(values[fixated])[::-1]
    hits, others = len(thresholds), len(values) - len(thresholds)
    true_rate, false_rate = np.zeros(hits + 2), np.zeros(hits + 2)
    true_rate[-1] = false_rate[-1] = 1
    for number, threshold in enumerate(thresholds, start=1):
        above = (values >= threshold).sum()
        true_rate[number] = number / hits
        false_rate[number] = (above - number) / others
    return np.trapezoid(true_rate, false_rate)
