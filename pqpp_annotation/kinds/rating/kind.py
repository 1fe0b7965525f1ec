"""Rating: each image on a scale of whole numbers, with words at its steps."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pqpp_annotation.errors import StudyError
from pqpp_annotation.kinds.labels import LabelKind
from pqpp_annotation.languages import gettext_noop

_MOST_STEPS = 11  # each has a key of its own
_WORDS = ("Not at all", "A little", "Partly", "Mostly", "Completely")


class Rating(LabelKind):
    """A Likert scale, from 1 to 5 unless told otherwise."""

    name = "rating"
    scale = "likert5"
    settings: ClassVar[Mapping[str, Any]] = {
        "question": gettext_noop("Does this image show the prompt?"),
        "low": 1,
        "high": 5,
        "labels": {},  # a map of steps to words
    }

    def check_study(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse scales without steps, and words of steps that there are not."""
        checked = super().check_study(settings)
        low, high = checked["low"], checked["high"]
        if not 1 <= high - low < _MOST_STEPS:
            raise StudyError(f"task: low is {low} and high {high}; give 2 to {_MOST_STEPS} steps")
        steps = [str(step) for step in self.labels(checked)]
        if "labels" not in settings and (low, high) == (1, 5):
            checked["labels"] = dict(zip(steps, _WORDS, strict=True))
        # A step is a number in YAML and a text in JSON.
        checked["labels"] = words = {str(step): word for step, word in checked["labels"].items()}
        for step, word in words.items():
            if step not in steps:
                raise StudyError(f"task: labels has {step!r:.60}; its steps are {', '.join(steps)}")
            if not isinstance(word, str):
                raise StudyError(f"task: labels of {step} is {word!r:.60}; it must be a text")
        return checked

    def scale_of(self, settings: Mapping[str, Any]) -> str:
        """Return `likert5`, or the range."""
        low, high = settings.get("low", 1), settings.get("high", 5)
        return "likert5" if (low, high) == (1, 5) else f"{low}..{high}"


TASK_KIND = Rating()
