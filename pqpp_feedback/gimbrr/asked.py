"""What a prompt of GIMBRR asks for: its task, its objects, and its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pqpp_feedback.assess.errors import AssessError

COLUMNS = ("task", "representations", "task_specific_label", "auto_assessment")
"""Of a table of prompts, as `gimbrr` has them."""

_NAMES = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire
hydrant, street sign, stop sign, parking meter, bench, bird, cat, dog, horse, sheep, cow,
elephant, bear, zebra, giraffe, hat, backpack, umbrella, shoe, eye glasses, handbag, tie,
suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove,
skateboard, surfboard, tennis racket, bottle, plate, wine glass, cup, fork, knife, spoon,
bowl, banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake,
chair, couch, potted plant, bed, mirror, dining table, window, desk, toilet, door, tv,
laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator,
blender, book, clock, vase, scissors, teddy bear, hair drier, toothbrush, hair brush
"""
VOCABULARY = tuple(" ".join(_NAMES.split()).split(", "))
"""The 91 names of MS COCO, from which rivals are taken; 11 of them have no training images."""


@dataclass(frozen=True)
class Asked:
    """What a prompt asks for.

    Attributes:
        task: Its task.
        objects: The names in `representations`, in order.
        label: `task_specific_label`: counts, or what shall be absent; empty where there is none.
        is_automatic: Whether the directory says that the prompt can be assessed automatically.
    """

    task: str
    objects: tuple[str, ...]
    label: str
    is_automatic: bool

    @property
    def counts(self) -> tuple[int, ...]:
        """How many of each object, from a label `5`, `3,6` or `3, 6`.

        Raises:
            AssessError: There are not as many whole numbers as objects.

        Example:
            >>> Asked("Simple arithmetic", ("cat", "dog"), "3, 6", True).counts
            (3, 6)
        """
        parts = [part.strip() for part in self.label.split(",")]
        if len(parts) != len(self.objects) or not all(part.isdecimal() for part in parts):
            raise AssessError(
                f"the label {self.label!r:.40} gives no whole number for each of "
                f"{', '.join(self.objects)}"
            )
        return tuple(map(int, parts))


def asked_of(about: Mapping[str, Any]) -> Asked:
    """Return what a prompt asks for.

    Args:
        about: Its columns, of `COLUMNS`; objects as a list, or in one text with commas between.

    Example:
        >>> asked_of({"task": "Counting", "representations": "Apple ", "task_specific_label": 5})
        Asked(task='Counting', objects=('apple',), label='5', is_automatic=True)
    """
    names = about.get("representations") or ()
    names = names.split(",") if isinstance(names, str) else names
    objects = tuple(name.strip().lower() for name in names if name.strip())
    label = about.get("task_specific_label")
    marked = about.get("auto_assessment")
    return Asked(
        task=str(about.get("task") or "").strip(),
        objects=objects,
        label="" if label is None else str(label).strip().lower(),
        is_automatic=str(marked).lower() not in ("false", "0"),
    )
