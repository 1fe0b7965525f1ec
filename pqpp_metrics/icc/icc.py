"""Evaluate module `pqpp/icc`: reliability of raters who all rated the same items."""

from pqpp_metrics import forms, metric


class Icc(metric.get_base(__name__), inputs=forms.NUMERIC_RATINGS):
    """Intraclass correlation, two-way random."""
