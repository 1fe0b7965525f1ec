"""Evaluate module `pqpp/paired_seeds`: two predictors trained with several seeds each."""

from pqpp_metrics import forms, metric


class PairedSeeds(metric.get_base(__name__), inputs=forms.SEEDS):
    """Difference of two predictors over queries and seeds, with p-value and interval."""
