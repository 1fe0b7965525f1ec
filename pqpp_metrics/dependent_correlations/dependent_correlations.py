"""Evaluate module `pqpp/dependent_correlations`: whether two predictors correlate differently."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import dependent_correlations


class DependentCorrelations(evaluate_module.Metric):
    """Difference of two correlations with the same references, with Williams' or Steiger's test."""

    def _info(self):
        return evaluate_module.info(
            dependent_correlations, evaluate_module.TWO_PREDICTORS, citations.STEIGER
        )

    def _compute(
        self, predictions, other_predictions, references, test="williams", correlation="pearson"
    ):
        return dependent_correlations(
            predictions, other_predictions, references, test=test, correlation=correlation
        )
