"""The routine that was fitted to people: all names as rivals, templates, and fitted thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.gimbrr.conditions import Condition
from pqpp_feedback.gimbrr.margins import margins_of
from pqpp_feedback.gimbrr.seen import Seen


class Calibrated:
    """As fitted by `pqpp_feedback.gimbrr.calibration`.

    Args:
        tasks: Task, or kinds of conditions as `shows+lacks`, to what was fitted.

    Example:
        >>> fitted = {"template": "photo", "box_threshold": 0.5, "bias": 0.0, "threshold": 0.5}
        >>> routine = Calibrated({"Counting": {**fitted, "weights": {"counts": 1.0}}})
        >>> routine.judge(Seen({}), [], "a.png", "Negation").reason
        "the calibration has seen no image of the task 'Negation'"
    """

    name = "gimbrr-calibrated"

    def __init__(self, tasks: Mapping[str, Mapping[str, Any]]) -> None:
        self._tasks = tasks
        self.settings: dict[str, Any] = {"tasks": {key: dict(one) for key, one in tasks.items()}}

    def judge(
        self, seen: Seen, conditions: Sequence[Condition], image_id: str, task: str
    ) -> Verdict:
        """Return whether people would say that the image matches, and with what probability."""
        fitted = self._tasks.get(task) or self._tasks.get(kinds_word(conditions))
        if fitted is None:
            return Verdict(None, None, f"the calibration has seen no image of the task {task!r}")
        margins = margins_of(seen, conditions, fitted["template"], fitted["box_threshold"])
        likely = probability(fitted, {kind: margin for kind, (margin, _) in margins.items()})
        reasons = "; ".join(reason for _, reason in margins.values())
        said = f"{reasons}: people would agree with probability {likely:.2f}"
        return Verdict(
            likely >= fitted["threshold"], likely, f"{said}, {fitted['threshold']:.2f} is needed"
        )


def probability(fitted: Mapping[str, Any], margins: Mapping[str, float]) -> float:
    """Return the fitted probability of a match.

    Example:
        >>> probability({"weights": {"shows": 1.0}, "bias": 0.0}, {"shows": 0.0})
        0.5
    """
    logit = fitted["bias"] + sum(fitted["weights"][kind] * m for kind, m in margins.items())
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


def kinds_word(conditions: Sequence[Condition]) -> str:
    """Return the kinds of some conditions in one word.

    Example:
        >>> kinds_word([Condition("shows", "cat"), Condition("lacks", "dog")])
        'lacks+shows'
    """
    return "+".join(sorted({one.kind for one in conditions}))
