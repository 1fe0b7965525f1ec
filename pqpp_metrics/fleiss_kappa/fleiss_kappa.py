"""Evaluate module `pqpp/fleiss_kappa`: agreement of several raters."""

from pqpp_metrics import forms, metric


class FleissKappa(metric.get_base(__name__), inputs=forms.RATINGS):
    """Fleiss' kappa."""
