"""What the owner is told of each person: the work, the admission with its reason, what is owed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from pqpp_annotation.owner.ledger import Records
from pqpp_annotation.protocol.admission import Standings
from pqpp_annotation.store.tables import Person
from pqpp_annotation.store.transactions import Transaction
from pqpp_annotation.study.study import Payment, Study
from pqpp_datasets.own_benchmark.admission import Annotator

if TYPE_CHECKING:
    import pandas

_MINUTE = 60_000
_KEPT = ("id", "name", "role", "outside", "verdict")
_MEASURED = ("kappa", "kappas", "control_images", "reference_share")


@dataclass(frozen=True)
class Owed:
    """What one person is owed.

    Attributes:
        for_items: For the items that were finished, if the person is admitted; else 0.
        for_hours: For the active hours, whoever worked them.
    """

    for_items: float
    for_hours: float

    @property
    def total(self) -> float:
        """Both, to the cent."""
        return round(self.for_items + self.for_hours, 2)


@dataclass(frozen=True, kw_only=True)
class PersonRow:
    """A person, as the owner sees one.

    Attributes:
        state: `admitted`, `refused` (a rule is not met, or the owner has decided so), `control` (a
            member of the control group), `waiting` (no vote yet), `failed` (the comprehension
            check) or `withdrawn`.
        reasons: Why the votes are not used; none for all others.
        verdict: What the owner decided, `accept` or `refuse`; "" where the rules decide.
        reopened: Whether others may do what the person did.
        stopped: Whether the person is given nothing more.
        is_bound: Whether a browser holds the person's id behind a shared link.
        flag: Why the agreement with the others is odd; "" where it is not.
        votes: Current ones on work and control items.
        items: Finished ones; `skipped` those that were passed over.
        kappa: The mean with the control group; None without an image in common.
        kappas: Member of the control group to the kappa with it.
        control_images: On how many images that is measured.
        reference_share: Of the reference images, those called highly relevant.
        agreement: With the others; None where nothing is shared.
        seconds: The median time of a vote; None without votes.
        hours: Active ones.
    """

    id: int
    name: str
    role: str
    outside: Mapping[str, Any]
    state: str
    reasons: tuple[str, ...]
    verdict: str
    reopened: bool
    stopped: bool
    is_bound: bool
    flag: str
    votes: int
    items: int
    skipped: int
    kappa: float | None = None
    kappas: Mapping[str, float] = field(default_factory=dict)
    control_images: int | None = None
    reference_share: float | None = None
    agreement: float | None
    seconds: float | None
    hours: float
    owed: Owed

    @property
    def reason(self) -> str:
        """Why the votes are not used, in English."""
        return "; ".join(self.reasons)

    @property
    def is_admitted(self) -> bool:
        """Whether the votes are used."""
        return self.state == "admitted"

    def is_refused_for_good(self, least: int) -> bool:
        """Say whether the places may open again without a word of the owner's.

        Args:
            least: Control images, of which so many make up a mind; where there are none to compare
                with, who is flagged for the agreement with the others is known well enough.
        """
        is_known = (self.control_images or 0) >= least or bool(self.flag)
        return self.state == "refused" and not (self.verdict or self.reopened) and is_known


def people_rows(
    db: Transaction, records: Records, standings: Standings, votes: pandas.DataFrame
) -> list[PersonRow]:
    """Return a row for each person but the owners, in the order in which they came.

    Args:
        standings: Who is admitted.
        votes: As `votes_table` gives them.
    """
    study = db.study
    given: Any = records.assignments.join(records.items, on="item_id")
    given = given[given["purpose"] != "training"].groupby(["person_id", "state"]).size()
    answers, rule = records.answers, study.payment
    seconds = active_seconds(
        answers["person_id"].to_numpy(np.int64),
        answers["created"].to_numpy(np.int64),
        rule.gap_minutes if rule else 2.0,
    )
    of_person: Any = votes.groupby("person_id")["seconds"].agg(["size", "median"])
    judged = {judgement.name: judgement for judgement in standings.annotators}
    places: dict[str, int] = {}
    if standings.votes is not None:
        places = {name: place for place, name in enumerate(standings.votes.annotator_names)}
    rows = []
    judging = Person.role.not_in(("owner", "trial"))
    for person in db.scalars(select(Person).where(judging).order_by(Person.id)):
        annotator, place = judged.get(person.name), places.get(person.name)
        state = _state(study, person, annotator)
        hours = seconds.get(person.id, 0.0) / 3600
        items = int(given.get((person.id, "done"), 0))
        count, median = of_person.loc[person.id] if person.id in of_person.index else (0, None)
        agreement, flag = np.nan, ""
        if place is not None and standings.agreements is not None:
            agreement = standings.agreements.agreement[place]
            flag = standings.agreements.reasons[place]
        rows.append(
            PersonRow(
                **{name: getattr(person, name) for name in _KEPT},
                state=state,
                reasons=annotator.reasons if annotator else (),
                reopened=person.reopened is not None,
                stopped=person.stopped is not None,
                is_bound=person.browser is not None,
                flag=flag,
                votes=int(count),
                items=items,
                skipped=int(given.get((person.id, "skipped"), 0)),
                **({name: getattr(annotator, name) for name in _MEASURED} if annotator else {}),
                agreement=None if np.isnan(agreement) else float(agreement),
                seconds=median,
                hours=hours,
                owed=owed(rule, person.role, state == "admitted", items, hours),
            )
        )
    return rows


def _state(study: Study, person: Person, annotator: Annotator | None) -> str:
    if person.withdrawn is not None:
        return "withdrawn"
    if person.role == "control":
        return "control"
    is_out = person.stopped is not None or person.training_tries >= study.training.tries
    if person.trained is None and person.training_tries and is_out:
        return "failed"
    if annotator is None:
        return "refused" if person.verdict == "refuse" else "waiting"
    return "refused" if annotator.reasons else "admitted"


def active_seconds(person: np.ndarray, created: np.ndarray, gap_minutes: float) -> dict[int, float]:
    """Return how long each person was at work.

    It is the sum of the times between one answer and the next, without those longer than the gap: a
    page that is left open is no work.

    Args:
        person: int64 (answers,), who answered, in any order.
        created: int64 (answers,), when, in milliseconds.
        gap_minutes: A longer pause is not counted at all.

    Example:
        >>> created = np.array([0, 60_000, 90_000, 900_000, 910_000])
        >>> active_seconds(np.ones(5, int), created, 2)
        {1: 100.0}
    """
    order = np.lexsort((created, person))
    person, created = person[order], created[order]
    passed = np.diff(created)
    counts = (np.diff(person) == 0) & (passed <= gap_minutes * _MINUTE)
    ids, code = np.unique(person, return_inverse=True)
    total = np.bincount(code[1:], np.where(counts, passed, 0), len(ids))
    return dict(zip(ids.tolist(), (total / 1000).tolist(), strict=True))


def owed(rule: Payment | None, role: str, is_admitted: bool, items: int, hours: float) -> Owed:
    """Return what a person is owed; members of the control group and owners are not paid.

    Args:
        rule: Of the study; None where nothing is paid.
        items: How many were finished, the training round apart.
        hours: Active ones.

    Example:
        >>> from pqpp_annotation.study.study import Payment
        >>> rule = Payment(per_item=0.05, per_hour=12)
        >>> owed(rule, "annotator", True, 100, 0.5).total
        11.0
        >>> owed(rule, "annotator", False, 100, 0.5).total
        6.0
    """
    if rule is None or role != "annotator":
        return Owed(0.0, 0.0)
    return Owed(rule.per_item * items if is_admitted else 0.0, rule.per_hour * hours)
