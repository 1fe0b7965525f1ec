"""A metric that batches are added to."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.forms import RANKINGS, columns_of
from pqpp_metrics.functional import _pairs, _votes
from pqpp_metrics.functional._sums import Sums, sums_of, unit_of
from pqpp_metrics.load import load_metric

# Metrics that are a function of a few sums; those of pairs only if their interval is, too.
_SUMS: Mapping[str, Callable[..., Sums]] = {
    "pearson_qpp": _pairs.moments_of,
    "rmse_qpp": _pairs.square_sums,
    "mae_qpp": _pairs.error_sums,
    "cohen_kappa": _votes.label_pairs,
    "fleiss_kappa": _votes.rating_sums,
}


class MetricState:
    """A metric of batches: `update` adds one, `merge` another state, `compute` gives the result.

    The result is that of the metric in one call, however the data are parted: sums are exact.
    Memory does not grow (`is_bounded`) for

    - ranking and saliency metrics, and all others that take one map or image at a time: the result
      is the mean over those that have a value, and "n", how many these are;
    - `cohen_kappa` and `fleiss_kappa`: it is that of a table of the labels;
    - `pearson_qpp`, `rmse_qpp` and `mae_qpp` with `interval="classic"`. Their default interval
      needs each pair's influence.

    All others, rank correlations among them, keep what comes.

    Args:
        metric: Its name, see `list_metrics`.
        options: The metric's.

    Raises:
        UnknownMetricError: There is no such metric.
        MetricInputError: It has no such option.

    Example:
        >>> state = MetricState("pearson_qpp", interval="classic")
        >>> state.update([1.0, 2.0], [1.0, 3.0])
        >>> state.update([3.0, 4.0], [2.0, 4.0])
        >>> round(state.compute()["pearson_qpp"], 3), state.is_bounded
        (0.8, True)
    """

    def __init__(self, metric: str, **options: Any) -> None:
        self.metric = load_metric(metric.removeprefix("pqpp/"))
        self.metric.check_options(options)
        self.options = options
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self.sums, self.batches = Sums(), list[dict[str, Any]]()

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.function.__name__

    @property
    def is_bounded(self) -> bool:
        """Whether the memory that it takes does not grow with the data."""
        return self._is_mean or self._is_function_of_sums

    @property
    def _is_mean(self):
        """Whether the result is a mean of values that know nothing of one another."""
        return self.metric.each is not None or self.metric.forms is RANKINGS

    @property
    def _is_function_of_sums(self):
        is_classic = self.options.get("interval") == "classic"
        return self.name in _SUMS and (is_classic or not self.name.endswith("_qpp"))

    def update(self, *inputs: Any, **named: Any) -> None:
        """Add a batch, in any form that the metric takes; one that is refused changes nothing.

        Args:
            inputs: The metric's inputs in their order.
            named: Inputs by their names; for a ranking metric also options with a row for each
                query, like `unretrieved`.

        Raises:
            MetricInputError: What the metric cannot use.
        """
        names = self.metric.input_names()
        if len(inputs) > len(names):
            came = f"{len(inputs)} inputs came"
            raise MetricInputError(f"{came}; `{self.name}` takes {' and '.join(names)}")
        given = dict(zip(names, inputs, strict=False)) | named
        self.metric.check_options(given)
        options = {name: given.pop(name) for name in [*given] if name not in names}
        if options and not self._is_mean:
            raise MetricInputError(f"`{next(iter(options))}` is an option; give it to the state")
        columns, _ = columns_of(given, self.metric.forms, self.metric.each or "item")
        if self._is_mean:
            result = self.metric.computed([*columns.values()], self.options | options)
            self.sums.update(_sums_of_values(np.array(result["scores"], float)))
        elif not self._is_function_of_sums:
            self.batches.append(columns)
        elif self.name.endswith("_qpp"):
            predictions, references = columns.values()
            summed = _pairs.summed(_SUMS[self.name], predictions, references, least=1)
            self.sums.update(summed[1])
        else:
            self.sums.update(_SUMS[self.name](*columns.values()))

    def merge(self, other: MetricState) -> Self:
        """Add what another state of the same metric and options has; return this one."""
        if (self.name, repr(self.options)) != (other.name, repr(other.options)):
            raise MetricInputError(
                f"a state of `{other.name}` with {other.options} came; one of `{self.name}` with "
                f"{self.options} takes its like alone"
            )
        self.sums.update(other.sums)
        self.batches += other.batches
        return self

    def gathered(self) -> MetricState:
        """Return the merged states of all processes of torch.distributed, the same in each.

        Accelerate's processes are such. Where there is one process it is the state itself.
        """
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available():
            return self
        if not distributed.is_initialized():
            return self
        states: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(states, (self.sums, self.batches))
        whole = type(self)(self.name, **self.options)
        for whole_of in states:
            part = type(self)(self.name, **self.options)
            part.sums, part.batches = whole_of
            whole.merge(part)
        return whole

    def compute(self) -> dict[str, Any]:
        """Return the metric of all batches so far, as `evaluate` gives it.

        Raises:
            MetricInputError: There was no batch, or what the metric cannot use.
        """
        if not self.sums and not self.batches:
            names = " and ".join(self.metric.input_names())
            raise MetricInputError(f"nothing was given to score; update the state with {names}")
        if self._is_mean:
            return {self.name: _mean(self.sums), "n": self.sums[""]}
        if self._is_function_of_sums:
            missing = [None] * (len(self.metric.input_names()) - 1)
            return self.metric.computed([self.sums, *missing], self.options)
        parts = {name: [batch[name] for batch in self.batches] for name in self.batches[0]}
        columns = {name: _joined(columns) for name, columns in parts.items()}
        return self.metric.score(columns, self.options)


def _sums_of_values(values):
    """Sums of values, those that are infinite counted by themselves and NaN left out."""
    finite, infinite = values[np.isfinite(values)], values[np.isinf(values)]
    sums = sums_of(v=finite) if finite.size else Sums()
    above = int((infinite > 0).sum())
    counts = {"inf": above, "-inf": len(infinite) - above, "nan": int(np.isnan(values).sum())}
    sums.update({name: count for name, count in counts.items() if count})
    sums[""] = len(finite) + len(infinite)
    return sums


def _mean(sums):
    if sums["inf"] or sums["-inf"]:
        return math.inf * bool(sums["inf"]) - math.inf * bool(sums["-inf"])
    return sums["v"] / (sums[""] * unit_of(1)) if sums[""] else math.nan


def _joined(parts: Sequence[Any]) -> Any:
    """The columns of several batches as one."""
    if not all(hasattr(part, "__array__") for part in parts):
        return list(itertools.chain.from_iterable(parts))
    arrays = [np.asarray(part) for part in parts]
    if len({array.shape[1:] for array in arrays}) > 1:
        return list(itertools.chain.from_iterable(arrays))
    return np.concatenate(arrays)
