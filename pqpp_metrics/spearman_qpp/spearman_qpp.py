"""Evaluate module `pqpp/spearman_qpp`: Spearman correlation of predicted and true performance."""

from pqpp_metrics import forms, metric


class SpearmanQpp(metric.get_base(__name__), inputs=forms.PAIRS):
    """Spearman correlation with p-value and confidence interval."""
