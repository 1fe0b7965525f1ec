"""Metrics for prompt and query performance prediction and for text-to-image evaluation.

`pqpp_metrics.functional` contains the metrics as pure functions over arrays. Importing this package
makes `evaluate.load("pqpp/<metric>")` find them as evaluate modules; an installed package does so
without any import.
"""

from pqpp_metrics.registration import list_metrics, register

__all__ = ["list_metrics", "register"]

register()
