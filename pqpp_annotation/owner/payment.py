"""What is owed to whom, by the study's rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pqpp_annotation.protocol.completion import CODE

if TYPE_CHECKING:
    from pqpp_annotation.owner.people import PersonRow
    from pqpp_annotation.study.study import Payment, Study


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


def owed(rule: Payment | None, role: str, is_admitted: bool, items: int, hours: float) -> Owed:
    """Return what a person is owed; members of the control group and owners are not paid.

    Args:
        rule: Of the study; None where nothing is paid.
        role: Of the person.
        is_admitted: Whether the votes are used.
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


def payment_rows(study: Study, rows: list[PersonRow]) -> Iterator[dict[str, Any]]:
    r"""Give the payment file: a row for each annotator who has finished something.

    A person is told by the pseudonym, and by the id that the recruiting site sent. What looks like
    an e-mail address is left out.

    Args:
        study: The study.
        rows: Of the people.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> from pqpp_annotation.owner.overview import overview
        >>> from pqpp_annotation.owner.ledger import Ledger
        >>> with store.reading() as db:
        ...     look = overview(db, store, study, Ledger(store, study), "")
        >>> store.close()
        >>> [(row["annotator"], row["for_items"]) for row in payment_rows(study, look.people)]
        [('ann', 0.0), ('bob', 0.0)]
    """
    rule = study.payment
    for row in rows:
        if row.role != "annotator" or not (row.items or row.hours):
            continue
        ids = {key: str(value) for key, value in sorted(row.outside.items()) if key != CODE}
        yield {
            "annotator": _without_address(row.name),
            "outside_id": " ".join(f"{k}={v}" for k, v in ids.items() if "@" not in v),
            "completion_code": row.outside.get(CODE, ""),
            "admitted": "true" if row.is_admitted else "false",
            "reason": row.reason,
            "items": row.items,
            "active_hours": round(row.hours, 3),
            "for_items": round(row.owed.for_items, 2),
            "for_hours": round(row.owed.for_hours, 2),
            "amount": row.owed.total,
            "currency": rule.currency if rule else "",
        }


def _without_address(name: str) -> str:
    """Return a name that is no e-mail address.

    Example:
        >>> _without_address("anna@example.org"), _without_address("anna")
        ('anna', 'anna')
    """
    return name.partition("@")[0] or "annotator"
