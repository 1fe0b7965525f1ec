"""Evaluate module `pqpp/paired_permutation`: permutation test of two predictors."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import paired_permutation


class PairedPermutation(evaluate_module.Metric):
    """Difference of two predictors on the same queries, with a permutation p-value."""

    def _info(self):
        return evaluate_module.info(
            paired_permutation, evaluate_module.TWO_PREDICTORS, citations.PERMUTATION
        )

    def _compute(
        self,
        predictions,
        other_predictions,
        references,
        statistic="kendall",
        permutations=10_000,
        seed=0,
    ):
        return paired_permutation(
            predictions,
            other_predictions,
            references,
            statistic=statistic,
            permutations=permutations,
            seed=seed,
        )
