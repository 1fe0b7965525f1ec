"""Evaluate module `pqpp/keyword_f1`: precision, recall and F1 of misaligned keywords."""

from pqpp_metrics import forms, metric


class KeywordF1(metric.get_base(__name__), inputs=forms.MARKED_KEYWORDS):
    """F1 of misaligned keywords over the tokens of all samples, with precision and recall."""
