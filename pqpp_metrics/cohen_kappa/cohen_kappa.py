"""Evaluate module `pqpp/cohen_kappa`: agreement of two raters."""

from pqpp_metrics import forms, metric


class CohenKappa(metric.get_base(__name__), inputs=forms.CATEGORIES):
    """Cohen's kappa."""
