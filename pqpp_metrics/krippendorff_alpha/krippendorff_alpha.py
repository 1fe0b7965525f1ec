"""Evaluate module `pqpp/krippendorff_alpha`: agreement of raters with missing ratings."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import krippendorff_alpha


class KrippendorffAlpha(modules.base(), function=krippendorff_alpha, inputs=forms.NUMERIC_RATINGS):
    """Krippendorff's alpha."""
