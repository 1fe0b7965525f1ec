"""How clearly conditions hold: one number a kind of condition, positive where they do."""

from __future__ import annotations

from collections.abc import Sequence

from pqpp_feedback.gimbrr.asked import VOCABULARY
from pqpp_feedback.gimbrr.conditions import Condition
from pqpp_feedback.gimbrr.seen import Seen

_BOXES = 10.0
"""What margins of boxes are multiplied by, to be of the size of CLIP's; ours to choose."""


def margins_of(
    seen: Seen, conditions: Sequence[Condition], template: str, box_threshold: float
) -> dict[str, tuple[float, str]]:
    """Return the smallest margin of each kind, and the reason in words.

    An object's margin is CLIP's logit of it less that of the best of all names of `VOCABULARY`
    that the prompt does not name; one that shall be absent has the negative. A count's margin is
    how far the weakest counted box is above the threshold, or the strongest further one below it,
    whichever is less, times 10.

    Args:
        seen: The evidence.
        conditions: What must hold.
        template: How names were put to CLIP, of `TEMPLATES`.
        box_threshold: The score from which on a box counts.

    Example:
        >>> boxes = [{"label": "cow", "score": score} for score in (0.9, 0.7, 0.3)]
        >>> seen = Seen({"detector": {"labels": {"cow": "cow"}, "boxes": boxes}})
        >>> two = [Condition("counts", "cow", count=2)]
        >>> margin, _ = margins_of(seen, two, "photo", 0.5)["counts"]
        >>> round(margin, 6)
        2.0
    """
    found: dict[str, tuple[float, str]] = {}
    for one in conditions:
        judge = _counted if one.kind == "counts" else _named
        margin, reason = judge(seen, one, template, box_threshold)
        before = found.get(one.kind)
        if before is None or margin < before[0]:
            found[one.kind] = (margin, reason)
    return found


def _named(seen: Seen, one: Condition, template: str, _: float) -> tuple[float, str]:
    rivals = [name for name in VOCABULARY if name not in (one.name, *one.beside)]
    best = max(rivals, key=lambda name: seen.similarity(name, template))
    own, other = (seen.similarity(name, template) for name in (one.name, best))
    margin = seen.scale * (own - other)
    if one.kind == "lacks":
        return -margin, f"{one.name}, to be absent, is {-margin:.1f} below {best}"
    return margin, f"{one.name} is {margin:+.1f} against {best}, the best of {len(rivals)} names"


def _counted(seen: Seen, one: Condition, _: str, threshold: float) -> tuple[float, str]:
    scores = seen.scores_of(one.name)
    found = sum(score >= threshold for score in scores)
    weakest = scores[one.count - 1] if len(scores) >= one.count > 0 else 0.0
    inside = weakest - threshold if one.count else 1.0
    further = scores[one.count] if len(scores) > one.count else 0.0
    margin = _BOXES * min(inside, threshold - further)
    return margin, f"{one.count} {one.name} asked, {found} found from {threshold:.2f} on"
