"""Evaluate module `pqpp/qpp_report`: all measures of a performance predictor."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import qpp_report


class QppReport(evaluate_module.Metric):
    """Pearson, Spearman, Kendall, sMARE and RMSE; the main value is Kendall's tau-b."""

    def _info(self):
        return evaluate_module.info(qpp_report, evaluate_module.PAIRS, citations.PQPP)

    def _compute(self, predictions, references, confidence=0.95):
        report = qpp_report(predictions, references, confidence=confidence)
        return evaluate_module.plain({"qpp_report": report["kendall_qpp"]["kendall_qpp"]} | report)
