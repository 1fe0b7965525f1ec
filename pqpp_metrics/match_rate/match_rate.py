"""Evaluate module `pqpp/match_rate`: how often images match their prompts."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import match_rate


class MatchRate(evaluate_module.Metric):
    """Match rate over all and by group, with Wilson intervals."""

    def _info(self):
        return evaluate_module.info(match_rate, evaluate_module.MATCHES, citations.GIMBRR)

    def _compute(self, matches, groups, group_names=None, confidence=0.95):
        result = match_rate(matches, groups, group_names=group_names, confidence=confidence)
        return evaluate_module.plain(result)
