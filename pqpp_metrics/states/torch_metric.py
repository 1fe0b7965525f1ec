"""A metric of this package as torchmetrics wants it."""

from __future__ import annotations

import json
import math
import uuid
from typing import Any

import numpy as np
import torch
import torchmetrics

from pqpp_files.foreign.json_values import parse_json
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.forms import plain
from pqpp_metrics.functional._categories import Encoded
from pqpp_metrics.functional._sums import Sums
from pqpp_metrics.states.state import MetricState

_OF_TORCHMETRICS = (
    "compute_on_cpu",
    "compute_with_cache",
    "dist_sync_fn",
    "distributed_available_fn",
    "process_group",
    "sync_on_compute",
)


class TorchMetric(torchmetrics.Metric):
    """A metric of this package as a `torchmetrics.Metric`: for Lightning, and in collections.

    What it keeps of batches is a `MetricState`, whose `is_bounded` says whether that grows. For
    torchmetrics, which gathers tensors of processes and saves them in checkpoints, it is packed as
    lines of JSON in a tensor of bytes; sums of several processes are exact.

    Args:
        metric: Its name, see `pqpp_metrics.list_metrics`.
        options: The metric's, and those of every `torchmetrics.Metric`, like `sync_on_compute`.

    Example:
        >>> metric = TorchMetric("kendall_qpp")  # doctest: +SKIP
        >>> metric.update(torch.tensor([0.2, 0.9]), torch.tensor([0.1, 1.0]))  # doctest: +SKIP
        >>> metric.compute()["kendall_qpp"]  # doctest: +SKIP
        tensor(1., dtype=torch.float64)
    """

    full_state_update = False
    is_differentiable = False
    lines: list[torch.Tensor] | torch.Tensor

    def __init__(self, metric: str, **options: Any) -> None:
        own = {name: options.pop(name) for name in _OF_TORCHMETRICS if name in options}
        super().__init__(**own)
        self._empty = MetricState(metric, **options)
        self.add_state("lines", default=[], dist_reduce_fx="cat", persistent=False)

    @property
    def is_bounded(self) -> bool:
        """Whether the memory that it takes does not grow with the data."""
        return self._empty.is_bounded

    def update(self, *inputs: Any, **named: Any) -> None:
        """Add a batch; as `MetricState.update`."""
        state = self._state() if self.is_bounded else self._new()
        state.update(*inputs, **named)
        line = self._packed(state)
        self.lines = [line] if self.is_bounded else [*self.lines, line]

    def compute(self) -> dict[str, Any]:
        """Return what `MetricState.compute` does, numbers as tensors."""
        return self._as_tensors(self._state().compute())

    def forward(self, *inputs: Any, **named: Any) -> dict[str, Any]:
        """Add a batch, and return the metric of it alone: NaN where it is too small for one."""
        self.update(*inputs, **named)
        batch = self._new()
        batch.update(*inputs, **named)
        try:
            value = batch.compute()
        except MetricInputError:
            value = {batch.name: math.nan}
        self._forward_cache = self._as_tensors(value)
        return self._forward_cache

    def _as_tensors(self, result):
        return {
            name: torch.tensor(value, dtype=torch.float64, device=self.device)
            if isinstance(value, (int, float))
            else value
            for name, value in result.items()
        }

    def _sync_dist(self, *args: Any, **kwargs: Any) -> None:
        # Of a process without a batch torchmetrics would send floats.
        self.lines = [*self.lines] or [self._packed(self._new())]
        super()._sync_dist(*args, **kwargs)

    def _new(self):
        return MetricState(self._empty.name, **self._empty.options)

    def _packed(self, state):
        """A state in a line."""
        sums = [[key, number] for key, number in state.sums.items()]
        batches = [{name: _listed(part) for name, part in batch.items()} for batch in state.batches]
        text = json.dumps([sums, batches], default=lambda label: {"uuid": label.hex}) + "\n"
        return torch.from_numpy(np.frombuffer(text.encode(), np.uint8).copy()).to(self.device)

    def _state(self):
        """The state that the lines hold."""
        whole = self._new()
        for tensor in [self.lines] if isinstance(self.lines, torch.Tensor) else self.lines:
            for line in tensor.cpu().numpy().tobytes().splitlines():
                sums, batches = parse_json(line, "the state of a metric", object_hook=_as_uuid)
                part = self._new()
                keys = (tuple(key) if isinstance(key, list) else key for key, _ in sums)
                part.sums = Sums(dict(zip(keys, (number for _, number in sums), strict=True)))
                part.batches = batches
                whole.merge(part)
        return whole


def _listed(part):
    return plain(np.asarray(part) if isinstance(part, Encoded) else part)


def _as_uuid(value):
    return uuid.UUID(value["uuid"]) if value.keys() == {"uuid"} else value
