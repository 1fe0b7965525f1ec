"""The metrics as pure functions over arrays."""

from pqpp_metrics.functional.aggregation import hbpp, image_relevance
from pqpp_metrics.functional.correlation import kendall_qpp, pearson_qpp, student_t_p_value
from pqpp_metrics.functional.ranking import precision_at_k, reciprocal_rank

__all__ = [
    "hbpp",
    "image_relevance",
    "kendall_qpp",
    "pearson_qpp",
    "precision_at_k",
    "reciprocal_rank",
    "student_t_p_value",
]
