"""Several saliency metrics of the same maps at once, and RichHF's protocol for heatmaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import as_list, require_choice, to_numpy
from pqpp_metrics.functional._maps import (
    CONVENTIONS,
    as_values,
    checked_truth,
    map_inputs,
    map_pair,
)
from pqpp_metrics.functional._saliency import cc_of, kld_of, mse_of, nss_of, sim_of
from pqpp_metrics.functional._types import Array, Values
from pqpp_metrics.functional.saliency import auc_judd

_OF_MAPS = {"cc": cc_of, "kld": kld_of, "sim": sim_of, "heatmap_mse": mse_of}
_METRICS = ("nss", "auc_judd", *_OF_MAPS)


def saliency_report(
    predictions: Values,
    references: Values,
    fixations: Values | None = None,
    metrics: Sequence[str] = _METRICS,
    convention: str = "tuebingen",
) -> dict[str, Array]:
    """Several saliency metrics of the same maps: each map is read once, not once a metric.

    Args:
        fixations: Fixation counts for NSS and AUC-Judd, same shape. None (default): every pixel
            of `references` above 0 is fixated once.
        metrics: Which to compute: of "nss", "cc", "kld", "sim", "auc_judd", "heatmap_mse".
        convention: Whose details are followed, see `saliency`.

    Returns:
        dict of metric name to float64 array, shape (...), as the metric's own function gives.

    Example:
        >>> report = saliency_report([[0.1, 0.4], [0.3, 0.9]], [[0, 0], [1, 1]], metrics=["sim"])
        >>> float(report["sim"].round(4))
        0.6765
    """
    require_choice("convention", convention, CONVENTIONS)
    metrics = as_list("metrics", metrics)
    for name in metrics:
        require_choice("metrics", name, _METRICS)
    xp, predicted, true, shape = map_inputs(predictions, references)
    fixated = true > 0 if fixations is None else map_inputs(predictions, fixations, "fixations")[2]
    values: dict[str, list[float]] = {name: [] for name in metrics}
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # a typed error follows
        for i in range(predicted.shape[0]):
            pair = map_pair(xp, predicted[i, ...], true[i, ...])
            for name in metrics:
                if name in _OF_MAPS:
                    values[name].append(_OF_MAPS[name](pair, convention))
                elif name == "nss":
                    other = pair.with_truth(*checked_truth(xp, "fixations", fixated[i, ...]))
                    values[name].append(nss_of(other, convention))
    report = {
        name: as_values(xp, list_, predicted, shape) for name, list_ in values.items() if list_
    }
    if "auc_judd" in metrics:
        stacked = xp.reshape(fixated, (*shape, *predicted.shape[1:]))
        report["auc_judd"] = auc_judd(predictions, stacked, convention=convention)
    return {name: report[name] for name in metrics}


def richhf_heatmap(
    predictions: Values, references: Values, convention: str = "tuebingen"
) -> dict[str, Any]:
    """RichHF's protocol for heatmaps: MSE on all and on empty truths, the rest on the others.

    Liang et al., "Rich Human Feedback for Text-to-Image Generation", CVPR 2024, section 5.1:
    saliency metrics are undefined for an image without a marked region. For NSS and AUC-Judd a
    pixel counts as fixated where the true heatmap is above 0.

    Args:
        predictions: Predicted heatmaps, shape (images, height, width), in [0, 1] for values that
            compare with the paper's.
        references: True heatmaps, same shape and scale, never negative.
        convention: Whose details are followed, see `saliency`. The paper's figures come from
            its authors' code, "richhf"; it differs from the default in the sixth digit of CC,
            SIM and NSS, in KLD where a prediction is almost 0, and in AUC-Judd where many tie.

    Returns:
        dict: "richhf_heatmap" and "mse_all" (the same: mean over all images of the MSE),
        "mse_empty" (mean over images with empty truth), "cc", "kld", "sim", "nss", "auc_judd"
        (means over the other images), "n", "n_empty". A mean over no image is NaN; images on
        which one metric is undefined (all pixels marked, for AUC) are left out of its mean.

    Example:
        >>> truth = [[[0.0, 1.0]], [[0.0, 0.0]]]
        >>> result = richhf_heatmap([[[0.1, 0.9]], [[0.0, 0.2]]], truth)
        >>> round(result["mse_all"], 4), round(result["mse_empty"], 4), result["n_empty"]
        (0.015, 0.02, 1)
    """
    _, predicted, true, shape = map_inputs(predictions, references)
    if len(shape) != 1:
        raise MetricInputError(
            f"`predictions` has shape {(*shape, *predicted.shape[1:])}; "
            "give (images, height, width)"
        )
    report = saliency_report(predicted, true, convention=convention)
    report = {name: to_numpy(values) for name, values in report.items()}
    empty = to_numpy(true).reshape(shape[0], -1).max(axis=1) == 0
    error = report.pop("heatmap_mse")
    means = {name: _mean(values[~empty]) for name, values in report.items()}
    return {
        "richhf_heatmap": _mean(error),
        "mse_all": _mean(error),
        "mse_empty": _mean(error[empty]),
        **means,
        "n": len(error),
        "n_empty": int(empty.sum()),
    }


def _mean(values):
    """Mean of the values that are defined, as float; NaN without any."""
    values = values[values == values]
    return float(values.mean()) if values.size else float("nan")
