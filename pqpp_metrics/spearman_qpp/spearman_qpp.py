"""Evaluate module `pqpp/spearman_qpp`: Spearman correlation of predicted and true performance."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import spearman_qpp


class SpearmanQpp(modules.base(), function=spearman_qpp, inputs=forms.PAIRS):
    """Spearman correlation with p-value and confidence interval."""
