"""The routine of the paper's release: random rivals for CLIP, a threshold for the detector.

An object is shown if it wins against 5 random names of MS COCO, and absent if it does not win
against 9; a count holds if so many boxes score above .5. The release draws the rivals anew in each
run; here they depend on the image, so that a verdict stays.
"""

import math
from typing import Any

from pqpp_feedback.assess.assessor import Verdict, random_for
from pqpp_feedback.gimbrr.conditions import Condition, Conditions
from pqpp_feedback.gimbrr.seen import VOCABULARY, Seen

RIVALS = {"shows": 5, "lacks": 9}
THRESHOLD = 0.5


class Published:
    """As the paper's release; a subclass with a name of its own may judge otherwise.

    Args:
        seed: Of the rivals, beside the image's id.

    Example:
        >>> cat = {"label": "cat", "score": 0.9}
        >>> seen = Seen({"detector": {"labels": {"cat": "cat"}, "boxes": [cat]}})
        >>> wanted = [Condition("counts", "cat", count=2)]
        >>> Published().judge(seen, wanted, "a.png", "Counting").score
        0.5
    """

    name = "gimbrr-published"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.settings: dict[str, Any] = {"seed": seed}

    def judge(self, seen: Seen, conditions: Conditions, image_id: str, task: str) -> Verdict:
        """Return whether all conditions hold, and the lowest of their scores in 0 .. 1.

        The score of an object is its softmax among the rivals (one less that, if it shall be
        absent), that of a count the share of the smaller in the larger number.
        """
        judged = [
            _counted(seen, condition)
            if condition.kind == "counts"
            else self._named(seen, condition, image_id)
            for condition in conditions
        ]
        holds, scores, reasons = zip(*judged, strict=True)
        return Verdict(all(holds), min(scores), "; ".join(reasons))

    def _named(self, seen: Seen, condition: Condition, image_id: str) -> tuple[bool, float, str]:
        kind, name = condition.kind, condition.name
        pool = [other for other in VOCABULARY if other not in (name, *condition.beside)]
        draw = random_for(image_id, self._seed, kind, name)
        rivals = [pool[at] for at in draw.choice(len(pool), RIVALS[kind], replace=False)]
        names = [name, *rivals]
        similar = [seen.similarity(other) for other in names]
        top = max(similar)
        weights = [math.exp(seen.scale * (value - top)) for value in similar]
        share = weights[0] / sum(weights)
        wins, best = similar[0] >= top, names[similar.index(top)]
        outcome = f"{name} wins against" if wins else f"{name} loses to {best} among"
        reason = f"{outcome} {', '.join(rivals)} ({share:.2f})"
        if kind == "lacks":
            return not wins, 1 - share, f"to be absent: {reason}"
        return wins, share, reason


def _counted(seen: Seen, condition: Condition) -> tuple[bool, float, str]:
    count = condition.count
    number = sum(score > THRESHOLD for score in seen.scores_of(condition.name))
    share = min(number, count) / max(number, count) if number or count else 1.0
    reason = f"{count} {condition.name} asked, {number} found above {THRESHOLD}"
    return number == count, share, reason
