"""The metrics as pure functions over arrays, one file a subject.

Lists become numpy arrays. Ranking and saliency metrics take arrays of any Array API library and
leave them on their device; the others take whatever converts to numpy.
"""

from pqpp_metrics.functional.aggregation import hbpp, image_relevance
from pqpp_metrics.functional.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from pqpp_metrics.functional.annotators import admit_annotators, keep_best_annotators
from pqpp_metrics.functional.conqa_relevance import conqa_relevance
from pqpp_metrics.functional.consolidation import (
    majority_labels,
    points_heatmap,
    richhf_consolidation,
)
from pqpp_metrics.functional.correlation import (
    kendall_qpp,
    pearson_qpp,
    spearman_qpp,
    student_t_p_value,
)
from pqpp_metrics.functional.fixations import fixation_map
from pqpp_metrics.functional.hwpq import hwpq
from pqpp_metrics.functional.keywords import keyword_f1
from pqpp_metrics.functional.match_rate import match_rate
from pqpp_metrics.functional.pairwise import pairwise_accuracy
from pqpp_metrics.functional.prediction_error import rmse_qpp, smare
from pqpp_metrics.functional.qpp_report import qpp_report, qpp_values
from pqpp_metrics.functional.ranking import (
    hit_rate_at_k,
    precision_at_k,
    r_precision,
    recall_at_k,
    reciprocal_rank,
)
from pqpp_metrics.functional.ranking_graded import average_precision, ndcg
from pqpp_metrics.functional.resampling import paired_bootstrap, paired_permutation
from pqpp_metrics.functional.saliency import auc_judd, cc, heatmap_mse, kld, nss, sim
from pqpp_metrics.functional.saliency_report import richhf_heatmap, saliency_report
from pqpp_metrics.functional.significance import dependent_correlations, holm, mann_whitney
from pqpp_metrics.functional.text_rendering import text_rendering
from pqpp_metrics.functional.vistar import (
    geometric_minimum,
    light_direction,
    penetration,
    scene_composition,
)

__all__ = [
    "admit_annotators",
    "auc_judd",
    "average_precision",
    "cc",
    "cohen_kappa",
    "conqa_relevance",
    "dependent_correlations",
    "fixation_map",
    "fleiss_kappa",
    "geometric_minimum",
    "hbpp",
    "heatmap_mse",
    "hit_rate_at_k",
    "holm",
    "hwpq",
    "image_relevance",
    "keep_best_annotators",
    "kendall_qpp",
    "keyword_f1",
    "kld",
    "krippendorff_alpha",
    "light_direction",
    "majority_labels",
    "mann_whitney",
    "match_rate",
    "ndcg",
    "nss",
    "paired_bootstrap",
    "paired_permutation",
    "pairwise_accuracy",
    "pearson_qpp",
    "penetration",
    "points_heatmap",
    "precision_at_k",
    "qpp_report",
    "qpp_values",
    "r_precision",
    "recall_at_k",
    "reciprocal_rank",
    "richhf_consolidation",
    "richhf_heatmap",
    "rmse_qpp",
    "saliency_report",
    "scene_composition",
    "sim",
    "smare",
    "spearman_qpp",
    "student_t_p_value",
    "text_rendering",
]
