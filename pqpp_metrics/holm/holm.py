"""Evaluate module `pqpp/holm`: Holm's correction of a table of p-values."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import holm


class Holm(evaluate_module.Metric):
    """Smallest adjusted p-value, with the adjusted p-value of every test."""

    def _info(self):
        return evaluate_module.info(holm, evaluate_module.P_VALUES, citations.HOLM)

    def _compute(self, p_values, alpha=0.05):
        return evaluate_module.plain(holm(p_values, alpha=alpha))
