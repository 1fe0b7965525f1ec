"""Evaluate module `pqpp/kendall_qpp`: Kendall correlation of predicted and true performance."""

from pqpp_metrics import forms, metric


class KendallQpp(metric.get_base(__name__), inputs=forms.PAIRS):
    """Kendall's tau-b with p-value and confidence interval."""
