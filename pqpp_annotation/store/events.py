"""What happened when: for the time that people were at work, and the record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, literal, select, union_all

from pqpp_annotation.errors import AnswerError
from pqpp_annotation.store import tables

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store

KINDS = ("seen", "away", "back", "signed_in", "training", "withdrawn")
_MOST_DETAIL = 2_000
_MINUTE = 60_000


class Events:
    """What happened in a study."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, person_id: int, kind: str, detail: Mapping[str, Any] | None = None) -> None:
        """Keep that something happened.

        Args:
            person_id: To whom.
            kind: `seen` (something was shown or touched), `away`, `back`, and so on.
            detail: What of it is worth keeping; no names or addresses.

        Raises:
            AnswerError: The kind is unknown, or the detail too long.
        """
        detail = dict(detail or {})
        if kind not in KINDS or len(json.dumps(detail)) > _MOST_DETAIL:
            raise AnswerError(f"event {kind!r:.40}: {', '.join(KINDS)}, with a short detail")
        row = {"person_id": person_id, "kind": kind, "detail": detail}
        with self._store.writing() as db:
            db.execute(insert(tables.Event).values(created=self._store.clock(), **row))

    def active_seconds(self, person_id: int, gap_minutes: float = 2.0) -> float:
        """Return how long a person was at work.

        It is the sum of the times between what happened one after another (events, items opened,
        answers), without those longer than `gap_minutes` and those that begin with `away`.
        """
        return self.active_seconds_of_all(gap_minutes, person_id).get(person_id, 0.0)

    def active_seconds_of_all(
        self, gap_minutes: float = 2.0, person_id: int | None = None
    ) -> dict[int, float]:
        """Return `active_seconds` by person, for all who have done anything, in one pass."""
        event, assignment, answer = tables.Event, tables.Assignment, tables.Answer
        parts = (
            select(event.person_id, event.created, event.kind),
            select(assignment.person_id, assignment.created, literal("opened")),
            select(assignment.person_id, answer.created, literal("answered")).join_from(
                answer, assignment, assignment.id == answer.assignment_id
            ),
        )
        if person_id is not None:
            columns = (event.person_id, assignment.person_id, assignment.person_id)
            parts = tuple(
                part.where(column == person_id) for part, column in zip(parts, columns, strict=True)
            )
        happened = union_all(*parts).subquery()
        query = select(*happened.c).order_by(*list(happened.c)[:2])
        longest = gap_minutes * _MINUTE
        found: dict[int, float] = {}
        before: tuple[int, int, str] = (0, 0, "")
        with self._store.reading() as db:
            for person, created, kind in db.execute(query.execution_options(yield_per=10_000)):
                found.setdefault(person, 0.0)
                passed = created - before[1]
                if before[0] == person and before[2] != "away" and passed <= longest:
                    found[person] += passed / 1000
                before = (person, created, kind)
        return found
