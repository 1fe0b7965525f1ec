"""Evaluate module `pqpp/average_precision`: mean precision at the ranks of relevant documents."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import average_precision


class AveragePrecision(modules.base(), function=average_precision, inputs=forms.RANKINGS):
    """Mean average precision over queries, with the value of every query."""
