"""Evaluate module `pqpp/fleiss_kappa`: agreement of several raters."""

from pqpp_metrics import forms, modules


class FleissKappa(modules.base(), inputs=forms.RATINGS):
    """Fleiss' kappa."""
