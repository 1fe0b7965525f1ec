"""Evaluate module `pqpp/sim`: similarity of saliency maps."""

from pqpp_metrics import forms, metric


class Sim(metric.get_base(__name__), inputs=forms.MAPS, each="map"):
    """Mean SIM over maps, with the value of every map."""
