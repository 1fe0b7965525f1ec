"""Evaluate module `pqpp/match_rate`: how often images match their prompts."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import match_rate


class MatchRate(modules.base(), function=match_rate, inputs=forms.MATCHES):
    """Match rate over all and by group, with Wilson intervals."""
