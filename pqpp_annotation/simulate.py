"""People made up, whose answers are known to be good or bad: to try a study before asking anyone.

Each image has a planted truth; each person answers by a manner of their own. Everything follows
from a seed, so that a study that was simulated twice is the same.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from pqpp_annotation.errors import StudyError
from pqpp_annotation.kinds import ShownItem, TaskKind
from pqpp_annotation.store.tables import ItemImage

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store
    from pqpp_annotation.study.study import Study

MANNERS = ("honest", "random", "constant", "lazy")


@dataclass(frozen=True)
class PlantedTruth:
    """What is right to say of each image of each prompt.

    Attributes:
        seed: From which a truth comes that is not given.
        given: Hash of an image to its truth, 0 (the lowest label) to 1 (the highest).
    """

    seed: int = 0
    given: Mapping[str, float] = field(default_factory=dict)

    def of(self, prompt: str, sha256: str) -> float:
        """Return the truth of an image, 0 to 1; one that is not given is drawn evenly.

        Example:
            >>> PlantedTruth(given={"ab": 0.5}).of("a cat", "ab")
            0.5
            >>> PlantedTruth(1).of("a cat", "cd") == PlantedTruth(1).of("a cat", "cd")
            True
        """
        if sha256 in self.given:
            return self.given[sha256]
        return _fraction("truth", self.seed, prompt, sha256)


@dataclass(frozen=True)
class Simulated:
    """A person made up.

    Attributes:
        name: The pseudonym.
        manner: `honest` says the truth but for noise, `random` anything, `constant` always the
            highest label, `lazy` the truth at first and the highest label from `tires` on.
        noise: The share of honest answers that are a label beside the true one.
        tires: Of a lazy person: after which share of what there was to do at the beginning.
        role: As of a person of the study.
        seconds: What an answer takes, on the average.
    """

    name: str
    manner: str = "honest"
    noise: float = 0.1
    tires: float = 0.3
    role: str = "annotator"
    seconds: float = 4.0

    def __post_init__(self):
        if self.manner not in MANNERS:
            raise StudyError(f"manner: {self.manner!r} came; {', '.join(MANNERS)} is allowed")

    def level(self, truth: float, levels: int, done: float, draw: random.Random) -> int:
        """Return which label is said.

        Args:
            truth: Of the image, 0 to 1.
            levels: How many labels there are; 0 stands for the lowest.
            done: The share of the person's work that is done.
            draw: Where chance comes from.

        Example:
            >>> Simulated("a", "constant").level(0.0, 4, 0.0, random.Random(0))
            3
            >>> Simulated("a", noise=0).level(0.3, 4, 0.0, random.Random(0))
            1
        """
        true = min(int(truth * levels), levels - 1)
        if self.manner == "random":
            return draw.randrange(levels)
        if self.manner == "constant" or (self.manner == "lazy" and done >= self.tires):
            return levels - 1
        if draw.random() >= self.noise:
            return true
        return min(max(true + draw.choice((-1, 1)), 0), levels - 1) if levels > 1 else 0


def single_choices(kind: TaskKind, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answers that a kind allows where these are one choice, the lowest label first.

    Raises:
        StudyError: An answer of this kind is more than one choice.

    Example:
        >>> from pqpp_annotation.kinds import task_kind
        >>> single_choices(task_kind("relevance"), {})
        [{'label': -1}, {'label': 0}, {'label': 1}, {'label': 2}]
    """
    schema = kind.schema_of(settings)
    found, needed = [], schema.get("required", [])
    if len(needed) == 1:
        name, rule = needed[0], schema["properties"][needed[0]]
        choices = rule.get("enum") or ([False, True] if rule.get("type") == "boolean" else None)
        if choices is None and {"minimum", "maximum"} <= rule.keys():
            choices = range(rule["minimum"], rule["maximum"] + 1)
        found = [{name: choice} for choice in choices or ()]
    labelled = [(kind.label(value), value) for value in found if None not in value.values()]
    ranked = [(label, value) for label, value in labelled if label is not None]
    if len(ranked) < 2:
        raise StudyError(f"{kind.name}: an answer is no single choice, and cannot be simulated")
    return [value for _, value in sorted(ranked, key=lambda pair: pair[0])]


def planted(store: Store, seed: int = 0) -> PlantedTruth:
    r"""Return a truth in which every reference image is perfect, and the others are drawn evenly.

    Args:
        store: Of the study.
        seed: From which the others come.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study()
        >>> planted(store, seed=1).seed
        1
        >>> store.close()
    """
    with store.reading() as db:
        photos = db.scalars(select(ItemImage.sha256).where(ItemImage.is_reference)).all()
    return PlantedTruth(seed, dict.fromkeys(photos, 1.0))


def simulate(
    store: Store,
    study: Study,
    people: Sequence[Simulated],
    truth: PlantedTruth | None = None,
    items: int | None = None,
    seed: int = 0,
) -> int:
    r"""Let people made up do a study, by the way that real ones go: `next`, then `save`.

    Args:
        store: Of the study.
        study: The study.
        people: Who is added, and answers in turn, an item each.
        truth: What is right; as `planted` has it if left out.
        items: How many items each does at most; all that are given out if left out.
        seed: Of everything.

    Returns:
        How many answers were saved.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study()
        >>> simulate(store, study, [Simulated("ann"), Simulated("bob", "random")])
        2
        >>> store.close()
    """
    truth = truth or planted(store, seed)
    workers = [_Worker(store, study, one, truth, items, seed) for one in people]
    saved = 0
    for number in itertools.count():
        if not workers or number == items:
            return saved
        for worker in list(workers):
            done = worker.do_one()
            saved += done
            if not done:
                workers.remove(worker)
    return saved


class _Worker:
    """A person at work."""

    def __init__(
        self, store, study, person: Simulated, truth: PlantedTruth, items: int | None, seed: int
    ):
        self._store, self._kind, self._person, self._truth = store, study.kind, person, truth
        self._labels = single_choices(study.kind, study.task)
        self.id = store.people.add(person.name, person.role).id
        store.people.consent(self.id)
        self._draw = random.Random(f"{seed} {person.name}")
        progress = store.work.progress(self.id)
        self._most = progress.left_for_me if items is None else min(items, progress.left_for_me)

    def do_one(self) -> int:
        """Answer the next item, and return how many answers that took; 0 where there is none."""
        shown = self._store.work.next(self.id)
        if shown is None:
            return 0
        done = shown.position / max(1, self._most)
        values = list(self._values(shown, done))
        for image, value in values:
            self._store.answers.save(
                person_id=self.id,
                assignment_id=shown.assignment,
                image_id=image,
                value=value,
                client_id=f"simulated-{self.id}-{shown.assignment}-{image or 0}",
                seconds=round(self._draw.lognormvariate(0, 0.4) * self._person.seconds, 1),
            )
        return len(values)

    def _values(self, shown: ShownItem, done: float) -> Iterator[tuple[int | None, dict]]:
        person, levels = self._person, len(self._labels)
        if shown.purpose == "training":  # at the check everybody takes care
            person = replace(person, manner="honest", noise=0.0)
        images = sorted(shown.images, key=lambda one: one.id)
        truths = [self._truth.of(shown.prompt, one.sha256) for one in images]
        ids: list[int | None] = [one.id for one in images]
        if not self._kind.about_image:
            # Of a pair, how much better the first is than the second.
            ids, truths = [None], [(1 + truths[0] - truths[-1]) / 2 if truths[1:] else truths[0]]
        for one, true in zip(ids, truths, strict=True):
            yield one, self._labels[person.level(true, levels, done, self._draw)]


def _fraction(*parts: object) -> float:
    """Return a number from 0 to 1 that follows from some words."""
    digest = hashlib.sha256("\t".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56
