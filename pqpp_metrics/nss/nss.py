"""Evaluate module `pqpp/nss`: normalized scanpath saliency."""

from pqpp_metrics import forms, metric


class Nss(metric.get_base(__name__), inputs=forms.MAPS, each="map"):
    """Mean NSS over maps, with the value of every map."""
