"""Evaluate module `pqpp/sim`: similarity of saliency maps."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import sim


class Sim(modules.base(), function=sim, inputs=forms.MAPS, each="map"):
    """Mean SIM over maps, with the value of every map."""
