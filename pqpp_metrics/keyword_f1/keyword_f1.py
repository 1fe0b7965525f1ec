"""Evaluate module `pqpp/keyword_f1`: precision, recall and F1 of misaligned keywords."""

from pqpp_metrics import forms, modules
from pqpp_metrics.functional import keyword_f1


class KeywordF1(modules.base(), function=keyword_f1, inputs=forms.KEYWORDS):
    """F1 of misaligned keywords over the tokens of all samples, with precision and recall."""
