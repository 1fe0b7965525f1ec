"""Evaluate module `pqpp/cohen_kappa`: agreement of two raters."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import cohen_kappa


class CohenKappa(modules.base(), function=cohen_kappa, inputs=forms.CATEGORIES):
    """Cohen's kappa."""
