"""Evaluate module `pqpp/fleiss_kappa`: agreement of several raters."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import fleiss_kappa


class FleissKappa(evaluate_module.Metric):
    """Fleiss' kappa."""

    def _info(self):
        return evaluate_module.info(fleiss_kappa, evaluate_module.RATINGS, citations.FLEISS)

    def _compute(self, ratings, single_class="one"):
        return {"fleiss_kappa": fleiss_kappa(ratings, single_class=single_class)}
