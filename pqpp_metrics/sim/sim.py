"""Evaluate module `pqpp/sim`: similarity of saliency maps."""

from pqpp_metrics import forms, modules


class Sim(modules.base(), inputs=forms.MAPS, each="map"):
    """Mean SIM over maps, with the value of every map."""
