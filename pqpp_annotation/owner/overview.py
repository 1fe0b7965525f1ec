"""How a study stands: progress, votes a day, agreement, people, disputes, time left, money."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, case, func, select

from pqpp_annotation.owner.disputes import Dispute, disputes_of
from pqpp_annotation.owner.ledger import DONE, Items, Ledger, StudyAnswers, votes_table
from pqpp_annotation.owner.people import PersonRow, people_rows
from pqpp_annotation.protocol.admission import Standings, options_of, standings_of
from pqpp_annotation.store.tables import (
    Adjudication,
    Answer,
    Assignment,
    Event,
    Item,
    Person,
    StudyRow,
)

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store
    from pqpp_annotation.study.study import Study

DAY = 86_400_000
_TEN_MINUTES = 600_000
DISPUTES = 500
LONG = 0.3
"""Seconds, after which nobody waits for a look when there is an older one."""

_MANY = 20_000
_REST = 4  # a look is taken again after so many times what it took, where much comes in


@dataclass(frozen=True)
class StudyProgress:
    """How far the work is, in items and in places: an item has one for each person it needs.

    Attributes:
        items: Work items; `complete` those that have as many people as the study wants.
        places: How many times an item is judged; `filled` how many of these are done.
        controls: Control items.
        control_answers: How many times these were done.
    """

    items: int
    complete: int
    places: int
    filled: int
    controls: int
    control_answers: int

    @property
    def share(self) -> float:
        """The share of the places that are done."""
        return self.filled / self.places if self.places else 0.0


@dataclass(frozen=True)
class Pace:
    """How fast it goes.

    Attributes:
        per_day: Places that were filled in the last day; scaled up where the study is younger.
        days_left: How long the rest takes at this pace; None where nothing came in the last day.
        ends: When that is, in milliseconds; None likewise.
    """

    per_day: float
    days_left: float | None
    ends: int | None


@dataclass(frozen=True)
class Money:
    """What it costs.

    Attributes:
        owed: To all people together, as things stand.
        expected: When every place is filled; None where only hours are paid and none were worked.
    """

    owed: float
    expected: float | None
    currency: str


@dataclass(frozen=True)
class Overview:
    """A look at a study.

    Attributes:
        key: Changes when anything here may have.
        taken: When it was taken, in milliseconds.
        paused: Since when nothing is given out; None while the study runs.
        days: Votes a day (UTC), without gaps, the first first.
        labels: Label to how many current votes of annotators have it, the lowest first.
    """

    key: str
    taken: int
    paused: int | None
    progress: StudyProgress
    days: list[tuple[datetime.date, int]]
    labels: dict[float, int]
    standings: Standings
    people: list[PersonRow]
    disputes: list[Dispute]
    pace: Pace
    money: Money | None

    def count(self, state: str) -> int:
        """Return how many people are in a state."""
        return sum(row.state == state for row in self.people)


class Watch:
    """Looks at a study, and remembers the last look as long as nothing has come since.

    Where a look takes long, of a study with very many votes, it is taken behind the last one, which
    is what the owner is shown meanwhile.

    Args:
        store: Of the study.
        study: The study.
    """

    def __init__(self, store: Store, study: Study):
        self._store, self._study = store, study
        self._ledger = Ledger(store, study)
        self._lock, self._behind = threading.Lock(), threading.Lock()
        self._last: Overview | None = None
        self._took = self._next_look = 0.0

    def look(self, fresh: bool = False) -> Overview:
        """Return how the study stands.

        Args:
            fresh: Whether a look is taken now, even if one was taken a moment ago or it takes long:
                after the owner has changed something.
        """
        last = self._last
        if last is not None and not fresh:
            if time.monotonic() < self._next_look:
                return last
            if self._took > LONG:
                self._start_behind()
                return last
        return self._take()

    def prepare(self) -> None:
        """Take the first look of a study with very many votes before anybody asks for it."""
        if self._store.answers.count() >= _MANY:
            self._start_behind()

    def _start_behind(self) -> None:
        if self._behind.acquire(blocking=False):
            threading.Thread(target=self._look_behind, daemon=True).start()

    def _look_behind(self) -> None:
        try:
            self._take()
        finally:
            self._behind.release()

    def _take(self) -> Overview:
        with self._lock:
            started = time.monotonic()
            with self._store.reading() as db:
                key = _key(db, self._store.clock())
                if self._last is None or self._last.key != key:
                    self._last = overview(db, self._store, self._study, self._ledger, key)
                    self._took = time.monotonic() - started
            ended = time.monotonic()
            self._next_look = ended + _REST * (ended - started)
            return self._last

    def disputes(self) -> list[Dispute]:
        """Return all items on which people disagree."""
        with self._store.reading() as db:
            answers, items = self._ledger.now(db)
            table, rows = votes_table(db, self._study, answers, items)
            found = standings_of(table, options_of(self._study))
            return disputes_of(db, found, rows, answers, items)


def _key(db, now: int) -> str:
    """Return what is another after every change that the owner sees, and every ten minutes."""
    tables = (Answer, Event, Person, Item, Assignment, Adjudication)
    parts = [now // _TEN_MINUTES, *(db.scalar(select(func.max(table.id))) for table in tables)]
    counts = select(Assignment.state, func.count()).group_by(Assignment.state)
    parts += [f"{state}{count}" for state, count in sorted(db.execute(counts).fetchall())]
    parts += [
        db.scalar(select(func.count()).select_from(Adjudication)),
        db.scalar(select(func.count()).where(Person.withdrawn.is_not(None))),
        db.scalar(select(StudyRow.paused)),
    ]
    return "-".join("" if part is None else str(part) for part in parts)


def overview(db: Connection, store: Store, study: Study, ledger: Ledger, key: str) -> Overview:
    r"""Take a look at a study.

    Args:
        db: A connection in a transaction that reads.
        store: Of the study.
        study: The study.
        ledger: Of its answers.
        key: As `Overview` has it.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> from pqpp_annotation.owner.ledger import Ledger
        >>> with store.reading() as db:
        ...     look = overview(db, store, study, Ledger(store, study), "")
        >>> store.close()
        >>> [(row.name, row.votes) for row in look.people]
        [('ann', 1), ('bob', 1)]
    """
    now = store.clock()
    answers, items = ledger.now(db)
    table, rows = votes_table(db, study, answers, items)
    found = standings_of(table, options_of(study))
    people = people_rows(db, study, answers, items, found)
    progress = _progress(db, study)
    return Overview(
        key=key,
        taken=now,
        paused=db.scalar(select(StudyRow.paused)),
        progress=progress,
        days=_days(answers),
        labels=_labels(found),
        standings=found,
        people=people,
        disputes=disputes_of(db, found, rows, answers, items, DISPUTES),
        pace=_pace(answers, items, people, progress, now),
        money=_money(study, people, progress),
    )


def _progress(db, study: Study) -> StudyProgress:
    places = study.people_per_item
    filled = case((Item.done < places, Item.done), else_=places)
    complete = case((Item.done >= places, 1), else_=0)
    query = select(
        Item.purpose, func.count(), func.sum(complete), func.sum(filled), func.sum(Item.done)
    ).group_by(Item.purpose)
    found = {purpose: tuple(map(int, rest)) for purpose, *rest in db.execute(query)}
    items, whole, done, _ = found.get("work", (0, 0, 0, 0))
    controls, *_, judged = found.get("control", (0, 0, 0, 0))
    return StudyProgress(items, whole, items * places, done, controls, judged)


def _days(answers: StudyAnswers) -> list[tuple[datetime.date, int]]:
    if not len(answers):
        return []
    number = answers.created // DAY
    first = int(number.min())
    counts = np.bincount(number - first)
    start = datetime.date(1970, 1, 1) + datetime.timedelta(days=first)
    return [(start + datetime.timedelta(days=n), c) for n, c in enumerate(counts.tolist())]


def _labels(found: Standings) -> dict[float, int]:
    if found.votes is None:
        return {}
    values, counts = np.unique(found.votes.value[~found.votes.control], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _pace(
    answers: StudyAnswers, items: Items, people: list[PersonRow], progress: StudyProgress, now: int
) -> Pace:
    given = answers.given
    workers = [row.id for row in people if row.role == "annotator"]
    counts = (given.state == DONE) & (items.purpose[items.place(given.item)] == "work")
    finished = given.finished[counts & np.isin(given.person, workers)]
    lately = int((finished > now - DAY).sum())
    if not lately:
        return Pace(0.0, None, None)
    span = min(DAY, max(now - int(finished.min()), 60_000))
    per_day = lately * DAY / span
    days = max(0, progress.places - progress.filled) / per_day
    return Pace(per_day, days, now + round(days * DAY))


def _money(study: Study, people: list[PersonRow], progress: StudyProgress) -> Money | None:
    rule = study.payment
    if rule is None:
        return None
    owed = round(sum(row.owed.total for row in people), 2)
    workers = [row for row in people if row.role == "annotator"]
    items, hours = sum(row.items for row in workers), sum(row.hours for row in workers)
    expected = None
    if items or not rule.per_hour:
        # Control items are paid as well, one with so many others.
        beside = 1 / (study.control.every - 1) if progress.controls else 0.0
        paid = progress.places * (1 + beside)
        expected = round(rule.per_item * paid + rule.per_hour * hours / max(1, items) * paid, 2)
    return Money(owed, expected, rule.currency)


def progress_csv(look: Overview) -> Iterator[dict[str, Any]]:
    r"""Give the progress as it is downloaded.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> from pqpp_annotation.owner.ledger import Ledger
        >>> with store.reading() as db:
        ...     look = overview(db, store, study, Ledger(store, study), "")
        >>> store.close()
        >>> [row["what"] for row in progress_csv(look)][-1]
        'alpha'
    """
    facts = {**vars(look.progress), "places_per_day": look.pace.per_day}
    facts |= {"days_left": look.pace.days_left, "alpha": look.standings.alpha}
    for name, value in facts.items():
        yield {"what": name, "value": None if value != value else value}


def days_csv(look: Overview) -> Iterator[dict[str, Any]]:
    """Give the votes a day as they are downloaded.

    Example:
        >>> from datetime import date
        >>> from types import SimpleNamespace
        >>> list(days_csv(SimpleNamespace(days=[(date(2026, 1, 2), 3)])))
        [{'day': '2026-01-02', 'votes': 3}]
    """
    for day, count in look.days:
        yield {"day": day.isoformat(), "votes": count}


def agreement_csv(look: Overview) -> Iterator[dict[str, Any]]:
    """Give each annotator's kappa with each member of the control group as it is downloaded.

    Example:
        >>> from types import SimpleNamespace
        >>> ann = SimpleNamespace(name="ann", kappas={"carl": 0.5}, control_images=9)
        >>> rows = agreement_csv(SimpleNamespace(people=[ann]))
        >>> [(row["control_member"], row["kappa"]) for row in rows]
        [('carl', 0.5)]
    """
    for row in look.people:
        for member, kappa in sorted(row.kappas.items()):
            yield {
                "annotator": row.name,
                "control_member": member,
                "kappa": kappa,
                "control_images": row.control_images,
            }
