"""Evaluate module `pqpp/krippendorff_alpha`: agreement of raters with missing ratings."""

from pqpp_metrics import forms, metric


class KrippendorffAlpha(metric.get_base(__name__), inputs=forms.RATINGS):
    """Krippendorff's alpha."""
