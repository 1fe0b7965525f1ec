"""Post-retrieval predictors: what a query's result list says of its quality, without judgments.

``scores`` needs the retrieval scores only, ``rankings`` the identities of the results,
``embeddings`` their vectors, ``captions`` their texts; all are functions on arrays, one value a
query. ``measures`` has them as measures of rows.
"""

from pqpp_models.measures.post_retrieval.captions import clarity
from pqpp_models.measures.post_retrieval.embeddings import (
    autocorrelation,
    coherence,
    dense_qpp,
    pair_ratio,
)
from pqpp_models.measures.post_retrieval.measures import MEASURES
from pqpp_models.measures.post_retrieval.rankings import query_drift, rank_biased_overlap
from pqpp_models.measures.post_retrieval.scores import (
    n_sigma,
    nqc,
    score_variation,
    sigma_max,
    smv,
    wig,
)

__all__ = [
    "MEASURES",
    "autocorrelation",
    "clarity",
    "coherence",
    "dense_qpp",
    "n_sigma",
    "nqc",
    "pair_ratio",
    "query_drift",
    "rank_biased_overlap",
    "score_variation",
    "sigma_max",
    "smv",
    "wig",
]
