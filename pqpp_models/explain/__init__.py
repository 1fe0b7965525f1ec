"""Explain predictions: how a prediction changes without a phrase of the prompt."""
