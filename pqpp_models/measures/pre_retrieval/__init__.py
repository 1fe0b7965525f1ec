"""Pre-retrieval predictors: what the words of a prompt say, given a collection of captions.

``statistics`` counts terms over captions, ``measures`` holds the field's predictors as functions
of those counts.
"""

from pqpp_models.measures.pre_retrieval.statistics import CaptionStatistics as CaptionStatistics
