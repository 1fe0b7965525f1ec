"""Saliency metrics: how well a predicted map matches where people looked or marked.

Bylinskii, Judd, Oliva, Torralba and Durand, "What do different evaluation metrics tell us about
saliency models?", IEEE TPAMI 2018, define them; public codes differ in details. `convention`
names the code whose values are given:

- "tuebingen" (default): the MIT/Tuebingen benchmark of today, whose figures papers report. It
  computes by pysaliency: population standard deviation, repeated fixations count each time, a
  prediction with negative values moved up, one without mass taken as uniform. In KLD it adds
  2.2204e-16 to the divisor and inside the logarithm. Its column "AUC" is not AUC-Judd: see `sauc`.
- "pysaliency": pysaliency 0.2.22 with the defaults of its functions: as "tuebingen", but for KLD,
  where it adds 1e-20 to every pixel of both maps.
- "mit": the MIT benchmark's first code, in Matlab (cvzoya/saliency). Sample standard deviation,
  Matlab's eps (2**-52) in KLD, maps stretched to [0, 1] before SIM.
- "unisal": the code of UNISAL. As "tuebingen" in KLD, but repeated fixations count once, and
  points of the ROC curve are rounded to four digits.
- "richhf": the code of the first author of RichHF, which gave the paper's figures. Sample standard
  deviation, 1e-8 added to every divisor, false positives counted one too high in the ROC curve.

No convention adds jitter. In all of them a map without any fixation or mass in the reference has
no value: NaN. Predictions are maps of any finite numbers, shape (..., height, width); references
have the same shape and are never negative; the result has shape (...).
"""

from __future__ import annotations

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import (
    require_choice,
    require_finite,
    require_same_shape,
    same_library,
)
from pqpp_metrics.functional._maps import (
    CONVENTIONS,
    as_map,
    as_values,
    checked_truth,
    listed_maps,
    map_inputs,
    on_each_map,
)
from pqpp_metrics.functional._roc import auc_against, auc_of_map
from pqpp_metrics.functional._saliency import cc_of, kld_of, mse_of, nss_of, sim_of
from pqpp_metrics.functional._shuffled import fixated, fixations_elsewhere
from pqpp_metrics.functional._types import Array, Values


def nss(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Normalized Scanpath Saliency: mean standardised prediction at the fixated pixels.

    Bylinskii et al. 2018, section 4.1.2.

    Args:
        references: Number of fixations on each pixel; see `fixations.fixation_map`.
        convention: See `saliency`; "tuebingen" and "pysaliency" count repeated fixations on a
            pixel each time, the others once.

    Returns:
        float64, shape (...): 0 is chance, positive better. NaN for a map without fixations. A
        constant prediction gives NaN in "mit" and "unisal", 0 in the others.

    Example:
        >>> float(nss([[0.0, 1.0], [2.0, 3.0]], [[0, 0, ], [0, 1]]).round(4))
        1.3416
    """
    return _of_each(nss_of, predictions, references, convention, counts=True)


def cc(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Correlation coefficient: Pearson's r of the pixels of two maps.

    Bylinskii et al. 2018, section 4.2.2.

    Args:
        convention: See `saliency`; only "richhf" differs, by 1e-8 in the divisor.

    Returns:
        float64, shape (...), each in [-1, 1]. NaN where the reference is constant (empty ones
        are). A constant prediction gives NaN in "mit" and "unisal", 0 in the others.

    Example:
        >>> float(cc([[0.0, 1.0], [2.0, 3.0]], [[0.0, 2.0], [4.0, 6.0]]).round(6))
        1.0
    """
    return _of_each(cc_of, predictions, references, convention)


def kld(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Kullback-Leibler divergence of the predicted from the true density.

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
    return _of_each(kld_of, predictions, references, convention)


def sim(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """Similarity: the mass that two densities share, the sum of their pixelwise minimum.

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
    return _of_each(sim_of, predictions, references, convention)


def auc_judd(predictions: Values, references: Values, convention: str = "tuebingen") -> Array:
    """AUC-Judd: area under the ROC curve of the prediction as a detector of fixated pixels.

    Bylinskii et al. 2018, section 4.1.1. The thresholds are the predictions at the fixated
    pixels; a point of the curve is the share of fixations, and of pixels without one, at or above
    a threshold. Between the points the curve is a straight line. There is no jitter: in
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
    require_choice("convention", convention, CONVENTIONS)
    xp, predicted, true, shape = map_inputs(predictions, references)
    values = []
    for i in range(predicted.shape[0]):
        prediction = as_map(xp, predicted[i, ...])
        require_finite("predictions", prediction)
        truth = checked_truth(xp, "references", true[i, ...])[0]
        flat = xp.reshape(prediction, (-1,)), xp.reshape(truth, (-1,))
        values.append(auc_of_map(xp, *flat, convention))
    return as_values(xp, values, predicted, shape)


def sauc(predictions: Values, references: Values, nonfixations: Values | None = None) -> Array:
    """Shuffled AUC: chance that a fixation has a higher prediction than one of other images.

    The MIT/Tuebingen benchmark's and pysaliency's: where people look anyhow, like the centre, says
    nothing, because the pixels that fixated ones are compared with have the same bias. Fixations
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
    maps, truths = listed_maps("predictions", predictions), listed_maps("references", references)
    others = None if nonfixations is None else listed_maps("nonfixations", nonfixations)
    if others is None and len(maps) == 1:
        raise MetricInputError(
            "`references` holds one map, and the non-fixations are those of the others; "
            "give several, or `nonfixations`"
        )
    others = others * len(maps) if others is not None and len(others) == 1 else others
    xp, _ = same_library(predictions=maps[0], references=truths[0])
    hits = _fixations(xp, "references", truths, maps)
    if others is None:
        misses = fixations_elsewhere(xp, hits, [one.shape for one in maps])
    else:
        misses = _fixations(xp, "nonfixations", others, maps)
    values = []
    for prediction, (at, often), (away, times) in zip(maps, hits, misses, strict=True):
        prediction = as_map(xp, prediction)
        require_finite("predictions", prediction)
        flat = xp.reshape(prediction, (-1,))
        values.append(auc_against(xp, xp.take(flat, at), often, xp.take(flat, away), times))
    return as_values(xp, values, maps[0], (len(values),))


def heatmap_mse(predictions: Values, references: Values) -> Array:
    """Mean squared error over the pixels of each map.

    RichHF (Liang et al., CVPR 2024), section 5.1. Defined for empty references too.

    Returns:
        float64, shape (...), 0 is best.

    Example:
        >>> float(heatmap_mse([[0.5, 0.0]], [[1.0, 0.0]]))
        0.125
    """
    return _of_each(mse_of, predictions, references, "tuebingen")


def _fixations(xp, name, counts, maps):
    """Where each of some maps of counts is fixated and how often; one for each predicted map."""
    if len(counts) != len(maps):
        raise MetricInputError(
            f"{len(maps)} `predictions` and {len(counts)} `{name}` were given; give as many of each"
        )
    found = []
    for prediction, one in zip(maps, counts, strict=True):
        same_library(**{"predictions": prediction, name: one})
        require_same_shape(**{"predictions": prediction, name: one})
        found.append(fixated(xp, checked_truth(xp, name, as_map(xp, one))[0]))
    return found


def _of_each(function, predictions, references, convention, counts=False):
    require_choice("convention", convention, CONVENTIONS)
    return on_each_map(lambda maps: function(maps, convention), predictions, references, counts)
