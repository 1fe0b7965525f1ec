"""Evaluate module `pqpp/cc`: correlation coefficient of saliency maps."""

from pqpp_metrics import forms, metric


class Cc(metric.get_base(__name__), inputs=forms.MAPS, each="map"):
    """Mean CC over maps, with the value of every map."""
