"""People made up, whose answers are known to be good or bad: to try a study before asking anyone.

Each image has a planted truth; each person answers by a manner of their own. Everything follows
from a seed, so that a study that was simulated twice is the same.
"""

import hashlib
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select

from pqpp_annotation.errors import StudyError
from pqpp_annotation.kinds import ShownItem, TaskKind
from pqpp_annotation.store.answers import save_answer
from pqpp_annotation.store.people import add_person, keep_consent
from pqpp_annotation.store.tables import ItemImage
from pqpp_annotation.store.transactions import Store
from pqpp_annotation.store.work import next_item, progress_of

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
            raise StudyError(f"manner is {self.manner!r}; choose among {', '.join(MANNERS)}")

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
    values, needed = [], schema.get("required", [])
    if len(needed) == 1:
        [name] = needed
        rule = schema["properties"][name]
        choices = rule.get("enum") or ([False, True] if rule.get("type") == "boolean" else ())
        values = [{name: choice} for choice in choices if choice is not None]
    labelled = [(kind.label(value), value) for value in values]
    ranked = [(label, value) for label, value in labelled if label is not None]
    if len(ranked) < 2:
        raise StudyError(
            f"{kind.name}: its answers are more than one choice and cannot be simulated"
        )
    return [value for _, value in sorted(ranked, key=lambda pair: pair[0])]


def planted(store: Store, seed: int = 0) -> PlantedTruth:
    """Return a truth in which every reference image is perfect, and the others are drawn evenly.

    Example:
        >>> from pqpp_annotation.demo import example_study
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
    people: Sequence[Simulated],
    truth: PlantedTruth | None = None,
    items: int | None = None,
    seed: int = 0,
) -> int:
    """Let people made up do a study, by the way that real ones go: the next item, then answers.

    Args:
        people: Who is added, and answers in turn, an item each.
        truth: What is right; as `planted` has it if left out.
        items: How many items each does at most; all that are given out if left out.
        seed: Of everything.

    Returns:
        How many answers were saved.

    Example:
        >>> from pqpp_annotation.demo import example_study
        >>> folder, study, store = example_study()
        >>> simulate(store, [Simulated("ann"), Simulated("bob", "random")])
        2
        >>> store.close()
    """
    truth = truth or planted(store, seed)
    workers = [_at_work(store, person, truth, items, seed) for person in people]
    for worker in workers:
        next(worker)  # all are there before the first answers
    saved = 0
    for _ in itertools.count() if items is None else range(items):
        answers = sum(next(worker, 0) for worker in workers)
        saved += answers
        if not answers:
            break
    return saved


def _at_work(
    store: Store, person: Simulated, truth: PlantedTruth, items: int | None, seed: int
) -> Iterator[int]:
    """Add a person, then answer an item at a time, and give how many answers that took."""
    labels = single_choices(store.study.kind, store.study.task)
    person_id = add_person(store, person.name, person.role).id
    keep_consent(store, person_id)
    draw = random.Random(f"{seed} {person.name}")
    left = progress_of(store, person_id).left_for_me
    most = left if items is None else min(items, left)
    yield 0
    while (shown := next_item(store, person_id)) is not None:
        # At the check everybody takes care.
        is_check = shown.purpose == "training"
        careful = replace(person, manner="honest", noise=0.0) if is_check else person
        truths = _truths(store.study.kind, shown, truth)
        done = shown.position / max(1, most)
        levels = [careful.level(true, len(labels), done, draw) for true in truths.values()]
        for image_id, level in zip(truths, levels, strict=True):
            save_answer(
                store,
                person_id,
                shown.assignment,
                image_id,
                value=labels[level],
                client_id=f"simulated-{person_id}-{shown.assignment}-{image_id or 0}",
                seconds=round(draw.lognormvariate(0, 0.4) * person.seconds, 1),
            )
        yield len(truths)


def _truths(kind: TaskKind, shown: ShownItem, truth: PlantedTruth) -> dict[int | None, float]:
    """Return what is right of each image; of a pair, how much better the first is."""
    images = sorted(shown.images, key=lambda image: image.id)
    truths = [truth.of(shown.prompt, image.sha256) for image in images]
    if kind.about_image:
        return dict(zip((image.id for image in images), truths, strict=True))
    return {None: (1 + truths[0] - truths[-1]) / 2 if truths[1:] else truths[0]}


def _fraction(*parts: object) -> float:
    """Return a number from 0 to 1 that follows from some words."""
    digest = hashlib.sha256("\t".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56
