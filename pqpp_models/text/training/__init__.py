"""Shared code of the text predictors' training scripts; needs torch."""
