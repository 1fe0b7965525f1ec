"""Evaluate module `pqpp/penetration`: spatial consistency of overlapping objects."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import penetration


class Penetration(evaluate_module.Metric):
    """Mean spatial consistency over images, with the value of every image."""

    def _info(self):
        return evaluate_module.info(penetration, evaluate_module.OVERLAPS, citations.VISTAR)

    def _compute(self, overlap_depths, outside_depths, confidences, epsilon=1e-6):
        images = zip(overlap_depths, outside_depths, confidences, strict=True)
        scores = [penetration(*image, epsilon=epsilon)["penetration"] for image in images]
        return evaluate_module.per_item("penetration", scores)
