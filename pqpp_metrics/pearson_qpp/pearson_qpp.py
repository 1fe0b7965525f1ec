"""Evaluate module `pqpp/pearson_qpp`: Pearson correlation of predicted and true performance."""

from pqpp_metrics import forms, metric


class PearsonQpp(metric.get_base(__name__), inputs=forms.PAIRS):
    """Pearson correlation with p-value and confidence interval."""
