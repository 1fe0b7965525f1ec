"""Evaluate module `pqpp/expected_reciprocal_rank`: 1 / the rank at which a user is satisfied."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import expected_reciprocal_rank


class ExpectedReciprocalRank(
    modules.base(), function=expected_reciprocal_rank, inputs=forms.RANKINGS
):
    """Mean ERR over queries, with the value of every query."""
