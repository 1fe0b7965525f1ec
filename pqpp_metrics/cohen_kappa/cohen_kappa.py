"""Evaluate module `pqpp/cohen_kappa`: agreement of two raters."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import cohen_kappa


class CohenKappa(evaluate_module.Metric):
    """Cohen's kappa."""

    def _info(self):
        return evaluate_module.info(cohen_kappa, evaluate_module.CATEGORIES, citations.COHEN)

    def _compute(self, predictions, references, weights=None, single_class="one"):
        kappa = cohen_kappa(predictions, references, weights=weights, single_class=single_class)
        return {"cohen_kappa": kappa}
