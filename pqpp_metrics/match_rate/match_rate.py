"""Evaluate module `pqpp/match_rate`: how often images match their prompts."""

from pqpp_metrics import forms, metric


class MatchRate(metric.get_base(__name__), inputs=forms.MATCHES):
    """Match rate over all and by group, with Wilson intervals."""
