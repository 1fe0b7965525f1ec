"""Evaluate module `pqpp/fleiss_kappa`: agreement of several raters."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import fleiss_kappa


class FleissKappa(modules.base(), function=fleiss_kappa, inputs=forms.RATINGS):
    """Fleiss' kappa."""
