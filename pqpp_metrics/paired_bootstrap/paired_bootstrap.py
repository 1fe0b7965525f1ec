"""Evaluate module `pqpp/paired_bootstrap`: bootstrap of the difference of two predictors."""

from pqpp_metrics import forms, modules


class PairedBootstrap(modules.base(), inputs=forms.TWO_PREDICTORS):
    """Difference of two predictors on the same queries, with a bootstrap interval and p-value."""
