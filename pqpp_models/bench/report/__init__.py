"""The HTML report of a bench."""

from pqpp_models.bench.report.page import render_report

__all__ = ["render_report"]
