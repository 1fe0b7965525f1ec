"""Evaluate module `pqpp/reciprocal_rank`: 1 / the rank of the first relevant document."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import reciprocal_rank


class ReciprocalRank(modules.base(), function=reciprocal_rank, inputs=forms.RANKINGS):
    """Mean reciprocal rank over queries, with the value of every query."""
