"""Evaluate module `pqpp/cohen_kappa`: agreement of two raters."""

from pqpp_metrics import forms, modules


class CohenKappa(modules.base(), inputs=forms.CATEGORIES):
    """Cohen's kappa."""
