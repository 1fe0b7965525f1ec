"""Evaluate module `pqpp/expected_reciprocal_rank`: 1 / the rank at which a user is satisfied."""

from pqpp_metrics import forms, modules


class ExpectedReciprocalRank(modules.base(), inputs=forms.RANKINGS):
    """Mean ERR over queries, with the value of every query."""
