"""Predictors whose only input is the text of a prompt."""
