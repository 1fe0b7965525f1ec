"""Saliency metrics: how well a map predicts the places that people looked at or marked.

Bylinskii, Judd, Oliva, Torralba and Durand, "What do different evaluation metrics tell us about
saliency models?", IEEE TPAMI 2018, define them; published implementations differ in details.
`convention` names the implementation whose values are returned:

- "tuebingen" (default): the current MIT/Tuebingen benchmark, whose results papers report. It uses
  pysaliency: the population standard deviation; each repetition of a fixation counts; a prediction
  with negative values is shifted to a minimum of 0, and a prediction without mass is replaced by a
  uniform one. In KLD it adds 2.2204e-16 to the divisor and inside the logarithm. Its column "AUC"
  is not AUC-Judd.
- "pysaliency": pysaliency 0.2.22 with the defaults of its functions: as "tuebingen", except for
  KLD, in which it adds 1e-20 to every pixel of both maps.
- "mit": the MIT benchmark's first code, in Matlab (cvzoya/saliency). Sample standard deviation,
  Matlab's eps (2**-52) in KLD, maps stretched to [0, 1] before SIM.
- "unisal": the code of UNISAL. As "tuebingen" in KLD, but repeated fixations count once, and
  points of the ROC curve are rounded to four digits.
- "richhf": the code of the first author of RichHF, which gave the paper's results. Sample standard
  deviation, 1e-8 added to every divisor, false positives counted one too high in the ROC curve.

No convention adds jitter (random noise against ties). If the reference has no fixation or mass, the
result is NaN. Predictions are maps of any finite numbers, shape (..., height, width); references
have the same shape and are never negative; the result has shape (...).
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs, _maps, _saliency
from pqpp_metrics.functional._containers import Array, Floats, Values, mean_without_nan


def nss(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return Normalized Scanpath Saliency: the mean standardised prediction at the fixated pixels.

    Bylinskii et al. 2018, section 4.1.2.

    Args:
        references: Number of fixations on each pixel; see `fixation_map`. Fractions in most pixels,
            as in a continuous map, are an error in all metrics of fixations.
        convention: See `saliency`; "tuebingen" and "pysaliency" count every fixation on a pixel,
            the others count a fixated pixel once.

    Returns:
        float64, shape (...): 0 is chance, and higher is better. NaN for a map without fixations. A
        constant prediction gives NaN in "mit" and "unisal", 0 in the others.

    Example:
        >>> float(nss([[0.0, 1.0], [2.0, 3.0]], [[0, 0, ], [0, 1]]).round(4))
        1.3416
    """
    return _apply_metric(_saliency.compute_nss, predictions, references, convention, counts=True)


def cc(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return the correlation coefficient: Pearson's r of the pixels of two maps.

    Bylinskii et al. 2018, section 4.2.2.

    Args:
        convention: See `saliency`; only "richhf" differs, by 1e-8 in the divisor.

    Returns:
        float64, shape (...), each in [-1, 1]. NaN if the reference is constant or empty. A constant
        prediction gives NaN in "mit" and "unisal", 0 in the others.

    Example:
        >>> float(cc([[0.0, 1.0], [2.0, 3.0]], [[0.0, 2.0], [4.0, 6.0]]).round(6))
        1.0
    """
    return _apply_metric(_saliency.compute_cc, predictions, references, convention)


def kld(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return the Kullback-Leibler divergence of the predicted from the true density.

    Bylinskii et al. 2018, section 4.2.3: sum of q log(q / p), p and q the maps scaled to sum 1.

    Args:
        predictions: Must not be negative, except in "tuebingen" and "pysaliency", which shift a
            negative map so that its lowest value is 0.
        convention: See `saliency`. If a prediction is 0 where the truth is not, the convention's
            constant e determines the value: 2.2e-16 in "tuebingen", "mit" and "unisal", 1e-8 in
            "richhf", in the formula sum of q log(e + q / (p + e)). "pysaliency" adds 1e-20 to both
            maps, which makes such a value even larger.

    Returns:
        float64 in nats, shape (...): 0 is best, no upper bound. NaN for an empty reference, and
        for an all-zero prediction in "unisal" (in "tuebingen" and "pysaliency" it is uniform).

    Example:
        >>> float(kld([[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]).round(4))
        0.6931
    """
    return _apply_metric(_saliency.compute_kld, predictions, references, convention)


def sim(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return similarity: the mass that two densities share, the sum of their pixelwise minima.

    Bylinskii et al. 2018, section 4.2.1.

    Args:
        predictions: Must not be negative, except in "tuebingen" and "pysaliency", which shift a
            negative map so that its lowest value is 0, and in "mit", which stretches any map to [0,
            1].
        convention: See `saliency`: "mit" first stretches both maps to [0, 1], "richhf" adds
            1e-8 to the sums.

    Returns:
        float64, shape (...), each in [0, 1]. NaN for an empty reference, for an all-zero prediction
        in "unisal", and for other constant maps in "mit". For an all-zero prediction, it is 0 in
        "mit" and "richhf", and the value of a uniform prediction in "tuebingen" and "pysaliency".

    Example:
        >>> float(sim([[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]))
        0.5
    """
    return _apply_metric(_saliency.compute_sim, predictions, references, convention)


def auc_judd(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return AUC-Judd: the area under the ROC curve of the prediction as a detector of fixations.

    Bylinskii et al. 2018, section 4.1.1. The thresholds are the predictions at the fixated pixels;
    a point of the curve is the share of fixations, and of pixels without a fixation, at or above a
    threshold. The curve is linear between points. There is no jitter: in "tuebingen", "pysaliency"
    and "unisal" pixels with equal predictions pass a threshold together; the implementations "mit"
    and "richhf" let them pass one by one in an arbitrary order, so that the area is too small if
    predictions tie.

    Args:
        references: Number of fixations on each pixel; a fraction is a weight. For a true map, pass
            `references > 0`.
        convention: See `saliency`; "tuebingen" and "pysaliency" count every fixation on a pixel,
            the others count a fixated pixel once. With many ties, the implementations "mit" and
            "richhf" can give a value outside [0, 1], which is a bug; then the area of "pysaliency"
            is returned, with each pixel counted once.

    Returns:
        float64, shape (...), each in [0, 1]; .5 is chance. NaN for a map in which no pixel or every
        pixel is fixated.

    Example:
        >>> float(auc_judd([[0.1, 0.4], [0.3, 0.9]], [[0, 0], [1, 1]]))
        0.875
    """
    return _apply_metric(_saliency.compute_auc, predictions, references, convention, counts=True)


def heatmap_mse(predictions: Values, references: Values) -> Array:
    """Return the mean squared error over the pixels of each map.

    RichHF (Liang et al., CVPR 2024), section 5.1. Defined for empty references too.

    Returns:
        float64, shape (...), 0 is best.

    Example:
        >>> float(heatmap_mse([[0.5, 0.0]], [[1.0, 0.0]]))
        0.125
    """
    return _apply_metric(_saliency.compute_mse, predictions, references, "tuebingen")


def fixation_map(points: Values, height: int, width: int) -> Floats:
    """Count fixations on the pixels of a map.

    Args:
        points: Fixated pixels as [row, column], shape (points, 2), whole numbers; may be empty.

    Returns:
        numpy float64 array (height, width) of counts.

    Raises:
        MetricInputError: a point outside the map, or not a pair of integers.

    Example:
        >>> fixation_map([[0, 1], [0, 1]], height=1, width=3).tolist()
        [[0.0, 2.0, 0.0]]
    """
    height, width = _inputs.require_size(height, width)
    points = _inputs.as_points("points", points, height, width)
    if (points % 1).any():
        raise MetricInputError("`points` contains fractions; use pairs of integers")
    flat = np.bincount((points @ [width, 1]).astype(np.int64), minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)


def _apply_metric(metric, predictions, references, convention, counts=False):
    """Compute a metric of two maps and a convention for every pair of maps, on their device."""
    _inputs.require_choice("convention", convention, _maps.CONVENTIONS)
    xp, predictions, references, shape = _maps.convert_maps(predictions, references)
    # An overflow ends in a typed error, so numpy need not warn.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = [
            metric(
                *_maps.pair_maps(xp, predictions[i, ...], references[i, ...], counts), convention
            )
            for i in range(predictions.shape[0])
        ]
    device = array_api_compat.device(predictions)
    return xp.reshape(xp.asarray(values, dtype=xp.float64, device=device), shape)[()]


def richhf_heatmap(
    predictions: Values, references: Values, convention: str = "tuebingen"
) -> dict[str, Any]:
    """Compute RichHF's heatmap metrics: MSE on all images and on empty truths, others on the rest.

    Liang et al., "Rich Human Feedback for Text-to-Image Generation", CVPR 2024, section 5.1:
    saliency metrics are undefined for an image without a marked region. For NSS and AUC-Judd, a
    pixel counts as fixated if the true heatmap is above 0.

    Args:
        predictions: Predicted heatmaps, shape (images, height, width); in [0, 1] if results are to
            be compared with the paper's.
        references: True heatmaps, same shape and scale, never negative.
        convention: See `saliency`. The paper's results come from its authors' code, "richhf"; it
            differs from the default in the sixth digit of CC, SIM and NSS, in KLD if a prediction
            is almost 0, and in AUC-Judd if many predictions tie.

    Returns:
        dict: "richhf_heatmap" and "mse_all" (the same: mean over all images of the MSE),
        "mse_empty" (mean over images with empty truth), "cc", "kld", "sim", "nss", "auc_judd"
        (means over the other images), "n" and "n_empty", the numbers of all images and of those
        with empty truth. A mean over no image is NaN; images on which a metric is undefined (for
        AUC-Judd, if all pixels are marked) are left out of its mean.

    Example:
        >>> truth = [[[0.0, 1.0]], [[0.0, 0.0]]]
        >>> result = richhf_heatmap([[[0.1, 0.9]], [[0.0, 0.2]]], truth)
        >>> round(result["mse_all"], 4), round(result["mse_empty"], 4), result["n_empty"]
        (0.015, 0.02, 1)
    """
    _, predicted, true, shape = _maps.convert_maps(predictions, references)
    if len(shape) != 1:
        maps = predicted.reshape((*shape, *predicted.shape[1:]))
        raise _inputs.shape_error("predictions", maps, "must have shape (images, height, width)")
    truths = dict.fromkeys((nss, auc_judd), true > 0) | dict.fromkeys((cc, kld, sim), true)
    report = {
        metric.__name__: _inputs.to_numpy(metric(predicted, truth, convention))
        for metric, truth in truths.items()
    }
    empty = _inputs.to_numpy(true).reshape(shape[0], -1).max(axis=1) == 0
    error = _inputs.to_numpy(heatmap_mse(predicted, true))
    errors = {"richhf_heatmap": error, "mse_all": error, "mse_empty": error[empty]}
    others = {name: values[~empty] for name, values in report.items()}
    means = {name: mean_without_nan(values) for name, values in (errors | others).items()}
    return means | {"n": len(error), "n_empty": int(empty.sum())}
