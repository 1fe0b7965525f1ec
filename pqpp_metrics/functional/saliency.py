"""Saliency metrics: how well a predicted map matches where people looked or marked.

Bylinskii, Judd, Oliva, Torralba and Durand, "What do different evaluation metrics tell us about
saliency models?", IEEE TPAMI 2018, define them; public codes differ in details. `convention`
names the code whose values are given:

- "tuebingen" (default): the current MIT/Tuebingen benchmark, whose figures papers report. It uses
  pysaliency: population standard deviation; repeated fixations count each time; a prediction with
  negative values is moved up, one without mass is uniform. In KLD it adds
  2.2204e-16 to the divisor and inside the logarithm. Its column "AUC" is not AUC-Judd: see `sauc`.
- "pysaliency": pysaliency 0.2.22 with the defaults of its functions: as "tuebingen", but for KLD,
  where it adds 1e-20 to every pixel of both maps.
- "mit": the MIT benchmark's first code, in Matlab (cvzoya/saliency). Sample standard deviation,
  Matlab's eps (2**-52) in KLD, maps stretched to [0, 1] before SIM.
- "unisal": the code of UNISAL. As "tuebingen" in KLD, but repeated fixations count once, and
  points of the ROC curve are rounded to four digits.
- "richhf": the code of the first author of RichHF, which gave the paper's figures. Sample standard
  deviation, 1e-8 added to every divisor, false positives counted one too high in the ROC curve.

No convention adds jitter. If the reference has no fixation or mass, the result is NaN. Predictions
are maps of any finite numbers, shape (..., height, width); references have the same shape and are
never negative; the result has shape (...).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs, _maps, _saliency
from pqpp_metrics.functional._containers import Array, Floats, Values, mean_of_defined


def nss(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return Normalized Scanpath Saliency: the mean standardised prediction at the fixated pixels.

    Bylinskii et al. 2018, section 4.1.2.

    Args:
        references: Number of fixations on each pixel; see `fixation_map`. Fractions in most pixels,
            as in a continuous map, are an error in all metrics of fixations.
        convention: See `saliency`; "tuebingen" and "pysaliency" count repeated fixations on a
            pixel each time, the others once.

    Returns:
        float64, shape (...): 0 is chance, positive better. NaN for a map without fixations. A
        constant prediction gives NaN in "mit" and "unisal", 0 in the others.

    Example:
        >>> float(nss([[0.0, 1.0], [2.0, 3.0]], [[0, 0, ], [0, 1]]).round(4))
        1.3416
    """
    return _of_each(_saliency.compute_nss, predictions, references, convention, counts=True)


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
    return _of_each(_saliency.compute_cc, predictions, references, convention)


def kld(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return the Kullback-Leibler divergence of the predicted from the true density.

    Bylinskii et al. 2018, section 4.2.3: sum of q log(q / p), p and q the maps scaled to sum 1.

    Args:
        predictions: Never negative; "tuebingen" and "pysaliency" move a map up until its lowest
            value is 0.
        convention: See `saliency`. Where a prediction is 0 and the truth is not, it decides the
            value: 2.2e-16 in "tuebingen", "mit" and "unisal", 1e-20 in "pysaliency", which is
            nearly twice as much, 1e-8 in "richhf". Their formula is
            sum of q log(e + q / (p + e)), but for "pysaliency".

    Returns:
        float64 in nats, shape (...): 0 is best, no upper bound. NaN for an empty reference, and
        for an all-zero prediction in "unisal" (in "tuebingen" and "pysaliency" it is uniform).

    Example:
        >>> float(kld([[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]).round(4))
        0.6931
    """
    return _of_each(_saliency.compute_kld, predictions, references, convention)


def sim(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return similarity: the mass that two densities share, the sum of their pixelwise minimum.

    Bylinskii et al. 2018, section 4.2.1.

    Args:
        predictions: Never negative; "tuebingen" and "pysaliency" move a map up until its lowest
            value is 0, "mit" stretches it to [0, 1] whatever it holds.
        convention: See `saliency`: "mit" first stretches both maps to [0, 1], "richhf" adds
            1e-8 to the sums.

    Returns:
        float64, shape (...), each in [0, 1]. NaN for an empty reference, for an all-zero
        prediction in "unisal" (elsewhere it is uniform, or 0 in "mit" and "richhf"), and for any
        other constant in "mit".

    Example:
        >>> float(sim([[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]))
        0.5
    """
    return _of_each(_saliency.compute_sim, predictions, references, convention)


def auc_judd(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Return AUC-Judd: the area under the ROC curve of the prediction as a detector of fixations.

    Bylinskii et al. 2018, section 4.1.1. The thresholds are the predictions at the fixated
    pixels; a point of the curve is the share of fixations, and of pixels without one, at or above
    a threshold. The curve is linear between points. There is no jitter: in
    "tuebingen", "pysaliency" and "unisal" pixels with equal predictions pass a threshold together;
    the codes behind "mit" and "richhf" let them pass one by one in an arbitrary order, which is too
    low where predictions tie.

    Args:
        references: Number of fixations on each pixel; a fraction is a weight. For a true map give
            `references > 0`.
        convention: See `saliency`; "tuebingen" and "pysaliency" count repeated fixations on a
            pixel each time, in the others a pixel above 0 is fixated once. A value outside [0, 1],
            which the loops of "mit" and "richhf" can give under many ties, is a bug: the area of
            "pysaliency" is returned then, each pixel counted once.

    Returns:
        float64, shape (...), each in [0, 1], .5 is chance. NaN for a map without fixated or
        without other pixels.

    Example:
        >>> float(auc_judd([[0.1, 0.4], [0.3, 0.9]], [[0, 0], [1, 1]]))
        0.875
    """
    _inputs.require_choice("convention", convention, _maps.CONVENTIONS)
    of_map = functools.partial(_saliency.auc_of_map, convention=convention)
    return _maps.of_each_map(of_map, predictions, references)


def sauc(predictions: Values, references: Values, nonfixations: Values | None = None) -> Array:
    """Return shuffled AUC: the chance that a fixation has a higher prediction than one elsewhere.

    As in the MIT/Tuebingen benchmark and pysaliency. Biases such as that to the centre cancel,
    because fixations of other images, with the same bias, are the comparison. Fixations
    and non-fixations count each time; equal predictions count half. There is one convention.

    Args:
        predictions: Shape (images, height, width), or a list of maps, which may differ in size.
        references: Number of fixations on each pixel, same shapes; a fraction is a weight.
        nonfixations: Number of non-fixations on each pixel, same shapes: another data set's, or
            the density of a centre bias; one map in a list stands for all. None (default): the
            fixations of all other images, their coordinates scaled to the size of the map. Maps of
            ones give the benchmark's column "AUC", whose non-fixations are uniform.

    Returns:
        float64, shape (images,), each in [0, 1], .5 is chance. NaN for a map without fixations or
        non-fixations. The benchmark averages over images.

    Raises:
        MetricInputError: shapes that differ, one image alone without `nonfixations`, NaN or
            infinite values, negative counts.

    Example:
        >>> maps, fixations = [[[0.1, 0.9]], [[0.2, 0.4]]], [[[0, 2]], [[1, 1]]]
        >>> sauc(maps, fixations).tolist()
        [0.75, 0.25]
    """
    maps = _maps.listed_maps("predictions", predictions)
    truths = _maps.listed_maps("references", references)
    others = None if nonfixations is None else _maps.listed_maps("nonfixations", nonfixations)
    if others is None and len(maps) == 1:
        raise MetricInputError("`references` has one map; give several, or `nonfixations`")
    xp = _inputs.require_alike(same_shape=False, predictions=maps[0], references=truths[0])
    hits = _fixations(xp, "references", truths, maps)
    if others is None:
        misses = _fixations_elsewhere(xp, hits, [prediction.shape for prediction in maps])
    else:
        others = others * len(maps) if len(others) == 1 else others
        misses = _fixations(xp, "nonfixations", others, maps)
    values = []
    for prediction, (at, often), (away, times) in zip(maps, hits, misses, strict=True):
        pixels = _maps.map_pixels(xp, prediction)
        values.append(
            _saliency.auc_against(xp, xp.take(pixels, at), often, xp.take(pixels, away), times)
        )
    return _maps.as_values(xp, values, maps[0], (len(values),))


def _fixations(xp, name, counts, maps):
    """The fixated pixels of some maps of counts, as places in a row, and how often; of each map."""
    _inputs.require_as_many("as many of each", **{"predictions": maps, name: counts})
    fixations = []
    for prediction, count in zip(maps, counts, strict=True):
        _inputs.require_alike(**{"predictions": prediction, name: count})
        count, _ = _maps.check_truth(xp, name, _maps.as_map(xp, count), name == "references")
        flat = xp.reshape(count, (-1,))
        (places,) = xp.nonzero(flat != 0)
        fixations.append((places, xp.take(flat, places)))
    return fixations


def _fixations_elsewhere(xp, fixations, sizes):
    """For every image the fixations on all others: places on it, and how often.

    A coordinate is scaled by the quotient of the sizes, (height, width) of each image, and cut to a
    pixel, as in pysaliency.
    """
    parts = []
    for number, ((places, times), (height, width)) in enumerate(zip(fixations, sizes, strict=True)):
        row, column = (xp.astype(part, xp.float64) for part in (places // width, places % width))
        known = (xp.full_like(row, value) for value in (height, width, number))
        parts.append((row, column, *known, times))
    rows, columns, heights, widths, numbers, times = map(xp.concat, zip(*parts, strict=True))
    for number, (height, width) in enumerate(sizes):
        down = xp.astype(rows * (height / heights), xp.int64)
        across = xp.astype(columns * (width / widths), xp.int64)
        elsewhere = numbers != number
        yield (down * width + across)[elsewhere], times[elsewhere]


def heatmap_mse(predictions: Values, references: Values) -> Array:
    """Return the mean squared error over the pixels of each map.

    RichHF (Liang et al., CVPR 2024), section 5.1. Defined for empty references too.

    Returns:
        float64, shape (...), 0 is best.

    Example:
        >>> float(heatmap_mse([[0.5, 0.0]], [[1.0, 0.0]]))
        0.125
    """
    return _of_each(_saliency.compute_mse, predictions, references, "tuebingen")


def fixation_map(points: Values, height: int, width: int) -> Floats:
    """Count fixations on the pixels of a map.

    Args:
        points: Fixated pixels as [row, column], shape (points, 2), whole numbers; may be empty.
        height: In pixels.
        width: In pixels.

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
        raise MetricInputError("`points` holds fractions; a pixel is a pair of integers")
    flat = np.bincount((points @ [width, 1]).astype(np.int64), minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)


def _of_each(metric, predictions, references, convention, counts=False):
    """A metric of a `MapPair` and a convention, for every map."""
    _inputs.require_choice("convention", convention, _maps.CONVENTIONS)

    def of_map(xp, prediction, truth):
        return metric(_maps.map_pair(xp, prediction, truth, counts), convention)

    return _maps.of_each_map(of_map, predictions, references)


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
        convention: See `saliency`. The paper's figures come from
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
    _, predicted, true, shape = _maps.map_inputs(predictions, references)
    if len(shape) != 1:
        maps = predicted.reshape((*shape, *predicted.shape[1:]))
        raise _inputs.wrong_shape("predictions", maps, "give (images, height, width)")
    truths = dict.fromkeys((nss, auc_judd), true > 0) | dict.fromkeys((cc, kld, sim), true)
    report = {
        metric.__name__: _inputs.to_numpy(metric(predicted, truth, convention))
        for metric, truth in truths.items()
    }
    empty = _inputs.to_numpy(true).reshape(shape[0], -1).max(axis=1) == 0
    error = _inputs.to_numpy(heatmap_mse(predicted, true))
    errors = {"richhf_heatmap": error, "mse_all": error, "mse_empty": error[empty]}
    others = {name: values[~empty] for name, values in report.items()}
    means = {name: mean_of_defined(values) for name, values in (errors | others).items()}
    return means | {"n": len(error), "n_empty": int(empty.sum())}


def information_gain(
    predictions: Values, references: Values, baseline: Values | None = None
) -> Array:
    """Information gain: the mean of log2 of predicted over baseline density, over fixations.

    Kümmerer, Wallis and Bethge, "Information-theoretic model comparison unifies saliency metrics",
    PNAS 112, 2015; the column IG of the MIT/Tuebingen benchmark, whose baseline is a centre bias.
    Maps are scaled to sum 1.

    Args:
        predictions: Densities, shape (..., height, width), never negative and not all 0: of a model
            of log densities their exponentials.
        references: Number of fixations on each pixel, same shape; repeated ones count each time, a
            fraction is a weight.
        baseline: The density to be better than, of one shape with the predictions, or one map
            (height, width) for all; None (default): uniform.

    Returns:
        float64 in bits per fixation, shape (...): 0 for what knows no more than the baseline, not
        bounded. NaN for a map without fixations; -inf where people looked at a pixel that the
        prediction gives no chance, inf where only the baseline gives it none, NaN for both.

    Raises:
        MetricInputError: shapes that differ, values that are negative, NaN or infinite, a density
            without mass.

    Example:
        >>> float(information_gain([[1.0, 1.0], [2.0, 4.0]], [[0, 0], [0, 3]]))
        1.0
    """
    xp, predicted, true, shape = _maps.map_inputs(predictions, references)
    others = xp.ones_like(predicted[:1, ...])
    if baseline is not None:
        given = _inputs.as_array("baseline", baseline)
        like = predicted[0, ...] if given.ndim == 2 else predictions
        others = _maps.map_inputs(like, given, "baseline")[2]
    values = []
    for number in range(predicted.shape[0]):
        counts, _ = _maps.check_truth(xp, "references", true[number, ...], counts=True)
        counts = xp.reshape(_maps.as_map(xp, counts), (-1,))
        fixated = counts > 0
        counts = counts[fixated]
        other = others[number if others.shape[0] > 1 else 0, ...]
        model = _log_density(xp, "predictions", predicted[number, ...], fixated)
        with np.errstate(invalid="ignore"):
            gain = model - _log_density(xp, "baseline", other, fixated)
        total = float(xp.sum(counts))
        values.append(float(xp.sum(gain * counts)) / total if total else math.nan)
    return _maps.as_values(xp, values, predicted, shape)


def _log_density(xp, name, values, fixated):
    """log2 of a map's density at the fixated pixels."""
    values, total = _maps.check_truth(xp, name, _maps.as_map(xp, values))
    if not total:
        raise MetricInputError(f"`{name}` has a map of zeros; a density has mass somewhere")
    with np.errstate(divide="ignore"):
        return xp.log2(xp.reshape(values, (-1,))[fixated]) - math.log2(total)
