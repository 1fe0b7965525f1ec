"""Explanations of predictions."""
