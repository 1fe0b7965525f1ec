"""Evaluate module `pqpp/pearson_qpp`: Pearson correlation of predicted and true performance."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import pearson_qpp


class PearsonQpp(modules.base(), function=pearson_qpp, inputs=forms.PAIRS):
    """Pearson correlation with p-value and confidence interval."""
