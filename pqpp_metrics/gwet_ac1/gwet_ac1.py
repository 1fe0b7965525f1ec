"""Evaluate module `pqpp/gwet_ac1`: agreement of raters, also of rare categories."""

from pqpp_metrics import forms, metric


class GwetAc1(metric.get_base(__name__), inputs=forms.RATINGS):
    """Gwet's AC1 with its interval."""
