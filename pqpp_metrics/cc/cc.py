"""Evaluate module `pqpp/cc`: correlation coefficient of saliency maps."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import cc


class Cc(modules.base(), function=cc, inputs=forms.MAPS, each="map"):
    """Mean CC over maps, with the value of every map."""
