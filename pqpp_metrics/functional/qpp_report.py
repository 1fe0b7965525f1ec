"""All measures of a performance predictor at once."""

from pqpp_metrics.functional.correlation import kendall_qpp, pearson_qpp, spearman_qpp
from pqpp_metrics.functional.prediction_error import rmse_qpp, smare

_MEASURES = (pearson_qpp, spearman_qpp, kendall_qpp, smare, rmse_qpp)


def qpp_report(predictions, references, confidence=0.95):
    """Pearson, Spearman, Kendall, sMARE and RMSE of a predictor, with intervals and p-values.

    PQPP, section 3.3, reports Pearson and Kendall; the others are those of the QPP literature.

    Args:
        predictions: Predicted performance, shape (n,), any finite numbers.
        references: True performance, shape (n,).
        confidence: Level of the intervals, between 0 and 1.

    Returns:
        dict of "pearson_qpp", "spearman_qpp", "kendall_qpp", "smare" and "rmse_qpp", each the
        dict that the function of this name returns, without sMARE's scores of single queries.

    Raises:
        MetricInputError: as `pearson_qpp`.

    Example:
        >>> report = qpp_report([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> [round(result[name], 3) for name, result in report.items()]
        [0.9, 0.9, 0.8, 0.08, 0.632]
    """
    report = {}
    for measure in _MEASURES:
        result = measure(predictions, references, confidence=confidence)
        result.pop("scores", None)
        report[measure.__name__] = result
    return report
