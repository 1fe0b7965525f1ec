"""The routine that was fitted to people: all names as rivals, templates, and fitted thresholds."""

import math
from collections.abc import Mapping
from typing import Any

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.gimbrr.conditions import Conditions
from pqpp_feedback.gimbrr.routines import Routine
from pqpp_feedback.gimbrr.seen import Seen, margins_of


class Calibrated(Routine):
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
        self.settings = {"tasks": {task: dict(fitted) for task, fitted in tasks.items()}}

    def judge(self, seen: Seen, conditions: Conditions, image_id: str, task: str) -> Verdict:
        """Return whether people would say that the image matches, and with what probability."""
        fitted = self._tasks.get(task) or self._tasks.get(kinds_word(conditions))
        if fitted is None:
            return Verdict(None, None, f"the calibration has seen no image of the task {task!r}")
        margins = margins_of(seen, conditions, fitted["template"], fitted["box_threshold"])
        likely = probability(fitted, {kind: margin for kind, (margin, _) in margins.items()})
        reasons, needed = "; ".join(reason for _, reason in margins.values()), fitted["threshold"]
        reason = f"{reasons}: people would agree with probability {likely:.2f}"
        return Verdict(likely >= needed, likely, f"{reason}, {needed:.2f} is needed")


def probability(fitted: Mapping[str, Any], margins: Mapping[str, float]) -> float:
    """Return the fitted probability of a match.

    Example:
        >>> probability({"weights": {"shows": 1.0}, "bias": 0.0}, {"shows": 0.0})
        0.5
    """
    logit = fitted["bias"] + sum(fitted["weights"][kind] * m for kind, m in margins.items())
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


def kinds_word(conditions: Conditions) -> str:
    """Return the kinds of some conditions in one word.

    Example:
        >>> from pqpp_feedback.gimbrr.conditions import Condition
        >>> kinds_word([Condition("shows", "cat"), Condition("lacks", "dog")])
        'lacks+shows'
    """
    return "+".join(sorted({condition.kind for condition in conditions}))
