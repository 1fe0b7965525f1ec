"""Evaluate module `pqpp/conqa_relevance`: relevance of images from crowd workers' votes."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import conqa_relevance


class ConqaRelevance(evaluate_module.Metric):
    """Share of relevant images, with the label of every image."""

    def _info(self):
        return evaluate_module.info(conqa_relevance, evaluate_module.VOTES, citations.CONQA)

    def _compute(self, votes, rule="unanimous"):
        return evaluate_module.per_item("conqa_relevance", conqa_relevance(votes, rule=rule))
