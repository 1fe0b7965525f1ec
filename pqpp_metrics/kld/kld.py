"""Evaluate module `pqpp/kld`: Kullback-Leibler divergence of saliency maps."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import kld


class Kld(modules.base(), function=kld, inputs=forms.MAPS, each="map"):
    """Mean KLD over maps, with the value of every map."""
