"""Shared code of the training scripts."""
