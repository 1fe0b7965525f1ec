"""Evaluate module `pqpp/nss`: normalized scanpath saliency."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import nss


class Nss(evaluate_module.Metric):
    """Mean NSS over maps, with the value of every map."""

    def _info(self):
        return evaluate_module.info(nss, evaluate_module.MAPS, citations.SALIENCY)

    def _compute(self, predictions, references, convention="pysaliency"):
        maps = zip(predictions, references, strict=True)
        scores = [float(nss(*pair, convention=convention)) for pair in maps]
        return evaluate_module.per_item("nss", scores)
