"""Evaluate module `pqpp/kendall_qpp`: Kendall correlation of predicted and true performance."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import kendall_qpp


class KendallQpp(modules.base(), function=kendall_qpp, inputs=forms.PAIRS):
    """Kendall's tau-b with p-value and confidence interval."""
