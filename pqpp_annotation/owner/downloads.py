"""The tables that the owner downloads: what is in them, row by row."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pqpp_annotation.owner.ledger import Due
from pqpp_annotation.owner.overview import StudyMonitor
from pqpp_annotation.protocol.completion import CODE
from pqpp_annotation.study.study import Study

Rows = Iterator[dict[str, Any]]
_OF_PERSON = (
    *("role", "state", "reason", "flag", "votes", "items", "skipped", "kappa", "control_images"),
    *("reference_share", "agreement", "seconds"),
)
_SUMS = ("for_items", "for_hours", "earned", "paid", "owed")


def list_annotators(watch: StudyMonitor) -> Rows:
    """Yield a row on each person.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> [(row["annotator"], row["items"]) for row in list_annotators(StudyMonitor(store))]
        [('ann', 1), ('bob', 1)]
        >>> store.close()
    """
    for row in watch.get_overview().people:
        facts = {name: getattr(row, name) for name in _OF_PERSON}
        yield {"annotator": row.name, **facts, "active_hours": round(row.hours, 3)}


def list_payments(study: Study, dues: Sequence[Due]) -> Rows:
    """Yield each person's work, earnings, payments and balance.

    A person is identified by the pseudonym, and by each id that the recruiting site sent, in a
    column of its own. What looks like an e-mail address is left out.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> rows = list_payments(study, StudyMonitor(store).get_overview().dues)
        >>> [(row["annotator"], row["owed"]) for row in rows]
        [('ann', 0.0), ('bob', 0.0)]
        >>> store.close()
    """
    sent = {due.name: due.payee.outside for due in dues}
    names = sorted({name for ids in sent.values() for name in ids if not name.endswith(CODE)})
    for due in dues:
        outside, pay = sent[due.name], due.pay
        ids = {name: str(outside.get(name, "")) for name in names}
        yield {
            "annotator": due.name.partition("@")[0] or "annotator",
            **{name: "" if "@" in value else value for name, value in ids.items()},
            "completion_code": next((c for n, c in outside.items() if n.endswith(CODE)), ""),
            "pay_by": due.way,
            "admitted": "true" if due.is_admitted else "false",
            "reason": due.reason,
            "items": pay.items,
            "active_hours": round(pay.hours, 3),
            **{name: getattr(pay, name) for name in _SUMS},
            "payments": "; ".join(f"{when} {sum:.2f}" for when, sum in pay.payments.items()),
            "currency": study.payment.currency if study.payment else "",
        }


def list_prolific_bonuses(study: Study, dues: Sequence[Due]) -> Rows:
    """Return Prolific's format for bulk bonus payments: an id and an amount, without a heading.

    Source: Prolific's help, "Bulk bonus payments": `participant id,amount`, one line each.
    """
    for due in dues:
        pid = due.payee.outside["PROLIFIC_PID"]
        yield {"PROLIFIC_PID": pid, "amount": f"{due.pay.owed:.2f}"}


PAID = {"prolific": list_prolific_bonuses, "hand": list_payments}
"""What is in the file of a payment, by its way."""

DOWNLOADS: Mapping[str, Callable[[StudyMonitor], Rows]] = {
    "annotators": list_annotators,
    "payment": lambda watch: list_payments(watch.study, watch.get_overview().dues),
}
"""By the name of the file."""
