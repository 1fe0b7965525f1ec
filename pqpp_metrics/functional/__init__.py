"""The metrics as pure functions over arrays, one file a subject.

Every function without an underscore that a file without one defines is a name of this package.
Ranking and saliency metrics leave torch tensors on their device and return tensors; all else
becomes numpy arrays: lists, frames and series of pandas, row by row whatever their index says,
columns of Arrow and of datasets, arrays of any library that numpy can read. What a function cannot
use (other shapes, nothing at all, missing, masked or infinite values if none are allowed, text for
numbers, an unknown option) is a `MetricInputError` of one line.
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
