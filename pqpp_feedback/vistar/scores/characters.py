"""Characters (CPA): whether the number, postures and expressions of people are as requested."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture, Row
from pqpp_feedback.assess.values import parse_list
from pqpp_feedback.vistar.choices import get_param, load_params
from pqpp_feedback.vistar.score import VistarScore

POSTURES = ("standing", "sitting", "kneeling", "squatting", "lying")
_SHOULDERS, _HIPS, _KNEES, _ANKLES = (5, 6), (11, 12), (13, 14), (15, 16)


class Characters(VistarScore):
    """The weighted mean match of count, posture and expression, as in VISTAR's section 3.3.4.

    Inputs: `count`, the number of people (default: as many as are listed); `postures`, the one of
    each person, in order, from `POSTURES`; `expressions`, in order: labels of the expression model.

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "", about={"count": 2})
        >>> Characters().score({"people": []}, picture).reason
        '0 people, 2 requested; count 0.00'
    """

    angle = "CPA"
    roles = ("detector", "pose", "expression")
    inputs = ("count", "postures", "expressions")

    def explain_missing(self, picture: Picture) -> str:
        """Return why the prompt cannot be scored; empty if it can."""
        count = get_param(picture, "count")
        if count is not None and not re.fullmatch(r"\d+(\.0*)?", str(count).strip()):
            return f"`count` is {count!r:.40}; expected a whole number of 0 or more"
        if count is None and not parse_characters(picture):
            return "the prompt lists no `count`, `postures` or `expressions`"
        if unknown := set(_split_words(picture, "postures")) - set(POSTURES):
            return f"no rule for the posture {sorted(unknown)[0]!r}; known: {', '.join(POSTURES)}"
        return ""

    def observe_image(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the people with keypoints, in pixels, and expressions."""
        return {"people": self.vision.find_people(image)}

    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the weighted mean of the matches of all that the prompt requires."""
        people = [
            {"postures": find_posture(person["keypoints"]), "expressions": person.get("expression")}
            for person in evidence["people"]
        ]
        required, count = parse_characters(picture), get_param(picture, "count")
        count = len(required) if count is None else int(float(count))
        values = {"count": 1 - abs(len(people) - count) / max(len(people), count, 1)}
        values |= match_people(people, required)
        weights = load_params(self.section)["weights"]
        total = sum(weights[name] for name in values)
        score = sum(weights[name] * match for name, match in values.items()) / total
        listed = ", ".join(f"{name} {match:.2f}" for name, match in values.items())
        return Verdict(None, score, f"{len(people)} people, {count} requested; {listed}")


def match_people(people: Sequence[Row], wanted: Sequence[Row]) -> dict[str, float]:
    """Return the shares of required postures and expressions that people have, in the best pairing.

    Example:
        >>> people = [{"postures": "sitting"}, {"postures": "standing"}]
        >>> match_people(people, [{"postures": "standing"}, {"postures": "lying"}])
        {'postures': 0.5}
    """
    weights = load_params("characters")["weights"]
    names = [n for n in ("postures", "expressions") if any(n in person for person in wanted)]
    counts = {name: sum(name in person for person in wanted) for name in names}
    if not people or not counts:
        return dict.fromkeys(counts, 0.0)
    matches = {
        name: np.array([[name in w and p.get(name) == w[name] for p in people] for w in wanted])
        for name in counts
    }
    weighted = sum(weights[name] * match for name, match in matches.items())
    pairing = linear_sum_assignment(weighted, maximize=True)
    return {name: float(match[pairing].sum() / counts[name]) for name, match in matches.items()}


def parse_characters(picture: Picture) -> list[dict[str, str]]:
    """Return the required `postures` and `expressions` of each person, in order.

    Example:
        >>> from pathlib import Path
        >>> about = {"postures": "sitting; standing", "expressions": "happy"}
        >>> parse_characters(Picture(Path("a.png"), "", about=about))
        [{'postures': 'sitting', 'expressions': 'happy'}, {'postures': 'standing'}]
    """
    columns = [_split_words(picture, name) for name in ("postures", "expressions")]
    return [
        {name: text for name, text in zip(("postures", "expressions"), row, strict=True) if text}
        for row in itertools.zip_longest(*columns)
    ]


def _split_words(picture: Picture, name: str) -> list[str]:
    return [text.lower() for text in parse_list(get_param(picture, name))]


def find_posture(keypoints: Sequence[Sequence[float]]) -> str | None:
    """Return a person's posture; None if it cannot be determined.

    Lengths are relative to the length of the torso, as legs can be foreshortened.

    Args:
        keypoints: 17 keypoints `x, y, confidence`, in pixels with y downwards, in COCO's order:
            nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles, the left one before
            the right one.

    Example:
        >>> place = {5: (0, 0), 6: (2, 0), 11: (0, 5), 12: (2, 5)}
        >>> place |= {13: (0, 9.5), 14: (2, 9.5), 15: (0, 14), 16: (2, 14)}
        >>> find_posture([(*place.get(n, (0, 0)), n in place) for n in range(17)])
        'standing'
    """
    params = load_params("characters")
    points = np.asarray(keypoints, dtype=float)
    is_reliable = points[:, 2] >= params["least_keypoint"]

    def get_middle(pair):
        reliable = [n for n in pair if is_reliable[n]]
        return points[reliable, :2].mean(0) if reliable else None

    shoulders, hips, knees, ankles = map(get_middle, (_SHOULDERS, _HIPS, _KNEES, _ANKLES))
    if shoulders is None or hips is None:
        return None
    torso = shoulders - hips
    length = np.hypot(*torso)
    if length == 0:
        return None
    if _get_tilt(torso) > params["lying_degrees"]:
        legs = ankles if ankles is not None else knees
        if legs is None or _get_tilt(legs - hips) > params["lying_leg_degrees"]:
            return "lying"
    if knees is None or ankles is None:
        return None
    thigh, shank = (knees - hips)[1] / length, (ankles - knees)[1] / length
    if thigh + shank > params["standing_legs"]:
        return "standing"
    if thigh > params["kneeling_thigh"] and shank < params["kneeling_shank"]:
        return "kneeling"
    return "squatting" if thigh < params["squatting_thigh"] else "sitting"


def _get_tilt(line: np.ndarray) -> float:
    """Return the angle between a line and the vertical, 0 to 90 degrees."""
    return float(np.degrees(np.arctan2(abs(line[0]), abs(line[1]))))
