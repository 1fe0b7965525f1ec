"""Evaluate module `pqpp/krippendorff_alpha`: agreement of raters with missing ratings."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import krippendorff_alpha


class KrippendorffAlpha(evaluate_module.Metric):
    """Krippendorff's alpha."""

    def _info(self):
        return evaluate_module.info(
            krippendorff_alpha, evaluate_module.NUMERIC_RATINGS, citations.KRIPPENDORFF
        )

    def _compute(self, ratings, level="nominal", single_class="one"):
        alpha = krippendorff_alpha(ratings, level=level, single_class=single_class)
        return {"krippendorff_alpha": alpha}
