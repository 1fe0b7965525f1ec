"""Pre-retrieval predictors: what the words of a prompt say, given a collection of captions.

``statistics`` counts terms over captions, ``measures`` holds the field's predictors as functions
of those counts, ``predictor`` puts them behind the interface of all predictors.
"""

from pqpp_models.measures.pre_retrieval.measures import MEASURES, pre_retrieval_values
from pqpp_models.measures.pre_retrieval.predictor import PreRetrievalPredictor
from pqpp_models.measures.pre_retrieval.statistics import CaptionStatistics

__all__ = ["MEASURES", "CaptionStatistics", "PreRetrievalPredictor", "pre_retrieval_values"]
