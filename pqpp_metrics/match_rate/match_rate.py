"""Evaluate module `pqpp/match_rate`: how often images match their prompts."""

from pqpp_metrics import forms, modules


class MatchRate(modules.base(), inputs=forms.MATCHES):
    """Match rate over all and by group, with Wilson intervals."""
