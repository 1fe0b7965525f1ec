"""Each person's votes, work, admission and pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pandas
from sqlalchemy import select

from pqpp_annotation.kinds import RATED
from pqpp_annotation.protocol.admission import FilterResult, to_study_votes
from pqpp_annotation.protocol.signals import find_careless_people
from pqpp_annotation.store.answers import Records
from pqpp_annotation.store.people import find_failed_checks
from pqpp_annotation.store.tables import Leaver, Person
from pqpp_annotation.store.transactions import Transaction
from pqpp_annotation.study.study import Payment, Study
from pqpp_datasets.own_benchmark.admission import Annotator
from pqpp_datasets.own_benchmark.trust.reason import Reason
from pqpp_datasets.own_benchmark.votes.votes import Votes

_PERSON_FIELDS = ("id", "name", "role", "verdict")
_ANNOTATOR_FIELDS = ("kappa", "control_images", "reference_share")


def make_votes_table(study: Study, records: Records) -> tuple[Votes | None, pandas.DataFrame]:
    """Return the current votes on work and control items.

    Returns:
        The votes as `pqpp build` reads them from an export, None if there are none; and a table of
        the same votes, with columns of the records and the person, and those that
        `find_careless_people` needs.
    """
    kind, seconds = study.kind, records.answers.groupby("assignment_id")["seconds"]
    votes = records.select_votes().assign(spent=seconds.transform("sum"))
    votes = votes[votes["label"].notna() & votes["purpose"].isin(RATED)]
    votes = votes.join(records.items, on="item_id").join(records.people, on="person_id")
    votes = votes.join(records.images[["image", "model"]], on="item_image_id")
    if not kind.about_image:
        votes = votes.assign(image="", model="")
    votes["control"] = votes["role"] == "control"
    votes["unit"] = votes["item_image_id" if kind.about_image else "item_id"]
    comparable = votes if kind.about_image else votes.assign(image=votes["item_id"].astype(str))
    return to_study_votes(comparable, kind, study.task), votes


@dataclass(frozen=True)
class Pay:
    """A person's work, earnings and payments; amounts are rounded to cents.

    Attributes:
        items: Number of finished items.
        hours: Active hours.
        for_items: Pay for finished items, 0 unless the person is admitted.
        for_hours: Pay for active hours.
        payments: Amounts of the payments, by ISO time.
    """

    items: int
    hours: float
    for_items: float
    for_hours: float
    payments: Mapping[str, float]

    @property
    def earned(self) -> float:
        """Total earnings, paid or not."""
        return round(self.for_items + self.for_hours, 2)

    @property
    def paid(self) -> float:
        """Total of all payments."""
        return round(sum(self.payments.values()), 2)

    @property
    def owed(self) -> float:
        """Unpaid earnings, at least 0."""
        return max(0.0, round(self.earned - self.paid, 2))


@dataclass(frozen=True, kw_only=True)
class PersonRow:
    """A person on the owner's pages.

    Attributes:
        state: `admitted`, `refused` (by the rules or the owner), `control` (control member),
            `waiting` (no votes yet), `failed` (the training round) or `withdrawn`.
        reasons: Reasons why the votes are not used; empty if they are.
        verdict: The owner's decision, `accept` or `refuse`; "" if the rules decide.
        reopened: Whether the person's items are open to others again.
        stopped: Whether the person gets no more items.
        is_bound: Whether the person's id on a shared link is bound to one browser.
        flag: How the answers are unusual; "" if they are not.
        is_proven: Whether carelessness is proven, or too many checks were failed.
        votes: Number of current votes on work and control items.
        items: Number of finished items.
        skipped: Number of skipped items.
        kappa: Mean kappa with the control members; None without shared images.
        control_images: Number of images shared with control members.
        reference_share: Share of reference images rated highly relevant, 0 to 1.
        agreement: Agreement with others; None without shared items.
        seconds: Median seconds per vote; None without votes.
        hours: Active hours.
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
        """All reasons as one English text."""
        return "; ".join(self.reasons)

    @property
    def is_admitted(self) -> bool:
        """Whether the votes are used."""
        return self.state == "admitted"

    def is_refused_for_good(self, study: Study) -> bool:
        """Return whether the person's items can be opened to others without the owner's decision.

        They can if the person is refused and shares at least `reopen_after` images with control
        members, or if carelessness is proven and the person is refused or `exclude` is set; but not
        once the owner has decided or the items were opened.
        """
        is_refused = self.state == "refused"
        is_final = self.is_proven and (is_refused or study.admission.exclude is not None)
        is_final |= is_refused and (self.control_images or 0) >= (study.reopen_after or 0)
        return is_final and not (self.verdict or self.reopened)


def list_people(
    db: Transaction, records: Records, standings: FilterResult, votes: pandas.DataFrame
) -> list[PersonRow]:
    """Return a row for each annotator and control member, in order of arrival.

    Args:
        standings: Output of `filter_people`.
        votes: The table from `make_votes_table`.
    """
    study = db.study
    careless = find_careless_people(votes, study.kind) | find_failed_checks(db)
    counts: Any = records.assignments
    counts = counts[counts["purpose"] != "training"].groupby(["person_id", "state"]).size()
    payment_rule = study.payment or Payment()
    seconds = compute_active_seconds(records.answers, payment_rule)
    stats: Any = votes.groupby("person_id")["seconds"].agg(["size", "median"])
    annotators = {annotator.name: annotator for annotator in standings.annotators}
    flags: dict[str, tuple[float, str]] = {}
    if standings.votes is not None and (agreements := standings.agreements) is not None:
        pairs = zip(agreements.agreement, agreements.reasons, strict=True)
        flags = dict(zip(standings.votes.annotator_names, pairs, strict=True))
    rows = []
    is_rater = Person.role.not_in(("owner", "trial"))
    for person in db.scalars(select(Person).where(is_rater).order_by(Person.id)):
        annotator = annotators.get(person.name)
        state = _get_person_state(study, person, annotator)
        hours = seconds.get(person.id, 0.0) / 3600
        is_paid = person.role == "annotator" and state != "withdrawn"
        rule = payment_rule if is_paid else Payment()
        items = int(counts.get((person.id, "done"), 0))
        count, median = stats.loc[person.id] if person.id in stats.index else (0, None)
        agreement, flag = flags.get(person.name, (np.nan, ""))
        rows.append(
            PersonRow(
                **{name: getattr(person, name) for name in _PERSON_FIELDS},
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
                **({n: getattr(annotator, n) for n in _ANNOTATOR_FIELDS} if annotator else {}),
                agreement=None if np.isnan(agreement) else float(agreement),
                seconds=median,
                hours=hours,
                pay=get_pay(rule, state == "admitted", items, hours, person.paid),
            )
        )
    return rows


def _get_person_state(study: Study, person: Person, annotator: Annotator | None) -> str:
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
    """Return active times in seconds, by person id.

    The time of an item is the browser's count while its page was visible, including changes of
    answers. If that is 0, it is the server's time since the assignment or the previous answer. It
    is at most `max_minutes`. Items that were open at the same time count together at most the time
    from the first assignment to the last answer, unless the server's clock was set back.

    Args:
        answers: The table `Records.answers`.
        rule: The study's payment.

    Example:
        >>> import pandas
        >>> answers = {"assignment_id": [1, 2], "person_id": 7, "given": 0}
        >>> answers |= {"created": [90_000, 100_000], "seconds": [90.0, 60.0]}  # at most 10 more
        >>> compute_active_seconds(pandas.DataFrame(answers), Payment())
        {7: 100.0}
    """
    columns = {"id": "last", "person_id": "first", "given": "first", "created": "last"}
    rows: Any = answers.rename_axis("id").reset_index().groupby("assignment_id")
    items = rows.agg({**columns, "seconds": "sum"}).sort_values(["person_id", "id"])
    person, begin, end = (items[name] for name in ("person_id", "given", "created"))
    previous = end.groupby(person).shift()
    server_seconds = (end - np.fmax(begin, previous)) / 1000
    counted = items["seconds"].where(items["seconds"] > 0, server_seconds)
    counted = counted.clip(0, 60 * rule.max_minutes)
    group = (~((begin < previous) & (previous <= end))).cumsum()  # items open at the same time
    start = begin.where(begin <= end, end - 1000 * counted).groupby(group).transform("min")
    excess = counted.groupby(group).cumsum() - (end - start) / 1000
    excess = excess.groupby(group).transform("max").clip(lower=0).where(~group.duplicated(), 0)
    return (counted - excess).groupby(person).sum().to_dict()


def get_pay(
    rule: Payment, is_admitted: bool, items: int, hours: float, payments: Mapping[str, float]
) -> Pay:
    """Return a person's pay.

    Amounts are rounded to cents, half a cent up. Earnings of people who left are in `Leaver`.

    Args:
        rule: The study's payment; `Payment()` for people who are not paid.
        items: Number of finished items without training.
        hours: Active hours.
        payments: Amounts of the payments so far, by ISO time.

    Example:
        >>> from pqpp_annotation.study.study import Payment
        >>> rule = Payment(per_item=0.05, per_hour=12)
        >>> get_pay(rule, True, 100, 0.5, {}).earned
        11.0
        >>> get_pay(rule, False, 100, 0.5, {"2026-01-01T00:00Z": 2.5}).owed
        3.5
        >>> get_pay(Payment(), True, 100, 0.5, {}).earned
        0.0
    """
    for_items, for_hours = (
        float(Decimal(str(round(rate * count, 8))).quantize(Decimal("0.01"), ROUND_HALF_UP))
        for rate, count in ((rule.per_item, items * is_admitted), (rule.per_hour, hours))
    )
    return Pay(items, hours, for_items, for_hours, payments)


@dataclass(frozen=True)
class PaymentRow:
    """A row of the payment table.

    Attributes:
        payee: The person to pay, with ids of the recruiting site.
        name: The pseudonym; for a person who left, the code on their last page.
        reason: Why the items are not paid for, or "withdrawn"; "" if they are paid for.
    """

    payee: Person | Leaver
    name: str
    is_admitted: bool
    reason: str
    pay: Pay

    @property
    def method(self) -> str:
        """Payment method: `prolific` or `hand`."""
        return "prolific" if self.payee.outside.get("PROLIFIC_PID") else "hand"


def list_payment_rows(db: Transaction, people: list[PersonRow]) -> list[PaymentRow]:
    """List each annotator who worked, with earnings; people who left are last."""
    dues = [
        PaymentRow(db.get_one(Person, row.id), row.name, row.is_admitted, row.reason, row.pay)
        for row in people
        if row.role == "annotator" and row.state != "withdrawn" and (row.items or row.hours)
    ]
    for leaver in db.scalars(select(Leaver).order_by(Leaver.key)):
        if leaver.earned:
            pay = Pay(0, 0.0, **leaver.earned, payments=leaver.paid)
            reason = Reason("withdrawn")
            dues.append(PaymentRow(leaver, leaver.name, pay.for_items > 0, reason, pay))
    return dues
