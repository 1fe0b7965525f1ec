"""Evaluate module `pqpp/paired_bootstrap`: bootstrap of the difference of two predictors."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import paired_bootstrap


class PairedBootstrap(evaluate_module.Metric):
    """Difference of two predictors on the same queries, with a bootstrap interval and p-value."""

    def _info(self):
        return evaluate_module.info(
            paired_bootstrap, evaluate_module.TWO_PREDICTORS, citations.BOOTSTRAP
        )

    def _compute(
        self,
        predictions,
        other_predictions,
        references,
        statistic="kendall",
        resamples=10_000,
        confidence=0.95,
        seed=0,
    ):
        return paired_bootstrap(
            predictions,
            other_predictions,
            references,
            statistic=statistic,
            resamples=resamples,
            confidence=confidence,
            seed=seed,
        )
