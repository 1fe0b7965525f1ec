"""What happened when: for the time that people were at work, and the record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import insert, literal, select, union_all

from pqpp_annotation.errors import AnswerError
from pqpp_annotation.protocol.activity import active_seconds
from pqpp_annotation.store import tables

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store

KINDS = ("seen", "away", "back", "signed_in", "training", "withdrawn")
_MOST_DETAIL = 2_000


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
        """Return how long a person was at work, as `protocol.activity` reckons it."""
        event, assignment, answer = tables.Event, tables.Assignment, tables.Answer
        query = union_all(
            select(event.created, event.kind).where(event.person_id == person_id),
            select(assignment.created, literal("opened")).where(assignment.person_id == person_id),
            select(answer.created, literal("answered"))
            .join_from(answer, assignment, assignment.id == answer.assignment_id)
            .where(assignment.person_id == person_id),
        )
        with self._store.reading() as db:
            rows = db.execute(query).all()
        created = np.array([when for when, _ in rows], np.int64)
        is_away = np.array([kind == "away" for _, kind in rows], bool)
        who = np.full(len(rows), person_id)
        return active_seconds(who, created, is_away, gap_minutes).get(person_id, 0.0)
