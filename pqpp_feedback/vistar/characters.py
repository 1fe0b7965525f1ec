"""Characters (CPA): how many people, in which posture, with which expression."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.postures import POSTURES, posture_of
from pqpp_feedback.vistar.score import VistarScore, asked, listed
from pqpp_feedback.vistar.sight import Sight


class Characters(VistarScore):
    """Weighted matches of count, posture and expression, after VISTAR's section 3.3.4.

    Args:
        sight: What finds people; not needed to score kept evidence.

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "", about={"count": 2})
        >>> Characters().score({"people": []}, picture).reason
        '0 people, 2 wanted; count 0.00'
    """

    section, angle = "characters", "CPA"
    inputs: ClassVar = {
        "count": "how many people; else as many as are listed",
        "postures": f"of each, in order: {', '.join(POSTURES)}",
        "expressions": "of each, in order, in the words of the model of expressions",
    }

    def __init__(self, sight: Sight | None = None) -> None:
        super().__init__(sight.told("detector", "pose", "expression") if sight else None)
        self._sight = sight

    def lacking(self, picture: Picture) -> str:
        """Return why there is nothing to compare with; empty where there is."""
        count = asked(picture, "count")
        if count is not None and not _is_count(count):
            return f"`count` is {count!r:.40}; a whole number of 0 or more is needed"
        if count is None and not wanted_characters(picture):
            return "the prompt lists no `count`, `postures` or `expressions`"
        unknown = set(_words(picture, "postures")) - set(POSTURES)
        if unknown:
            return f"no rule for the posture {sorted(unknown)[0]!r}; known: {', '.join(POSTURES)}"
        return ""

    def look(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the people with keypoints, in pixels, and expressions."""
        assert self._sight is not None
        return {"people": self._sight.people(image, self.timed)}

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the weighted mean of the matches that the prompt asks for."""
        people = [
            {"postures": posture_of(one["keypoints"]), "expressions": one.get("expression")}
            for one in evidence["people"]
        ]
        wanted, count = wanted_characters(picture), asked(picture, "count")
        count = len(wanted) if count is None else int(float(count))
        parts = {"count": 1 - abs(len(people) - count) / max(len(people), count, 1)}
        parts |= matches(people, wanted)
        weights = choices(self.section)["weights"]
        total = sum(weights[name] for name in parts)
        score = sum(weights[name] * value for name, value in parts.items()) / total
        told = ", ".join(f"{name} {value:.2f}" for name, value in parts.items())
        return Verdict(None, score, f"{len(people)} people, {count} wanted; {told}")


def matches(
    people: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, str]]
) -> dict[str, float]:
    """Return the share of wanted postures and expressions that people have, at the best pairing.

    Example:
        >>> people = [{"postures": "sitting"}, {"postures": "standing"}]
        >>> matches(people, [{"postures": "standing"}, {"postures": "lying"}])
        {'postures': 0.5}
    """
    from scipy.optimize import linear_sum_assignment

    weights = choices("characters")["weights"]
    asked_for = [name for name in ("postures", "expressions") if any(name in one for one in wanted)]
    fits = {
        name: np.array([[name in w and p.get(name) == w[name] for p in people] for w in wanted])
        for name in asked_for
    }
    if not people or not asked_for:
        return dict.fromkeys(asked_for, 0.0)
    value = sum(weights[name] * fit for name, fit in fits.items())
    rows, columns = linear_sum_assignment(-value)
    return {
        name: float(fit[rows, columns].sum() / sum(name in one for one in wanted))
        for name, fit in fits.items()
    }


def wanted_characters(picture: Picture) -> list[dict[str, str]]:
    """Return what is wanted of each person: `postures` and `expressions`, in the prompt's order.

    Example:
        >>> from pathlib import Path
        >>> about = {"postures": "sitting; standing", "expressions": "happy"}
        >>> wanted_characters(Picture(Path("a.png"), "", about=about))
        [{'postures': 'sitting', 'expressions': 'happy'}, {'postures': 'standing'}]
    """
    columns = [_words(picture, name) for name in ("postures", "expressions")]
    return [
        {name: text for name, text in zip(("postures", "expressions"), row, strict=True) if text}
        for row in itertools.zip_longest(*columns)
    ]


def _words(picture: Picture, name: str) -> list[str]:
    return [text.lower() for text in listed(asked(picture, name))]


def _is_count(value: Any) -> bool:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return number >= 0 and number.is_integer()
