"""Evaluate module `pqpp/sauc`: shuffled AUC of saliency maps."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import sauc


class Sauc(modules.base(), function=sauc, inputs=forms.MAPS):
    """Mean sAUC over images, with the value of every image."""
