"""The routine of the paper's release: random rivals for CLIP, a threshold for the detector.

An object is shown if it wins against 5 random names of MS COCO, and absent if it does not win
against 9; a count holds if so many boxes score above .5. The release draws the rivals anew in each
run; here they depend on the image, so that a verdict stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pqpp_feedback.assess.assessor import Verdict, random_for
from pqpp_feedback.gimbrr.asked import VOCABULARY
from pqpp_feedback.gimbrr.conditions import Condition
from pqpp_feedback.gimbrr.seen import Seen

RIVALS = {"shows": 5, "lacks": 9}
THRESHOLD = 0.5


class Published:
    """As the paper's release.

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

    def judge(
        self, seen: Seen, conditions: Sequence[Condition], image_id: str, task: str
    ) -> Verdict:
        """Return whether all conditions hold, and the lowest of their scores in 0 .. 1.

        The score of an object is its softmax among the rivals (one less that, if it shall be
        absent), that of a count the share of the smaller in the larger number.
        """
        holds, scores, reasons = [], [], []
        for one in conditions:
            judged = self._counted(seen, one) if one.kind == "counts" else None
            judged = judged or self._named(seen, one, image_id)
            holds.append(judged[0])
            scores.append(judged[1])
            reasons.append(judged[2])
        return Verdict(all(holds), min(scores), "; ".join(reasons))

    def _named(self, seen: Seen, one: Condition, image_id: str) -> tuple[bool, float, str]:
        pool = [name for name in VOCABULARY if name not in (one.name, *one.beside)]
        draw = random_for(image_id, self._seed, one.kind, one.name)
        number = RIVALS[one.kind]
        rivals = [pool[at] for at in draw.choice(len(pool), number, replace=False)]
        names = [one.name, *rivals]
        similar = [seen.similarity(name, "bare") for name in names]
        top = max(similar)
        weights = [math.exp(seen.scale * (value - top)) for value in similar]
        share = weights[0] / sum(weights)
        wins = similar[0] >= top
        best = names[similar.index(top)]
        said = f"{one.name} wins against" if wins else f"{one.name} loses to {best} among"
        reason = f"{said} {', '.join(rivals)} ({share:.2f})"
        if one.kind == "lacks":
            return not wins, 1 - share, f"to be absent: {reason}"
        return wins, share, reason

    def _counted(self, seen: Seen, one: Condition) -> tuple[bool, float, str]:
        found = sum(score > THRESHOLD for score in seen.scores_of(one.name))
        larger = max(found, one.count)
        share = min(found, one.count) / larger if larger else 1.0
        return (
            found == one.count,
            share,
            f"{one.count} {one.name} asked, {found} found above {THRESHOLD}",
        )
