"""Evaluate module `pqpp/information_gain`: what a saliency model knows beyond a baseline."""

from pqpp_metrics import forms, metric


class InformationGain(metric.base(), inputs=forms.MAPS, each="map"):
    """Mean information gain over maps in bits per fixation, with the value of every map."""
