"""What the store's methods return: plain values, apart from the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Participant:
    """Who takes part; see `store.tables.Person`."""

    id: int
    name: str
    role: str
    session: int
    created: int
    consented: int | None
    training_tries: int
    trained: int | None
    withdrawn: int | None
    outside: Mapping[str, Any]
    has_password: bool


@dataclass(frozen=True)
class Link:
    """A link, without its token; see `store.tables.Invitation`."""

    id: int
    label: str
    role: str
    is_shared: bool
    person_id: int | None
    created: int
    expires: int
    revoked: int | None


@dataclass(frozen=True)
class StoredImage:
    """Where an image lies, for the server only."""

    path: Path
    media_type: str
    width: int
    height: int
    size: int


@dataclass(frozen=True)
class ItemCounts:
    """How many items a study has.

    Attributes:
        finished: Work items that have as many people as the study wants.

    Example:
        >>> print(ItemCounts(work=20, finished=5, control=2, training=0))
        20 items, 5 finished, 2 control items, 0 training items
    """

    work: int
    finished: int
    control: int
    training: int

    def __str__(self) -> str:
        return (
            f"{self.work:,} items, {self.finished:,} finished, {self.control:,} control items, "
            f"{self.training:,} training items"
        )


@dataclass(frozen=True)
class Past:
    """An item that a person was given."""

    assignment: int
    prompt: str
    state: str
    finished: int | None


@dataclass(frozen=True)
class PersonProgress:
    """How far a person and the study are, in items.

    Attributes:
        done: Items that the person has finished, training apart.
        skipped: Those that the person has passed over.
        left_for_me: Those that are still open for the person.
        study_done: Work items that have as many people as the study wants.
        study_total: All work items.
    """

    done: int
    skipped: int
    left_for_me: int
    study_done: int
    study_total: int


@dataclass(frozen=True)
class TrainingState:
    """How far a person is in the training round.

    Attributes:
        done: Items answered in this try.
        total: Items in a try.
        right: Answers of this try that were right.
        tries_left: How often it may still be tried, this try included.
        is_passed: Whether work is given; True where a study has no training.
    """

    done: int
    total: int
    right: int
    tries_left: int
    is_passed: bool


@dataclass(frozen=True)
class TrainingFeedback:
    """What a finished training item should have been.

    Attributes:
        is_right: Whether all of it was right.
        expected: Image id (None for the item) to the right value.
    """

    is_right: bool
    expected: Mapping[int | None, Mapping[str, Any]]


@dataclass(frozen=True)
class SavedAnswer:
    """What became of an answer.

    Attributes:
        is_new: False where it had come before.
        is_complete: Whether the item has all its answers.
    """

    is_new: bool
    is_complete: bool
