"""Evaluate module `pqpp/qpp_report`: all measures of a performance predictor."""

from typing import Any

from pqpp_metrics import forms, metric


class QppReport(metric.get_base(__name__), inputs=forms.PAIRS):
    """Pearson, Spearman, Kendall, sMARE and RMSE; the main value is Kendall's tau-b."""

    @classmethod
    def shape_result(cls, result: Any) -> dict[str, Any]:
        """Return Kendall's tau-b, or else the first requested measure, and the report."""
        main = "kendall_qpp" if "kendall_qpp" in result else next(iter(result))
        return super().shape_result({"qpp_report": result[main][main]} | result)
