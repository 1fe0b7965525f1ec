"""The types of what the metrics take and give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values: TypeAlias = ArrayLike | Sequence[Any]
"""What holds values: lists, arrays, tensors, frames, columns; see `_containers`."""

Array: TypeAlias = Any
"""A numpy array, or a torch tensor on its device: no type of Python names both."""

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.integer[Any]]
