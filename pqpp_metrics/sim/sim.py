"""Evaluate module `pqpp/sim`: similarity of saliency maps."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import sim


class Sim(evaluate_module.Metric):
    """Mean SIM over maps, with the value of every map."""

    def _info(self):
        return evaluate_module.info(sim, evaluate_module.MAPS, citations.SALIENCY)

    def _compute(self, predictions, references, convention="pysaliency"):
        maps = zip(predictions, references, strict=True)
        scores = [float(sim(*pair, convention=convention)) for pair in maps]
        return evaluate_module.per_item("sim", scores)
