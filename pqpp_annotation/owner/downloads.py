"""The tables that the owner can download."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pqpp_annotation.owner.cases import list_events
from pqpp_annotation.owner.ledger import PaymentRow, PersonRow
from pqpp_annotation.owner.overview import StudyMonitor
from pqpp_annotation.protocol.completion import CODE
from pqpp_annotation.study.study import Study

Rows = Iterator[dict[str, Any]]
_PERSON_FIELDS = (
    *("role", "state", "reason", "flag", "votes", "items", "skipped", "kappa", "control_images"),
    *("reference_share", "agreement", "seconds"),
)
_PAY_FIELDS = ("for_items", "for_hours", "earned", "paid", "owed")


def list_annotators(people: Iterable[PersonRow]) -> Rows:
    """Yield each annotator's state, work, agreement and time.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> people = StudyMonitor(store).get_overview().people
        >>> [(row["annotator"], row["items"]) for row in list_annotators(people)]
        [('ann', 1), ('bob', 1)]
        >>> store.close()
    """
    for row in people:
        cells = {name: getattr(row, name) for name in _PERSON_FIELDS}
        yield {"annotator": row.name, **cells, "active_hours": round(row.hours, 3)}


def list_payments(study: Study, dues: Sequence[PaymentRow]) -> Rows:
    """Yield each annotator's work, earnings, payments and balance.

    Rows have the pseudonym and a column for each id that a recruiting site sent. E-mail addresses
    are left out.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> rows = list_payments(study, StudyMonitor(store).get_overview().dues)
        >>> [(row["annotator"], row["owed"]) for row in rows]
        [('ann', 0.0), ('bob', 0.0)]
        >>> store.close()
    """
    outside_ids = {due.name: due.payee.outside for due in dues}
    names = sorted({n for ids in outside_ids.values() for n in ids if not n.endswith(CODE)})
    for due in dues:
        outside, pay = outside_ids[due.name], due.pay
        ids = {name: str(outside.get(name, "")) for name in names}
        yield {
            "annotator": due.name.partition("@")[0] or "annotator",
            **{name: "" if "@" in value else value for name, value in ids.items()},
            "completion_code": next((c for n, c in outside.items() if n.endswith(CODE)), ""),
            "pay_by": due.method,
            "admitted": "true" if due.is_admitted else "false",
            "reason": due.reason,
            "items": pay.items,
            "active_hours": round(pay.hours, 3),
            **{name: getattr(pay, name) for name in _PAY_FIELDS},
            "payments": "; ".join(f"{when} {paid:.2f}" for when, paid in pay.payments.items()),
            "currency": study.payment.currency if study.payment else "",
        }


def list_prolific_bonuses(study: Study, dues: Sequence[PaymentRow]) -> Rows:
    """Yield each person's participant id and amount due, for Prolific's bulk bonus payments.

    Source: Prolific's help, "Bulk bonus payments": a line `participant id,amount` per person.
    """
    for due in dues:
        yield {"PROLIFIC_PID": due.payee.outside["PROLIFIC_PID"], "amount": f"{due.pay.owed:.2f}"}


PAYMENT_FILES = {"prolific": list_prolific_bonuses, "hand": list_payments}
"""For each payment method, the function that lists the rows of its payment file."""

DOWNLOADS: Mapping[str, Callable[[StudyMonitor], Iterable[dict[str, Any]]]] = {
    "record": lambda monitor: list_events(monitor.store),
    "annotators": lambda monitor: list_annotators(monitor.get_overview().people),
    "payment": lambda monitor: list_payments(monitor.study, monitor.get_overview().dues),
}
"""For each file name, the function that lists the rows of the file."""
