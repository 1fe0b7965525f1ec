"""Evaluate module `pqpp/mann_whitney`: whether one group of queries is harder than another."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import mann_whitney


class MannWhitney(evaluate_module.Metric):
    """Mann-Whitney U and relative improvement of each comparison; the main value is the mean U."""

    item = "comparison"
    takes_groups = True

    def _info(self):
        return evaluate_module.info(mann_whitney, evaluate_module.TWO_GROUPS, citations.CONQA)

    def _compute(self, x, y, alternative="less"):
        rows = [mann_whitney(*row, alternative=alternative) for row in zip(x, y, strict=True)]
        return evaluate_module.per_row("mann_whitney", rows)
