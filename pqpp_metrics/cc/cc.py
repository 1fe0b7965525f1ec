"""Evaluate module `pqpp/cc`: correlation coefficient of saliency maps."""

from pqpp_metrics import forms, modules


class Cc(modules.base(), inputs=forms.MAPS, each="map"):
    """Mean CC over maps, with the value of every map."""
