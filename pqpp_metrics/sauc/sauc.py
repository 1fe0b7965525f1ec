"""Evaluate module `pqpp/sauc`: shuffled AUC of saliency maps."""

from pqpp_metrics import forms, metric


class Sauc(metric.base(), inputs=forms.MAPS):
    """Mean sAUC over images, with the value of every image."""
