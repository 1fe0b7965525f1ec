"""Evaluate module `pqpp/kld`: Kullback-Leibler divergence of saliency maps."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import kld


class Kld(evaluate_module.Metric):
    """Mean KLD over maps, with the value of every map."""

    def _info(self):
        return evaluate_module.info(kld, evaluate_module.MAPS, citations.SALIENCY)

    def _compute(self, predictions, references, convention="pysaliency"):
        maps = zip(predictions, references, strict=True)
        scores = [float(kld(*pair, convention=convention)) for pair in maps]
        return evaluate_module.per_item("kld", scores)
