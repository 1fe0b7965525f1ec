"""All answers of a study in columns; and of each person the work, the admission, the pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Select, Text, cast, func, select

from pqpp_annotation.kinds import JUDGED
from pqpp_annotation.protocol.admission import Standings, to_study_votes
from pqpp_annotation.protocol.signals import find_careless
from pqpp_annotation.store.answers import SHOWN_MODEL
from pqpp_annotation.store.database import parse_cell
from pqpp_annotation.store.people import find_failed_checks
from pqpp_annotation.store.tables import Answer, Assignment, Item, ItemImage, Leaver, Person
from pqpp_annotation.store.transactions import Transaction
from pqpp_annotation.study.study import Payment, Study
from pqpp_datasets.own_benchmark.admission import Annotator
from pqpp_datasets.own_benchmark.trust.reason import Reason
from pqpp_datasets.own_benchmark.votes.votes import Votes

if TYPE_CHECKING:
    import pandas

_KEPT = ("id", "name", "role", "verdict")
_MEASURED = ("kappa", "control_images", "reference_share")
_WHOLE = -1  # the image of an answer about its item


@dataclass(frozen=True)
class Records:
    """The content of a database, in tables indexed by its ids; times are in milliseconds.

    Answers of trial links are left out.

    Attributes:
        answers: assignment_id, item_image_id, created, seconds, current (False once it was
            replaced), value, label (NaN if the kind has none), turned (whether the second of a pair
            was on the left), and the columns of the assignment.
        assignments: person_id, item_id, given (time), state, finished (NaN before); purpose, of the
            item.
        items: prompt_id, prompt.
        images: image (its name), model ("reference" for a reference image).
    """

    answers: pandas.DataFrame
    assignments: pandas.DataFrame
    items: pandas.DataFrame
    images: pandas.DataFrame


def read_records(db: Transaction) -> Records:
    """Return all that there is."""
    import pandas

    image = func.coalesce(Answer.item_image_id, _WHOLE).label("item_image_id")
    said = (Answer.created, Answer.seconds, Answer.current, cast(Answer.value, Text).label("value"))
    query = select(Answer.id, Answer.assignment_id, image, *said)
    types = {"assignment_id": int, "item_image_id": int, "created": int, "current": bool}
    answers = _read_rows(db, query.order_by(Answer.id), seconds=float, **types)
    codes, texts = pandas.factorize(answers.pop("value"))  # most answers are a few texts
    values = [parse_cell(text) for text in texts]
    answers["value"] = [values[code] for code in codes]
    answers["label"] = np.array([*map(db.study.kind.get_label, values)], float)[codes]
    answers["turned"] = np.array([value.get("left") == "b" for value in values], bool)[codes]
    when = (Assignment.created.label("given"), Assignment.state, Assignment.finished)
    assigned = select(Assignment.id, Assignment.person_id, Assignment.item_id, *when, Item.purpose)
    types = {"person_id": int, "item_id": int, "given": int, "finished": float}
    assigned = assigned.join(Person).join(Item).where(Person.role != "trial")
    assignments = _read_rows(db, assigned.order_by(Assignment.id), **types)
    items = select(Item.id, Item.prompt_id, Item.prompt).order_by(Item.id)
    images = select(ItemImage.id, ItemImage.image, SHOWN_MODEL).order_by(ItemImage.id)
    return Records(
        answers=answers.join(assignments, on="assignment_id", how="inner"),
        assignments=assignments,
        items=_read_rows(db, items),
        images=_read_rows(db, images),
    )


def _read_rows(db: Transaction, query: Select, **types: type) -> pandas.DataFrame:
    """Return the rows of a query, those of the columns that are not texts in their types."""
    import pandas

    table = pandas.read_sql_query(query, db.connection())
    return table.astype({"id": int, **types}).set_index("id")


def make_votes_table(db: Transaction, records: Records) -> tuple[Votes | None, pandas.DataFrame]:
    """Return the table of votes that admission is computed from, as that of the export.

    Returns:
        The table of `pqpp build`; and its rows, with the columns of `records` and the person's,
        and what `find_careless` needs.
    """
    kind, answers = db.study.kind, records.answers.copy()
    answers["spent"] = answers.groupby("assignment_id")["seconds"].transform("sum")
    is_used = answers["current"] & answers["label"].notna() & (answers["state"] != "skipped")
    votes = answers[is_used].join(records.items, on="item_id")
    people = _read_rows(db, select(Person.id, Person.name.label("annotator"), Person.role))
    votes = votes[votes["purpose"].isin(JUDGED)].join(people, on="person_id")
    # The order of the export: item by item, person by person, image by image.
    votes = votes.sort_values(["item_id", "person_id", "item_image_id"], kind="stable")
    votes = votes.join(records.images, on="item_image_id")
    if not kind.about_image:
        votes = votes.assign(image="", model="")
    votes["control"] = votes["role"] == "control"
    votes["unit"] = votes["item_image_id" if kind.about_image else "item_id"]
    compared = votes if kind.about_image else votes.assign(image=votes["item_id"].astype(str))
    return to_study_votes(compared, kind, db.study.task), votes


@dataclass(frozen=True)
class Pay:
    """What one person has worked and earned, to the cent, and has been paid.

    Attributes:
        items: Finished ones.
        hours: Active ones.
        for_items: Pay for finished items if the person is admitted, else 0.
        for_hours: Pay for active hours.
        payments: Moment of each payment to its amount.
    """

    items: int
    hours: float
    for_items: float
    for_hours: float
    payments: Mapping[str, float]

    @property
    def earned(self) -> float:
        """Both sums."""
        return round(self.for_items + self.for_hours, 2)

    @property
    def paid(self) -> float:
        """All payments."""
        return round(sum(self.payments.values()), 2)

    @property
    def owed(self) -> float:
        """The sum still to be paid; never negative."""
        return max(0.0, round(self.earned - self.paid, 2))


@dataclass(frozen=True, kw_only=True)
class PersonRow:
    """A person, as the owner sees one.

    Attributes:
        state: `admitted`, `refused` (a rule is not met, or the owner has decided so), `control` (a
            member of the control group), `waiting` (no vote yet), `failed` (the comprehension
            check) or `withdrawn`.
        reasons: Why the votes are not used; none for all others.
        verdict: What the owner decided, `accept` or `refuse`; "" if the rules decide.
        reopened: Whether others may do what the person did.
        stopped: Whether the person gets no more items.
        is_bound: Whether a browser contains the person's id behind a shared link.
        flag: What is unusual about the answers, "" for nothing.
        is_proven: Whether a signal of careless people is proven, regardless of the number of tests,
            or too many checks were failed.
        votes: Current ones on work and control items.
        items: Finished ones; `skipped` those that were passed over.
        kappa: The mean with the control group; None without an image in common.
        control_images: On how many images that is measured.
        reference_share: Share of reference images rated highly relevant.
        agreement: Agreement with others; None without shared items.
        seconds: The median time of a vote; None without votes.
        hours: Active ones.
    """

    id: int
    name: str
    role: str
    state: str
    reasons: tuple[str, ...]
    verdict: str
    reopened: bool
    stopped: bool
    is_bound: bool
    flag: str
    is_proven: bool
    votes: int
    items: int
    skipped: int
    kappa: float | None = None
    control_images: int | None = None
    reference_share: float | None = None
    agreement: float | None
    seconds: float | None
    hours: float
    pay: Pay

    @property
    def reason(self) -> str:
        """Why the votes are not used, in English."""
        return "; ".join(self.reasons)

    @property
    def is_admitted(self) -> bool:
        """Whether the votes are used."""
        return self.state == "admitted"

    def is_refused_for_good(self, study: Study) -> bool:
        """Return whether the person's items may reopen without a decision by the owner.

        The rules refuse, and enough control images or a proven signal make up a mind; or the study
        excludes who is flagged, and a signal is proven: a flag alone may lift.
        """
        is_refused = self.state == "refused"
        is_out = self.is_proven and (is_refused or study.admission.exclude is not None)
        is_out |= is_refused and (self.control_images or 0) >= (study.reopen_after or 0)
        return is_out and not (self.verdict or self.reopened)


def list_people(
    db: Transaction, records: Records, standings: Standings, votes: pandas.DataFrame
) -> list[PersonRow]:
    """Return a row for each person but the owners, in order of arrival.

    Args:
        standings: The admitted people.
        votes: The output of `make_votes_table`.
    """
    study = db.study
    careless = find_careless(votes, study.kind) | find_failed_checks(db)
    counts: Any = records.assignments
    counts = counts[counts["purpose"] != "training"].groupby(["person_id", "state"]).size()
    rule = study.payment
    seconds = compute_active_seconds(records.answers, rule or Payment())
    of_person: Any = votes.groupby("person_id")["seconds"].agg(["size", "median"])
    judged = {judgement.name: judgement for judgement in standings.annotators}
    flags: dict[str, tuple[float, str]] = {}
    if standings.votes is not None and (found := standings.agreements) is not None:
        facts = zip(found.agreement, found.reasons, strict=True)
        flags = dict(zip(standings.votes.annotator_names, facts, strict=True))
    rows = []
    judging = Person.role.not_in(("owner", "trial"))
    for person in db.scalars(select(Person).where(judging).order_by(Person.id)):
        annotator = judged.get(person.name)
        state = _get_state(study, person, annotator)
        hours = seconds.get(person.id, 0.0) / 3600
        own_rule = None if state == "withdrawn" else rule
        items = int(counts.get((person.id, "done"), 0))
        count, median = of_person.loc[person.id] if person.id in of_person.index else (0, None)
        agreement, flag = flags.get(person.name, (np.nan, ""))
        rows.append(
            PersonRow(
                **{name: getattr(person, name) for name in _KEPT},
                state=state,
                reasons=annotator.reasons if annotator else (),
                reopened=person.reopened is not None,
                stopped=person.stopped is not None,
                is_bound=person.browser is not None,
                flag=flag or careless.get(person.name, ""),
                is_proven=person.name in careless,
                votes=int(count),
                items=items,
                skipped=int(counts.get((person.id, "skipped"), 0)),
                **({name: getattr(annotator, name) for name in _MEASURED} if annotator else {}),
                agreement=None if np.isnan(agreement) else float(agreement),
                seconds=median,
                hours=hours,
                pay=get_pay(own_rule, person.role, state == "admitted", items, hours, person.paid),
            )
        )
    return rows


def _get_state(study: Study, person: Person, annotator: Annotator | None) -> str:
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


def compute_active_seconds(answers: pandas.DataFrame, rule: Payment) -> dict[int, float]:
    """Return each person's active time in seconds.

    The time of an item is what the browser counted while its page was visible, changes included; if
    it counted nothing, the server's time since the previous answer or the assignment of the item.
    It is at most `max_minutes`. The browser is trusted as far as the server's clock allows: items
    that were open at the same time took together no longer than from the first assignment to the
    last answer. A clock that was put back bounds nothing.

    Args:
        answers: The answers in `Records`.

    Example:
        >>> import pandas
        >>> answers = {"assignment_id": [1, 2], "person_id": 7, "given": 0}
        >>> answers |= {"created": [90_000, 100_000], "seconds": [90.0, 60.0]}  # ten at most
        >>> compute_active_seconds(pandas.DataFrame(answers), Payment())
        {7: 100.0}
    """
    how = {"id": "last", "person_id": "first", "given": "first", "created": "last"}
    rows: Any = answers.rename_axis("id").reset_index().groupby("assignment_id")
    items = rows.agg({**how, "seconds": "sum"}).sort_values(["person_id", "id"])
    person, begun, ended = (items[name] for name in ("person_id", "given", "created"))
    before = ended.groupby(person).shift()
    by_server = (ended - np.fmax(begun, before)) / 1000
    counted = items["seconds"].where(items["seconds"] > 0, by_server)
    counted = counted.clip(0, 60 * rule.max_minutes)
    chain = (~((begun < before) & (before <= ended))).cumsum()  # of items held at the same time
    start = begun.where(begun <= ended, ended - 1000 * counted).groupby(chain).transform("min")
    beyond = counted.groupby(chain).cumsum() - (ended - start) / 1000
    beyond = beyond.groupby(chain).transform("max").clip(lower=0).where(~chain.duplicated(), 0)
    return (counted - beyond).groupby(person).sum().to_dict()


def get_pay(
    rule: Payment | None,
    role: str,
    is_admitted: bool,
    items: int,
    hours: float,
    payments: Mapping[str, float],
) -> Pay:
    """Compute a person's pay; control members and owners are not paid.

    Half a cent is a cent. What who has left has earned is kept apart, in `Leaver`.

    Args:
        rule: The study's rule; None without pay.
        items: Number of finished items, without training.
        hours: Active ones.
        payments: Time of each payment so far to its amount.

    Example:
        >>> from pqpp_annotation.study.study import Payment
        >>> rule = Payment(per_item=0.05, per_hour=12)
        >>> get_pay(rule, "annotator", True, 100, 0.5, {}).earned
        11.0
        >>> get_pay(rule, "annotator", False, 100, 0.5, {"2026-01-01T00:00Z": 2.5}).owed
        3.5
        >>> get_pay(rule, "control", True, 100, 0.5, {}).earned
        0.0
    """
    rule = rule if rule and role == "annotator" else Payment()
    for_items, for_hours = (
        float(Decimal(str(round(rate * count, 8))).quantize(Decimal("0.01"), ROUND_HALF_UP))
        for rate, count in ((rule.per_item, items * is_admitted), (rule.per_hour, hours))
    )
    return Pay(items, hours, for_items, for_hours, payments)


@dataclass(frozen=True)
class Due:
    """A row of the payment table: whom to pay, what for, and else why not.

    Attributes:
        payee: The person's id, on the recruiting site if any.
        name: The pseudonym; of who has left, the code that the last page showed.
        reason: Why the items are not paid; of who has left, that.
    """

    payee: Person | Leaver
    name: str
    is_admitted: bool
    reason: str
    pay: Pay

    @property
    def way(self) -> str:
        """How the person is paid: prolific, or by hand."""
        return "prolific" if self.payee.outside.get("PROLIFIC_PID") else "hand"


def list_dues(db: Transaction, people: list[PersonRow]) -> list[Due]:
    """List the earnings of each annotator who worked; those who left are last."""
    dues = [
        Due(db.get_one(Person, row.id), row.name, row.is_admitted, row.reason, row.pay)
        for row in people
        if row.role == "annotator" and row.state != "withdrawn" and (row.items or row.hours)
    ]
    for left in db.scalars(select(Leaver).order_by(Leaver.key)):
        if left.earned:
            pay = Pay(0, 0.0, **left.earned, payments=left.paid)
            dues.append(Due(left, left.name, pay.for_items > 0, Reason("withdrawn"), pay))
    return dues
