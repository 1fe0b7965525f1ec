"""The result of a measure: a value, its p-value, and an interval computed when first read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pqpp_metrics.functional._inputs import require_between, require_choice

# How an interval is computed: from influences, or not at all.
INTERVALS = ("influence", "none")


@dataclass(frozen=True, eq=False)
class Result(Mapping[str, Any]):
    """The result of a measure of pairs or items; also a mapping, as the library evaluate requires.

    The interval is computed when it is first read, because it may cost more than the measure. Keys
    are the measure's name; "p_value" if there is one; "ci_low" and "ci_high" unless the interval is
    "none"; "n"; "scores" if each pair has a value; and the keys of `more`.

    Attributes:
        name: The name of the measure.
        statistic: The value of the measure.
        pvalue: The two-sided p-value; None for a measure without a test.
        n: The number of pairs or items.
        confidence: The level of "ci_low" and "ci_high".
        kind: How the interval is computed: "influence", or "none" for no interval.
        bounds: A function that returns both ends of the interval at a confidence level; None if
            there is no interval.
        scores: The values of single pairs.
        more: Further results by name.

    Example:
        >>> from pqpp_metrics.functional import kendall_qpp
        >>> result = kendall_qpp([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
        >>> round(result.statistic, 3), round(result.pvalue, 3), result["n"]
        (0.8, 0.083, 5)
        >>> result.interval() == (result["ci_low"], result["ci_high"])
        True
    """

    name: str
    statistic: float
    pvalue: float | None
    n: int
    confidence: float
    kind: str
    bounds: Callable[[float], tuple[float, float]] | None = field(default=None, repr=False)
    scores: Any = field(default=None, repr=False)
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the confidence level, and how the interval is computed."""
        require_choice("interval", self.kind, INTERVALS)
        require_between("confidence", self.confidence, 0, 1)

    def interval(self, confidence: float | None = None) -> tuple[float, float]:
        """Return the lower and upper ends of the interval, by default at the result's own level."""
        if self.kind == "none" or self.bounds is None:
            raise ValueError(f"{self.name} was computed without an interval; set `interval`")
        if confidence is None:
            return self._get_interval
        return self.bounds(require_between("confidence", confidence, 0, 1))

    @cached_property
    def _get_interval(self) -> tuple[float, float]:
        return self.interval(self.confidence)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the result as a plain dict, since the interval's function cannot be pickled."""
        return dict, (dict(self),)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        if key in ("ci_low", "ci_high"):
            return self._get_interval[key == "ci_high"]
        values = {self.name: self.statistic, "p_value": self.pvalue, **self.more}
        return values[key] if key in values else getattr(self, key)

    @cached_property
    def _keys(self) -> list[str]:
        keys = {self.name: True, "p_value": self.pvalue is not None}
        keys |= dict.fromkeys(("ci_low", "ci_high"), self.kind != "none")
        keys |= {"n": True, "scores": self.scores is not None} | dict.fromkeys(self.more, True)
        return [key for key, is_present in keys.items() if is_present]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
