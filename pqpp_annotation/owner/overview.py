"""The state of a study: progress, votes per day, agreement, people, disputes, time left, money."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Text, cast, func, select

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.owner.ledger import (
    Due,
    PersonRow,
    Records,
    list_dues,
    list_people,
    make_votes_table,
    read_records,
)
from pqpp_annotation.protocol.admission import Standings, build_options, filter_people
from pqpp_annotation.store.items import count_items
from pqpp_annotation.store.people import get_verdicts, refuse_by_rules
from pqpp_annotation.store.tables import Answer, Assignment, Event, Item, Leaver, Person, StudyRow
from pqpp_annotation.store.transactions import Store, Transaction
from pqpp_annotation.study.study import Study

if TYPE_CHECKING:
    import pandas


DISPUTES = 500


@dataclass(frozen=True)
class Dispute:
    """An item on which people disagree.

    Attributes:
        item: Its id.
        disagreement: Of its most disputed image: the mean distance of two votes on it
            over the range of the labels; on a nominal scale the share of pairs that differ.
        labels: Label to how many of them have it, the lowest first.
    """

    item: int
    prompt_id: str
    prompt: str
    disagreement: float
    labels: Mapping[float, int]


def compute_disagreements(
    unit: np.ndarray, value: np.ndarray, units: int, is_nominal: bool = False
) -> np.ndarray:
    """Return the mean distance between two votes on each unit.

    Args:
        unit: int64 (votes,), integers from 0.
        value: float64 (votes,).
        units: Number of units.
        is_nominal: Whether all different values are equally far apart.

    Returns:
        float64 (units,), NaN if there are not two votes.

    Example:
        >>> unit, value = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 4.0, 1.0])
        >>> compute_disagreements(unit, value, 2).tolist()
        [2.0, nan]
    """
    values, code = np.unique(value, return_inverse=True)
    counts = np.bincount(unit * len(values) + code, minlength=units * len(values))
    counts = counts.reshape(units, len(values)).astype(float)
    apart = np.abs(values[:, None] - values)
    if is_nominal:
        apart = np.sign(apart)
    pairs = counts.sum(axis=1) * (counts.sum(axis=1) - 1)
    with np.errstate(invalid="ignore"):
        return np.where(pairs > 0, (counts @ apart * counts).sum(axis=1), np.nan) / pairs


def rank_disputes(standings: Standings, rows: pandas.DataFrame) -> list[Dispute]:
    """Return the items with two votes or more on an image, the most disputed first.

    The votes of people who are refused have no say: somebody who answers at random disagrees with
    everybody. Nor have the reference images, on which people agree.

    Args:
        standings: People's standings, with the table of votes.
        rows: The output of `make_votes_table`.
    """
    votes = standings.votes
    if votes is None:
        return []
    refused = {annotator.name for annotator in standings.annotators if annotator.reasons}
    is_kept = ~rows["annotator"].isin(refused).to_numpy() & ~votes.reference
    units = rows.iloc[votes.first].reset_index(drop=True)
    item, value, scale = votes.item[is_kept], votes.value[is_kept], votes.scale
    is_nominal = scale.level == "nominal"
    span = 1.0 if is_nominal else (scale.high - scale.low) or 1.0
    units["apart"] = compute_disagreements(item, value, len(units), is_nominal) / span
    worst = units[units["apart"] > 0].sort_values(
        ["apart", "item_id"], ascending=[False, True], kind="stable"
    )
    worst = worst.drop_duplicates("item_id").iloc[:DISPUTES]  # each with its most disputed image
    labels: Any = rows["label"].groupby([votes.item, is_kept]).value_counts(sort=False)
    labels = labels.sort_index()
    worst["labels"] = [labels[place, True].to_dict() for place in worst.index]
    worst = worst.rename(columns={"item_id": "item", "apart": "disagreement"})
    names = [field.name for field in fields(Dispute)]
    return [Dispute(*row) for row in worst[names].itertuples(index=False)]


DAY = 86_400_000
_TEN_MINUTES = 600_000
_NOTICE = 15.0  # seconds between looks that answers start
_REST = 4  # a look is taken again after so many times what it took, where much comes in


@dataclass(frozen=True)
class StudyProgress:
    """The progress in items and in places: an item has one place for each person it needs.

    People whose votes are not used fill no place.

    Attributes:
        items: Work items; `complete` those with as many people as the study requires.
        places: Number of ratings needed; `filled` of them are done.
        closed: Places that are done by people whose votes are not used, and are not open again.
        controls: Control items.
    """

    items: int
    complete: int
    places: int
    filled: int
    closed: int
    controls: int

    @property
    def share(self) -> float:
        """The share of the places that are done."""
        return self.filled / self.places if self.places else 0.0


@dataclass(frozen=True)
class Pace:
    """How fast it goes.

    Attributes:
        per_day: Places that were filled in the last day; scaled up if the study is younger.
        days_left: How long the rest takes at this pace; None if nothing was filled in the last day.
    """

    per_day: float
    days_left: float | None


@dataclass(frozen=True)
class Money:
    """What it costs.

    Attributes:
        owed: Total owed so far; `paid` is the total paid.
        expected: When every place is filled; None if only hours are paid and none were worked.
    """

    owed: float
    paid: float
    expected: float | None
    currency: str


@dataclass(frozen=True)
class Overview:
    """The state of a study at one moment.

    Attributes:
        key: Changes when anything here may have.
        paused: Since when no items are assigned; None while the study runs.
        days: Votes a day (UTC), without gaps, the first first.
        labels: Label to how many current votes of annotators have it, the lowest first.
    """

    key: str
    paused: int | None
    progress: StudyProgress
    days: list[tuple[datetime.date, int]]
    labels: dict[float, int]
    standings: Standings
    people: list[PersonRow]
    dues: list[Due]
    disputes: list[Dispute]
    pace: Pace
    money: Money | None

    def count_people(self, state: str) -> int:
        """Return the number of people in a state."""
        return sum(row.state == state for row in self.people)


class StudyMonitor:
    """Computes the state of a study, and reuses the last one until something changes.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> [(row.name, row.votes) for row in StudyMonitor(store).get_overview().people]
        [('ann', 1), ('bob', 1)]
        >>> store.close()
    """

    def __init__(self, store: Store) -> None:
        self.study, self._store = store.study, store
        self._lock = threading.Lock()
        self._last: Overview | None = None
        self._next_look = self._next_notice = 0.0

    def get_overview(self, fresh: bool = False) -> Overview:
        """Return the state of the study.

        Args:
            fresh: Whether to compute it now, even if it was computed a moment ago: after the owner
                has changed something.
        """
        import pandas  # noqa: F401 -- once, which is no part of what a look takes

        with self._lock:
            started = time.monotonic()
            if self._last is None or fresh or started >= self._next_look:
                with self._store.reading() as db:
                    key = _get_change_key(db)
                    if self._last is None or self._last.key != key:
                        self._last = compute_overview(db, key)
                ended = time.monotonic()
                self._next_look = ended + _REST * (ended - started)
            return self._last

    def reopen_if_due(self) -> None:
        """Check the study after a change, so that rejected people's places open again."""
        if self.study.reopen_after is not None and time.monotonic() >= self._next_notice:
            self._next_notice = time.monotonic() + _NOTICE
            threading.Thread(target=self.reopen, daemon=True).start()

    def reopen(self) -> list[str]:
        """Open the places of people whom the rules refuse, once enough is known; return names."""
        if self.study.reopen_after is None:
            return []
        people = self.get_overview().people
        refused = [row.id for row in people if row.is_refused_for_good(self.study)]
        return refuse_by_rules(self._store, refused)

    def pay(self, way: str) -> list[Due]:
        """Count what is owed to all who are paid one way as paid; return it as it was before.

        Args:
            way: The way of `Due`.

        Raises:
            AnnotationError: Nothing is owed to anybody who is paid so.
        """
        with self._store.writing(alone=True) as db:
            dues = [x for x in compute_overview(db, "").dues if x.pay.owed and x.way == way]
            when = datetime.datetime.fromtimestamp(db.now() / 1000, datetime.UTC).isoformat()
            for due in dues:  # a clock that was put back may show a moment again
                paid = round(due.pay.payments.get(when, 0.0) + due.pay.owed, 2)
                due.payee.paid = {**due.pay.payments, when: paid}
        if not dues:
            raise AnnotationError("no payments are due by this method", 409)
        self.get_overview(fresh=True)
        return dues


def _get_change_key(db: Transaction) -> str:
    """Return a key that changes with every change visible to the owner, and every ten minutes."""
    tables = (Answer, Event, Person, Item, Assignment)
    states = select(Assignment.state, func.count()).group_by(Assignment.state)
    values = [
        db.now() // _TEN_MINUTES,
        *(db.scalar(select(func.max(table.id))) for table in tables),
        *sorted(f"{state}{count}" for state, count in db.execute(states)),
        db.scalar(select(func.count()).where(Person.withdrawn.is_not(None))),
        db.scalar(select(StudyRow.paused)),
        *(db.scalar(select(func.sum(func.length(cast(x.paid, Text))))) for x in (Person, Leaver)),
    ]
    return "-".join("" if value is None else str(value) for value in values)


def compute_overview(db: Transaction, key: str) -> Overview:
    """Compute the state of a study; `key` is as in `Overview`."""
    import pandas

    now, records = db.now(), read_records(db)
    table, votes = make_votes_table(db, records)
    standings = filter_people(table, build_options(db.study), get_verdicts(db))
    people = list_people(db, records, standings, votes)
    progress, dues = _get_progress(db, records, people), list_dues(db, people)
    moments = pandas.to_datetime(records.answers["created"].to_numpy(), unit="ms")
    days: Any = pandas.Series(1, index=moments).resample("D").sum()
    labels: Any = votes["label"][~votes["control"]].value_counts(sort=False).sort_index()
    return Overview(
        key=key,
        paused=db.scalar(select(StudyRow.paused)),
        progress=progress,
        days=[(day.date(), count) for day, count in days.items()],
        labels={float(label): count for label, count in labels.to_dict().items()},
        standings=standings,
        people=people,
        dues=dues,
        disputes=rank_disputes(standings, votes),
        pace=_get_pace(records, people, progress, now),
        money=_get_money(db.study, people, dues, progress),
    )


def _get_progress(db: Transaction, records: Records, people: list[PersonRow]) -> StudyProgress:
    places, items = db.study.people_per_item, count_items(db)
    done = records.assignments
    done = done[(done["state"] == "done") & (done["purpose"] == "work")]
    workers = {row.id: row for row in people if row.role == "annotator"}
    usable = [key for key, row in workers.items() if row.state not in ("refused", "failed")]
    counted: Any = done[done["person_id"].isin(usable)].groupby("item_id").size().clip(upper=places)
    refused = [key for key, row in workers.items() if row.state == "refused" and not row.reopened]
    closed = int(done["person_id"].isin(refused).sum())
    filled, complete = int(counted.sum()), int((counted >= places).sum())
    counts = (items.work, complete, items.work * places, filled, closed)
    return StudyProgress(*counts, items.control)


def _get_pace(records: Records, people: list[PersonRow], progress: StudyProgress, now: int) -> Pace:
    assignments = records.assignments
    workers = [row.id for row in people if row.role == "annotator"]
    counts = (assignments["state"] == "done") & (assignments["purpose"] == "work")
    finished = assignments["finished"][counts & assignments["person_id"].isin(workers)]
    lately = int((finished > now - DAY).sum())
    if not lately:
        return Pace(0.0, None)
    span = min(DAY, max(now - int(finished.min()), 60_000))
    per_day = lately * DAY / span
    return Pace(per_day, max(0, progress.places - progress.filled) / per_day)


def _get_money(
    study: Study, people: list[PersonRow], dues: list[Due], progress: StudyProgress
) -> Money | None:
    rule = study.payment
    if rule is None:
        return None
    owed, paid_out = (round(sum(getattr(x.pay, n) for x in dues), 2) for n in ("owed", "paid"))
    workers = [row for row in people if row.role == "annotator"]
    items, hours = sum(row.items for row in workers), sum(row.hours for row in workers)
    expected = None
    if items or not rule.per_hour:
        # Control items are paid as well, one with so many others.
        beside = 1 / (study.control.every - 1) if progress.controls else 0.0
        paid = progress.places * (1 + beside)
        expected = round(rule.per_item * paid + rule.per_hour * hours / max(1, items) * paid, 2)
    return Money(owed, paid_out, expected, rule.currency)
