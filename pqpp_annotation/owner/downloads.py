"""The tables that the owner downloads: what is in them, row by row."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pqpp_annotation.owner.overview import Watch
from pqpp_annotation.protocol.completion import CODE

Rows = Iterator[dict[str, Any]]
_OF_PERSON = (
    *("role", "state", "reason", "flag", "votes", "items", "skipped", "kappa", "control_images"),
    *("reference_share", "agreement", "seconds"),
)


def annotators_rows(watch: Watch) -> Rows:
    """Give what is known of each person.

    Example:
        >>> from pqpp_annotation.demo import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> [(row["annotator"], row["items"]) for row in annotators_rows(Watch(store))]
        [('ann', 1), ('bob', 1)]
        >>> store.close()
    """
    for row in watch.look().people:
        known = {name: getattr(row, name) for name in _OF_PERSON}
        yield {"annotator": row.name, **known, "active_hours": round(row.hours, 3)}


def disputes_rows(watch: Watch) -> Rows:
    """Give all disputed items.

    Example:
        >>> from pqpp_annotation.demo import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> [row["votes"] for row in disputes_rows(Watch(store))]
        [2]
        >>> store.close()
    """
    for dispute in watch.disputes():
        yield {
            **{name: getattr(dispute, name) for name in ("prompt_id", "prompt", "image")},
            "disagreement": round(dispute.disagreement, 6),
            "votes": dispute.votes,
            "labels": " ".join(f"{label:g}:{count}" for label, count in dispute.labels.items()),
            "decided": "true" if dispute.is_decided else "false",
        }


def payment_rows(watch: Watch) -> Rows:
    """Give the payment file: a row for each annotator who has worked, those who have left too.

    A person is told by the pseudonym, and by each id that the recruiting site sent in a column of
    its own. What looks like an e-mail address is left out.

    Example:
        >>> from pqpp_annotation.demo import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> [(row["annotator"], row["for_items"]) for row in payment_rows(Watch(store))]
        [('ann', 0.0), ('bob', 0.0)]
        >>> store.close()
    """
    rule, rows = watch.study.payment, watch.look().dues
    names = sorted({name for row in rows for name in row.outside if not name.endswith(CODE)})
    for row in rows:
        ids = {name: str(row.outside.get(name, "")) for name in names}
        yield {
            "annotator": row.name.partition("@")[0] or "annotator",
            **{name: "" if "@" in value else value for name, value in ids.items()},
            "completion_code": next((c for n, c in row.outside.items() if n.endswith(CODE)), ""),
            "admitted": "true" if row.is_admitted else "false",
            "reason": row.reason,
            "items": row.owed.items,
            "active_hours": round(row.owed.hours, 3),
            "for_items": row.owed.for_items,
            "for_hours": row.owed.for_hours,
            "amount": row.owed.total,
            "currency": rule.currency if rule else "",
        }


def prolific_rows(watch: Watch) -> Rows:
    """Give what Prolific takes as a bulk bonus payment: an id and an amount, without a heading.

    Source: Prolific's help, "Bulk bonus payments": `participant id,amount`, one line each.
    """
    for row in watch.look().dues:
        if row.owed.total and (name := str(row.outside.get("PROLIFIC_PID", ""))):
            yield {"PROLIFIC_PID": name, "amount": f"{row.owed.total:.2f}"}


def mturk_rows(watch: Watch) -> Rows:
    """Give what Mechanical Turk's command line takes as bonuses of workers.

    Source: Mechanical Turk, `SendBonus`: WorkerId, AssignmentId, BonusAmount and Reason.
    """
    for row in watch.look().dues:
        ids = [str(row.outside.get(name, "")) for name in ("workerId", "assignmentId")]
        if row.owed.total and all(ids):
            about = dict(zip(("WorkerId", "AssignmentId"), ids, strict=True))
            reason = f"Work on {watch.study.title or watch.study.name}"
            yield {**about, "BonusAmount": f"{row.owed.total:.2f}", "Reason": reason}


DOWNLOADS: Mapping[str, Callable[[Watch], Rows]] = {
    "annotators": annotators_rows,
    "disputes": disputes_rows,
    "payment": payment_rows,
    "payment-prolific": prolific_rows,
    "payment-mturk": mturk_rows,
}
"""By the name of the file."""

NO_HEADING = ("payment-prolific",)
