"""Axes of charts in SVG: from values to places, and where the ticks are."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

_DRAWN = 1e100  # beyond it differences of floats overflow


@dataclass(frozen=True)
class Axis:
    """A linear axis.

    Attributes:
        low: The least value.
        high: The greatest value.
        start: Where the least one is drawn.
        stop: Where the greatest one is.
    """

    low: float
    high: float
    start: float
    stop: float

    @classmethod
    def around(cls, values: ArrayLike, start: float, stop: float, room: float = 0.04) -> Self:
        """Return the axis that holds some values, with a share of it as room at both ends.

        Example:
            >>> Axis.around([0.0, 1.0], 0, 100, room=0).at(0.25)
            25.0
            >>> Axis.around([], 0, 100).ticks()[0]
            (0.0, '0')
        """
        known = clipped(values)
        known = known[~np.isnan(known)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        if high <= low:
            reach = abs(low) / 2 or 0.5
            low, high = low - reach, high + reach
        room = room * (high - low) if len(known) else 0.0
        return cls(low - room, high + room, start, stop)

    def at(self, values: Any) -> Any:
        """Return where a value is drawn, or each of an array."""
        share = (values - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Return up to so many round values: where each is drawn, and its text.

        Example:
            >>> Axis(0.0, 1.0, 0.0, 10.0).ticks()
            [(0.0, '0'), (2.5, '0.25'), (5.0, '0.5'), (7.5, '0.75'), (10.0, '1')]
        """
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        for factor in (1, 2, 2.5, 5, 10):
            step = factor * power
            first = math.ceil(self.low / step - 1e-9)
            last = math.floor(self.high / step + 1e-9)
            if last - first < most:
                break
        values = [n * step for n in range(first, last + 1)]
        return [(float(self.at(value)), f"{value:.4g}") for value in values]


def clipped(values: ArrayLike) -> NDArray[np.float64]:
    """Return values as an array, those that cannot be drawn cut to the largest that can.

    Example:
        >>> clipped([1.0, 1e300]).tolist()
        [1.0, 1e+100]
    """
    return np.clip(np.asarray(values, dtype=float), -_DRAWN, _DRAWN)
