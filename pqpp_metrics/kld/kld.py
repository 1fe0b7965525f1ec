"""Evaluate module `pqpp/kld`: Kullback-Leibler divergence of saliency maps."""

from pqpp_metrics import forms, metric


class Kld(metric.get_base(__name__), inputs=forms.MAPS, each="map"):
    """Mean KLD over maps, with the value of every map."""
