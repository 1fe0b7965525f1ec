"""Postures from skeletons: rules on 17 keypoints in COCO's order, whichever way a person faces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pqpp_feedback.vistar.choices import choices

POSTURES = ("standing", "sitting", "kneeling", "squatting", "lying")
_SHOULDERS, _HIPS, _KNEES, _ANKLES = (5, 6), (11, 12), (13, 14), (15, 16)


def posture_of(keypoints: Sequence[Sequence[float]]) -> str | None:
    """Return a person's posture; None where shoulders, hips or legs are not seen.

    Lengths are measured by the torso, which is in view where the legs are foreshortened.

    Args:
        keypoints: 17 of `x, y, confidence`, in pixels, y downwards, in COCO's order: nose, eyes,
            ears, shoulders, elbows, wrists, hips, knees, ankles, the left before the right.

    Example:
        >>> place = {5: (0, 0), 6: (2, 0), 11: (0, 5), 12: (2, 5)}
        >>> place |= {13: (0, 9.5), 14: (2, 9.5), 15: (0, 14), 16: (2, 14)}
        >>> posture_of([(*place.get(n, (0, 0)), n in place) for n in range(17)])
        'standing'
    """
    chosen = choices("characters")
    points = np.asarray(keypoints, dtype=float)
    sure = points[:, 2] >= chosen["least_keypoint"]

    def middle(pair):
        own = [n for n in pair if sure[n]]
        return points[own, :2].mean(0) if own else None

    shoulders, hips, knees, ankles = map(middle, (_SHOULDERS, _HIPS, _KNEES, _ANKLES))
    if shoulders is None or hips is None:
        return None
    torso = shoulders - hips
    length = np.hypot(*torso)
    if length == 0:
        return None
    if _from_vertical(torso) > chosen["lying_degrees"]:
        legs = ankles if ankles is not None else knees
        if legs is None or _from_vertical(legs - hips) > chosen["lying_leg_degrees"]:
            return "lying"
    if knees is None or ankles is None:
        return None
    thigh, shank = (knees - hips)[1] / length, (ankles - knees)[1] / length
    if thigh + shank > chosen["standing_legs"]:
        return "standing"
    if thigh > chosen["kneeling_thigh"] and shank < chosen["kneeling_shank"]:
        return "kneeling"
    return "squatting" if thigh < chosen["squatting_thigh"] else "sitting"


def _from_vertical(line: np.ndarray) -> float:
    """Return the angle between a line and the vertical, 0 to 90 degrees."""
    return float(np.degrees(np.arctan2(abs(line[0]), abs(line[1]))))
