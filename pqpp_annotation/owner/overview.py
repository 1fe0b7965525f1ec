"""The state of a study: progress, votes per day, agreement, people, disputes, time left, costs."""

from __future__ import annotations

import contextlib
import datetime
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from sqlalchemy import Text, cast, func, select

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.owner import ledger
from pqpp_annotation.owner.ledger import PaymentRow, PersonRow
from pqpp_annotation.protocol.admission import FilterResult, filter_people, to_build_options
from pqpp_annotation.store.answers import Records, read_records
from pqpp_annotation.store.items import count_items
from pqpp_annotation.store.people import get_verdicts, refuse_by_rules
from pqpp_annotation.store.tables import Answer, Assignment, Event, Item, Leaver, Person, StudyRow
from pqpp_annotation.store.transactions import Store, Transaction
from pqpp_annotation.study.study import Study

DISPUTES = 500


def compute_disagreements(
    unit: np.ndarray, value: np.ndarray, units: int, is_nominal: bool = False
) -> np.ndarray:
    """Return the mean distance between two votes on each unit.

    Args:
        unit: Unit of each vote, 0 to `units` - 1; int64, shape (votes,).
        value: Value of each vote; float64, shape (votes,).
        is_nominal: Whether any two different values have distance 1.

    Returns:
        float64, shape (units,); NaN for units with fewer than two votes.

    Example:
        >>> unit, value = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 4.0, 1.0])
        >>> compute_disagreements(unit, value, 2).tolist()
        [2.0, nan]
    """
    values, code = np.unique(value, return_inverse=True)
    counts = np.bincount(unit * len(values) + code, minlength=units * len(values))
    counts = counts.reshape(units, len(values)).astype(float)
    distances = np.abs(values[:, None] - values)
    if is_nominal:
        distances = np.sign(distances)
    pairs = counts.sum(axis=1) * (counts.sum(axis=1) - 1)
    with np.errstate(invalid="ignore"):
        return np.where(pairs > 0, (counts @ distances * counts).sum(axis=1), np.nan) / pairs


def rank_disputes(standings: FilterResult, rows: pandas.DataFrame) -> list[dict[Any, Any]]:
    """Return up to 500 items with different votes on an image, most disputed first.

    Votes of refused people and votes on reference images are ignored.

    Args:
        standings: Output of `filter_people`.
        rows: The table from `make_votes_table`.

    Returns:
        The `item_id`, `prompt_id` and `prompt` of each item; its `disagreement`, the mean distance
        between two votes on its most disputed image, divided by the range of the scale (on a
        nominal scale, the share of pairs that differ); and its `labels`, the number of votes on
        that image by label, lowest label first.
    """
    votes = standings.votes
    if votes is None:
        return []
    refused = {annotator.name for annotator in standings.annotators if annotator.reasons}
    is_used = ~rows["annotator"].isin(refused).to_numpy() & ~votes.reference
    units = rows.iloc[votes.first].reset_index(drop=True)
    item, value, scale = votes.item[is_used], votes.value[is_used], votes.scale
    is_nominal = scale.level == "nominal"
    span = 1.0 if is_nominal else (scale.high - scale.low) or 1.0
    units["disagreement"] = compute_disagreements(item, value, len(units), is_nominal) / span
    disputed = units[units["disagreement"] > 0].sort_values(
        ["disagreement", "item_id"], ascending=[False, True], kind="stable"
    )
    disputed = disputed.drop_duplicates("item_id").iloc[:DISPUTES]  # keeps the most disputed image
    labels: Any = rows["label"].groupby([votes.item, is_used]).value_counts(sort=False).sort_index()
    disputed["labels"] = [labels[index, True].to_dict() for index in disputed.index]
    names = ["item_id", "prompt_id", "prompt", "disagreement", "labels"]
    return disputed[names].to_dict("records")


DAY = 86_400_000
_TEN_MINUTES = 600_000
_REOPEN_SECONDS = 15.0  # minimum time between recomputations that answers trigger
_REUSE_FACTOR = 4  # an overview is reused for this many times its computing time


@dataclass(frozen=True)
class StudyProgress:
    """The progress and speed of a study; an item has `people_per_item` places.

    Attributes:
        items: Number of work items.
        complete: Number of work items with all places filled.
        places: Number of places of all work items.
        filled: Number of places filled by people whose votes are used.
        closed: Number of places filled by refused people and not open to others.
        controls: Number of control items.
        per_day: Places filled in the last 24 hours, extrapolated if the study is younger.
        days_left: Days to fill the other places at this speed; None if the speed is 0.
    """

    items: int
    complete: int
    places: int
    filled: int
    closed: int
    controls: int
    per_day: float
    days_left: float | None

    @property
    def share(self) -> float:
        """Share of filled places, 0 to 1."""
        return self.filled / self.places if self.places else 0.0


@dataclass(frozen=True)
class Overview:
    """The state of a study at one moment.

    Attributes:
        key: Key that changes whenever the study does, and every ten minutes.
        paused: Time of pausing in milliseconds; None while the study runs.
        days: Date (UTC) and number of votes of each day, oldest first, without gaps.
        labels: Number of annotators' current votes by label, lowest label first.
        money: Totals of unpaid earnings (`owed`), of payments (`paid`), and when all places are
            filled (`expected`; None if unknown, because only hours are paid and nobody has worked
            yet), and the `currency`; None for a study that pays nothing.
    """

    key: str
    paused: int | None
    progress: StudyProgress
    days: list[tuple[datetime.date, int]]
    labels: dict[float, int]
    standings: FilterResult
    people: list[PersonRow]
    dues: list[PaymentRow]
    disputes: list[dict[Any, Any]]
    money: dict[str, Any] | None

    def count_people(self, state: str) -> int:
        """Return the number of people in a state."""
        return sum(row.state == state for row in self.people)


class StudyMonitor:
    """A cache of a study's overview, recomputed after changes.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> [(row.name, row.votes) for row in StudyMonitor(store).get_overview().people]
        [('ann', 1), ('bob', 1)]
        >>> store.close()
    """

    def __init__(self, store: Store) -> None:
        self.study, self.store = store.study, store
        self._lock = threading.Lock()
        self._last: Overview | None = None
        self._next_check = self._next_reopening = 0.0

    def get_overview(self, fresh: bool = False) -> Overview:
        """Return the state of the study.

        Args:
            fresh: Whether to check for changes even if the last check was a moment ago.
        """
        with self._lock:
            start = time.monotonic()
            if self._last is None or fresh or start >= self._next_check:
                with self.store.begin_read() as db:
                    key = _get_change_key(db)
                    if self._last is None or self._last.key != key:
                        self._last = compute_overview(db, key)
                end = time.monotonic()
                self._next_check = end + _REUSE_FACTOR * (end - start)
            return self._last

    def reopen_places_if_due(self) -> None:
        """Call `reopen_places` in a thread, at most every 15 s, if `reopen_after` is set."""
        if self.study.reopen_after is not None and time.monotonic() >= self._next_reopening:
            self._next_reopening = time.monotonic() + _REOPEN_SECONDS
            threading.Thread(target=self._try_to_reopen_places, daemon=True).start()

    def _try_to_reopen_places(self) -> None:
        with contextlib.suppress(AnnotationError, OSError):  # pages report an unavailable database
            self.reopen_places()

    def reopen_places(self) -> list[str]:
        """Open to others all places of people who are refused for good, and return their names."""
        people = self.get_overview().people
        refused = [row.id for row in people if row.is_refused_for_good(self.study)]
        return refuse_by_rules(self.store, refused)

    def record_payments(self, method: str) -> list[PaymentRow]:
        """Record all amounts due by a payment method as paid, and return the rows from before.

        Args:
            method: `prolific` or `hand`.

        Raises:
            AnnotationError: No payments are due by this method.
        """
        with self.store.begin_write(lock=True) as db:
            dues = [x for x in compute_overview(db, "").dues if x.pay.owed and x.method == method]
            timestamp = datetime.datetime.fromtimestamp(db.now() / 1000, datetime.UTC).isoformat()
            for due in dues:  # a time can recur if the clock was set back
                paid = round(due.pay.payments.get(timestamp, 0.0) + due.pay.owed, 2)
                due.payee.paid = {**due.pay.payments, timestamp: paid}
        if not dues:
            raise AnnotationError("no payments are due for this method; reload the page", 409)
        self.get_overview(fresh=True)
        return dues


def _get_change_key(db: Transaction) -> str:
    """Return a key that differs after any change visible to the owner, and every ten minutes."""
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
    records = read_records(db)
    table, votes = ledger.make_votes_table(db.study, records)
    standings = filter_people(table, to_build_options(db.study), get_verdicts(db))
    people = ledger.list_people(db, records, standings, votes)
    progress, dues = _compute_progress(db, records, people), ledger.list_payment_rows(db, people)
    moments = pandas.to_datetime(votes["created"].to_numpy(), unit="ms")
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
        money=_compute_costs(db.study, people, dues, progress),
    )


def _compute_progress(db: Transaction, records: Records, people: list[PersonRow]) -> StudyProgress:
    places, items = db.study.people_per_item, count_items(db)
    done = records.assignments
    done = done[(done["state"] == "done") & (done["purpose"] == "work")]
    workers = {row.id: row for row in people if row.role == "annotator"}
    usable = [key for key, row in workers.items() if row.state not in ("refused", "failed")]
    counted: Any = done[done["person_id"].isin(usable)].groupby("item_id").size().clip(upper=places)
    refused = [key for key, row in workers.items() if row.state == "refused" and not row.reopened]
    closed = int(done["person_id"].isin(refused).sum())
    filled, complete = int(counted.sum()), int((counted >= places).sum())
    counts = (items.work, complete, items.work * places, filled, closed, items.control)
    now, finished = db.now(), done["finished"][done["person_id"].isin(list(workers))]
    recent = int((finished > now - DAY).sum())
    if not recent:
        return StudyProgress(*counts, 0.0, None)
    per_day = recent * DAY / min(DAY, max(now - int(finished.min()), 60_000))
    return StudyProgress(*counts, per_day, max(0, items.work * places - filled) / per_day)


def _compute_costs(
    study: Study, people: list[PersonRow], dues: list[PaymentRow], progress: StudyProgress
) -> dict[str, Any] | None:
    rule = study.payment
    if rule is None:
        return None
    owed, paid = (round(sum(getattr(x.pay, n) for x in dues), 2) for n in ("owed", "paid"))
    workers = [row for row in people if row.role == "annotator"]
    items, hours = sum(row.items for row in workers), sum(row.hours for row in workers)
    expected = None
    if items or not rule.per_hour:
        # Control items, one in `every`, are paid as well.
        control_share = 1 / (study.control.every - 1) if progress.controls else 0.0
        n_paid = progress.places * (1 + control_share)
        expected = round(rule.per_item * n_paid + rule.per_hour * hours / max(1, items) * n_paid, 2)
    return {"owed": owed, "paid": paid, "expected": expected, "currency": rule.currency}
