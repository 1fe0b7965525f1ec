"""Evaluate module `pqpp/nss`: normalized scanpath saliency."""

from pqpp_metrics import forms, modules


class Nss(modules.base(), inputs=forms.MAPS, each="map"):
    """Mean NSS over maps, with the value of every map."""
