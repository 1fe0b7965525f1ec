"""How often something may go wrong before a person has to wait."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable


class Limit:
    """At most `count` failures of a key in `seconds`; kept in memory, so a restart forgets them.

    Args:
        clock: Seconds that never go back.

    Example:
        >>> limit = Limit(count=2, seconds=60, clock=lambda: 0.0)
        >>> limit.failed("a"), limit.failed("a"), limit.wait("a"), limit.wait("b")
        (None, None, 60, 0)
    """

    MOST_KEYS = 10_000

    def __init__(
        self, count: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.count, self.seconds, self._clock = count, seconds, clock
        self._failures: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> int:
        """Return how many seconds the key has to wait; 0 where it need not."""
        with self._lock:
            times = self._recent(key)
            if len(times) < self.count:
                return 0
            return max(1, round(times[0] + self.seconds - self._clock()))

    def failed(self, key: str) -> None:
        """Count a failure."""
        with self._lock:
            if len(self._failures) >= self.MOST_KEYS:  # a flood must not fill the memory
                recent = {one: self._recent(one) for one in self._failures}
                self._failures = {one: times for one, times in recent.items() if times}
                while len(self._failures) >= self.MOST_KEYS:
                    del self._failures[next(iter(self._failures))]
            self._failures.setdefault(key, deque(maxlen=self.count)).append(self._clock())

    def _recent(self, key: str) -> deque[float]:
        """Return a key's failures of the last `seconds`."""
        times = self._failures.get(key, deque())
        while times and times[0] <= self._clock() - self.seconds:
            times.popleft()
        return times
