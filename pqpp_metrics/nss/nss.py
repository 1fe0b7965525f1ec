"""Evaluate module `pqpp/nss`: normalized scanpath saliency."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import nss


class Nss(modules.base(), function=nss, inputs=forms.MAPS, each="map"):
    """Mean NSS over maps, with the value of every map."""
