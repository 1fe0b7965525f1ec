"""The metrics as pure functions over arrays, one file per subject.

This package exports every public function of its public modules. Ranking and saliency metrics
accept torch tensors on any device and return tensors; all other inputs are converted to numpy
arrays: lists, pandas frames and series (by position, ignoring the index), columns of Arrow tables
and datasets, and arrays of any library that numpy can read. Invalid input (wrong shapes, empty
input, text instead of numbers, unknown options, and missing, masked or infinite values that are not
allowed) raises a one-line `MetricInputError`.
"""

from pqpp_metrics.functional.aggregation import *
from pqpp_metrics.functional.agreement import *
from pqpp_metrics.functional.consolidation import *
from pqpp_metrics.functional.correlation import *
from pqpp_metrics.functional.evaluation import *
from pqpp_metrics.functional.keywords import *
from pqpp_metrics.functional.match_rate import *
from pqpp_metrics.functional.prediction_powered import *
from pqpp_metrics.functional.qpp_report import *
from pqpp_metrics.functional.ranking import *
from pqpp_metrics.functional.ranking_graded import *
from pqpp_metrics.functional.resampling import *
from pqpp_metrics.functional.routing import *
from pqpp_metrics.functional.saliency import *
from pqpp_metrics.functional.seeds import *
from pqpp_metrics.functional.significance import *
from pqpp_metrics.functional.vistar import *

__all__ = [
    name
    for name, value in [*globals().items()]
    if getattr(value, "__module__", "").startswith(f"{__name__}.") and "._" not in value.__module__
]
