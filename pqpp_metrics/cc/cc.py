"""Evaluate module `pqpp/cc`: correlation coefficient of saliency maps."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import cc


class Cc(evaluate_module.Metric):
    """Mean CC over maps, with the value of every map."""

    def _info(self):
        return evaluate_module.info(cc, evaluate_module.MAPS, citations.SALIENCY)

    def _compute(self, predictions, references, convention="pysaliency"):
        maps = zip(predictions, references, strict=True)
        scores = [float(cc(*pair, convention=convention)) for pair in maps]
        return evaluate_module.per_item("cc", scores)
