"""Saliency metrics: how well a predicted map matches where people looked or marked.

Bylinskii, Judd, Oliva, Torralba and Durand, "What do different evaluation metrics tell us about
saliency models?", IEEE TPAMI 2018, define them; public codes differ in details. `convention`
names the code whose details are followed:

- "pysaliency" (default): the maintained code of the MIT/Tuebingen benchmark. Population standard
  deviation, no regularisation, repeated fixations count each time. The default, because it adds
  no constant that moves the value, and because its ROC curve is right when predictions tie.
- "matlab": the MIT benchmark's first code (cvzoya/saliency). Sample standard deviation, a
  machine epsilon in KLD, maps stretched to [0, 1] before SIM.
- "unisal": the code of UNISAL. As "pysaliency", with the epsilon of "matlab" in KLD and ROC
  points rounded to four digits.
- "richhf": the code of the first author of RichHF. Sample standard deviation, 1e-8 added to
  every divisor, false positives counted one too high in the ROC curve.

No convention adds jitter. In all of them a map without any fixation or mass in the reference has
no value: NaN. Predictions are maps of any finite numbers, shape (..., height, width); references
have the same shape and are never negative; the result has shape (...).
"""

from pqpp_metrics.functional._inputs import require_choice, require_finite
from pqpp_metrics.functional._maps import (
    CONVENTIONS,
    as_map,
    as_values,
    checked_truth,
    map_inputs,
    on_each_map,
)
from pqpp_metrics.functional._roc import auc_of_map
from pqpp_metrics.functional._saliency import cc_of, kld_of, mse_of, nss_of, sim_of


def nss(predictions, references, convention="pysaliency"):
    """Normalized Scanpath Saliency: mean standardised prediction at the fixated pixels.

    Bylinskii et al. 2018, section 4.1.2.

    Args:
        references: Number of fixations on each pixel; see `fixations.fixation_map`.
        convention: See `saliency`; all but "pysaliency" take repeated fixations on a pixel as one.

    Returns:
        float64, shape (...): 0 is chance, positive better. NaN for a map without fixations. A
        constant prediction gives 0 in "pysaliency" and "richhf", NaN in the others.

    Example:
        >>> float(nss([[0.0, 1.0], [2.0, 3.0]], [[0, 0, ], [0, 1]]).round(4))
        1.3416
    """
    return _of_each(nss_of, predictions, references, convention, counts=True)


def cc(predictions, references, convention="pysaliency"):
    """Correlation coefficient: Pearson's r of the pixels of two maps.

    Bylinskii et al. 2018, section 4.2.2.

    Args:
        convention: See `saliency`; only "richhf" differs, by 1e-8 in the divisor.

    Returns:
        float64, shape (...), each in [-1, 1]. NaN where the reference is constant (empty ones
        are). A constant prediction gives 0 in "pysaliency" and "richhf", NaN in the others.

    Example:
        >>> float(cc([[0.0, 1.0], [2.0, 3.0]], [[0.0, 2.0], [4.0, 6.0]]).round(6))
        1.0
    """
    return _of_each(cc_of, predictions, references, convention)


def kld(predictions, references, convention="pysaliency"):
    """Kullback-Leibler divergence of the predicted from the true density.

    Bylinskii et al. 2018, section 4.2.3: sum of q log(q / p), p and q the maps scaled to sum 1.

    Args:
        predictions: Never negative ("pysaliency" moves a map up until its lowest value is 0).
        convention: See `saliency`: "pysaliency" adds 1e-20 to every pixel, the others an epsilon
            to the divisor and inside the logarithm.

    Returns:
        float64 in nats, shape (...): 0 is best, no upper bound. NaN for an empty reference, and
        for an all-zero prediction in "matlab" and "unisal" (in "pysaliency" it is uniform).

    Example:
        >>> float(kld([[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]).round(4))
        0.6931
    """
    return _of_each(kld_of, predictions, references, convention)


def sim(predictions, references, convention="pysaliency"):
    """Similarity: the mass that two densities share, the sum of their pixelwise minimum.

    Bylinskii et al. 2018, section 4.2.1.

    Args:
        predictions: Never negative ("pysaliency" moves a map up until its lowest value is 0).
        convention: See `saliency`: "matlab" first stretches both maps to [0, 1], "richhf" adds
            1e-8 to the sums.

    Returns:
        float64, shape (...), each in [0, 1]. NaN for an empty reference, and for an all-zero
        (in "matlab" constant) prediction, which in "pysaliency" is uniform and in "richhf" 0.

    Example:
        >>> float(sim([[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]))
        0.5
    """
    return _of_each(sim_of, predictions, references, convention)


def auc_judd(predictions, references, convention="pysaliency"):
    """AUC-Judd: area under the ROC curve of the prediction as a detector of fixated pixels.

    Bylinskii et al. 2018, section 4.1.1. The thresholds are the predictions at the fixated
    pixels; a point of the curve is the share of fixated, and of other, pixels at or above one.
    Between the points the curve is a straight line. There is no jitter: in "pysaliency" and
    "unisal" pixels with equal predictions pass a threshold together; the codes behind "matlab"
    and "richhf" let them pass one by one in an arbitrary order, which is too low where
    predictions tie.

    Args:
        references: Fixation counts or a true map; a pixel above 0 is fixated.
        convention: See `saliency`. A value outside [0, 1], which the loops of "matlab" and "richhf"
            can give under many ties, is a bug: the value of "pysaliency" is returned then.

    Returns:
        float64, shape (...), each in [0, 1], .5 is chance. NaN for a map without fixated or
        without other pixels.

    Example:
        >>> float(auc_judd([[0.1, 0.4], [0.3, 0.9]], [[0, 0], [1, 1]]))
        0.875
    """
    require_choice("convention", convention, CONVENTIONS)
    xp, predictions, references, shape = map_inputs(predictions, references)
    values = []
    for i in range(predictions.shape[0]):
        prediction = as_map(xp, predictions[i, ...])
        require_finite("predictions", prediction)
        fixated = checked_truth(xp, "references", references[i, ...])[0] > 0
        flat = xp.reshape(prediction, (-1,)), xp.reshape(fixated, (-1,))
        values.append(auc_of_map(xp, *flat, convention))
    return as_values(xp, values, predictions, shape)


def heatmap_mse(predictions, references):
    """Mean squared error over the pixels of each map.

    RichHF (Liang et al., CVPR 2024), section 5.1. Defined for empty references too.

    Returns:
        float64, shape (...), 0 is best.

    Example:
        >>> float(heatmap_mse([[0.5, 0.0]], [[1.0, 0.0]]))
        0.125
    """
    return _of_each(mse_of, predictions, references, "pysaliency")


def _of_each(function, predictions, references, convention, counts=False):
    require_choice("convention", convention, CONVENTIONS)
    return on_each_map(lambda maps: function(maps, convention), predictions, references, counts)
