"""Evaluate module `pqpp/auc_judd`: area under the ROC curve of a saliency map."""

from pqpp_metrics import forms, metric


class AucJudd(metric.get_base(__name__), inputs=forms.MAPS, each="map"):
    """Mean AUC-Judd over maps, with the value of every map."""
