"""Evaluate module `pqpp/auc_judd`: area under the ROC curve of a saliency map."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import auc_judd


class AucJudd(modules.base(), function=auc_judd, inputs=forms.MAPS, each="map"):
    """Mean AUC-Judd over maps, with the value of every map."""
