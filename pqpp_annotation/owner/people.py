"""What the owner is told of each person: the work, the admission with its reason, what is owed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, select

from pqpp_annotation.owner.ledger import DONE, SKIPPED
from pqpp_annotation.owner.payment import Owed, owed
from pqpp_annotation.protocol.activity import active_seconds
from pqpp_annotation.protocol.admission import Standings
from pqpp_annotation.store.tables import Event, Person

if TYPE_CHECKING:
    from pqpp_annotation.owner.ledger import Items, StudyAnswers
    from pqpp_annotation.study.study import Study

STATES = ("admitted", "refused", "control", "waiting", "failed", "withdrawn")


@dataclass(frozen=True)
class PersonRow:
    """A person, as the owner sees one.

    Attributes:
        state: `admitted`, `refused` (a rule is not met), `control` (a member of the control group),
            `waiting` (no vote yet), `failed` (the comprehension check) or `withdrawn`.
        reason: Why the votes are not used; "" for all others.
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
        last: When the person was last at work, in milliseconds; None before.
    """

    id: int
    name: str
    role: str
    outside: Mapping[str, Any]
    state: str
    reason: str
    flag: str
    votes: int
    items: int
    skipped: int
    kappa: float | None
    kappas: Mapping[str, float]
    control_images: int | None
    reference_share: float | None
    agreement: float | None
    seconds: float | None
    hours: float
    last: int | None
    owed: Owed

    @property
    def is_admitted(self) -> bool:
        """Whether the votes are used."""
        return self.state == "admitted"


def people_rows(
    db: Connection, study: Study, answers: StudyAnswers, items: Items, found: Standings
) -> list[PersonRow]:
    """Return a row for each person but the owners, in the order in which they came.

    Args:
        db: A connection in a transaction that reads.
        study: The study.
        answers: All.
        items: All.
        found: Who is admitted.
    """
    counts = _counts(answers, items)
    seconds, last = _active(db, answers, study.payment.gap_minutes if study.payment else 2.0)
    names: dict[str, int] = {}
    times: dict[str, float] = {}
    if found.votes is not None:
        names = {name: place for place, name in enumerate(found.votes.annotator_names)}
        times = _medians(found)
    known = {one.name: one for one in found.annotators}
    query = (
        select(
            Person.id,
            Person.name,
            Person.role,
            Person.outside,
            Person.withdrawn,
            Person.trained,
            Person.training_tries,
        )
        .where(Person.role != "owner")
        .order_by(Person.id)
    )
    rows = []
    for person in db.execute(query):
        one, place = known.get(person.name), names.get(person.name)
        state = _state(study, person, one, place)
        hours = seconds.get(person.id, 0.0) / 3600
        done, skipped = (counts.get((person.id, state), 0) for state in (DONE, SKIPPED))
        agreed, flag = None, ""
        if place is not None and found.agreements:
            agreed = found.agreements.agreement[place]
            flag = found.agreements.reasons[place] if agreed is not None else ""
        rows.append(
            PersonRow(
                id=person.id,
                name=person.name,
                role=person.role,
                outside=person.outside,
                state=state,
                reason="; ".join(one.reasons) if one else "",
                flag=flag,
                votes=_votes(found, place),
                items=done,
                skipped=skipped,
                kappa=one.kappa if one else None,
                kappas=one.kappas if one else {},
                control_images=one.control_images if one else None,
                reference_share=one.reference_share if one else None,
                agreement=None if agreed is None or np.isnan(agreed) else float(agreed),
                seconds=times.get(person.name),
                hours=hours,
                last=last.get(person.id) or None,
                owed=owed(study.payment, person.role, state == "admitted", done, hours),
            )
        )
    return rows


def _state(study: Study, person, one, place: int | None) -> str:
    if person.withdrawn is not None:
        return "withdrawn"
    if person.role == "control":
        return "control"
    if person.trained is None and person.training_tries >= study.training.tries:
        return "failed"
    if one is None:
        return "waiting"
    return "refused" if one.reasons else "admitted"


def _votes(found: Standings, place: int | None) -> int:
    if place is None or found.votes is None:
        return 0
    return int((found.votes.annotator == place).sum())


def _counts(answers: StudyAnswers, items: Items) -> dict[tuple[int, int], int]:
    """Return how many items each person has finished and skipped, the training round apart."""
    given = answers.given
    work = items.purpose[items.place(given.item)] != "training"
    keys, counts = np.unique(
        np.stack([given.person[work], given.state[work]]), axis=1, return_counts=True
    )
    pairs = map(tuple, keys.T.tolist())
    return dict(zip(pairs, counts.tolist(), strict=True))


def _active(
    db, answers: StudyAnswers, gap_minutes: float
) -> tuple[dict[int, float], dict[int, int]]:
    """Return the active seconds of each person, and when each did something last."""
    rows = db.execute(select(Event.person_id, Event.created, Event.kind == "away")).fetchall()
    event = np.array(list(map(tuple, rows)), np.int64).reshape(-1, 3).T
    given = answers.given
    person = np.concatenate([answers.person, event[0], given.person])
    created = np.concatenate([answers.created, event[1], given.created])
    is_away = np.zeros(len(person), bool)
    is_away[len(answers) : len(answers) + event.shape[1]] = event[2]
    last = np.zeros(int(person.max(initial=0)) + 1, np.int64)
    np.maximum.at(last, person, created)
    return active_seconds(person, created, is_away, gap_minutes), dict(enumerate(last.tolist()))


def _medians(found: Standings) -> dict[str, float]:
    """Return the median time of a vote of each person."""
    votes = found.votes
    assert votes is not None and votes.seconds is not None
    order = np.argsort(votes.annotator, kind="stable")
    numbers, starts = np.unique(votes.annotator[order], return_index=True)
    parts = np.split(votes.seconds[order], starts[1:])
    return {
        votes.annotator_names[number]: float(np.median(part))
        for number, part in zip(numbers.tolist(), parts, strict=True)
    }


def people_csv(rows: list[PersonRow]) -> Iterator[dict[str, Any]]:
    r"""Give the table of people as it is downloaded.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> from pqpp_annotation.owner.overview import overview
        >>> from pqpp_annotation.owner.ledger import Ledger
        >>> with store.reading() as db:
        ...     look = overview(db, store, study, Ledger(store, study), "")
        >>> store.close()
        >>> [(row["annotator"], row["items"]) for row in people_csv(look.people)]
        [('ann', 1), ('bob', 1)]
    """
    for row in rows:
        yield {
            "annotator": row.name,
            "role": row.role,
            "state": row.state,
            "reason": row.reason,
            "flag": row.flag,
            "votes": row.votes,
            "items": row.items,
            "skipped": row.skipped,
            "kappa": row.kappa,
            "control_images": row.control_images,
            "reference_share": row.reference_share,
            "agreement": row.agreement,
            "seconds": row.seconds,
            "active_hours": round(row.hours, 3),
        }
