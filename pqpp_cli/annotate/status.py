"""`pqpp annotate status`: say how far a study and its people are."""

from __future__ import annotations

import json
from typing import Any

from pqpp_cli.annotate.groups import StudyFile
from pqpp_cli.command import Command
from pqpp_cli.groups import ResultOptions
from pqpp_files.options.option import option

_COLUMNS = ("name", "role", "done", "skipped", "left", "active_minutes", "state")


class AnnotateStatus(StudyFile, ResultOptions, Command):
    """Say how far a study and its people are."""

    EPILOG = "examples:\n  pqpp annotate status study.yaml"
    format: str | None = option(None, choices=("table", "csv", "json"))

    def run(self) -> None:
        """Print it."""
        from pqpp_cli.output import emit

        style = self.style
        with self.opened(self.output) as store:
            from pqpp_annotation.owner.ledger import Ledger
            from pqpp_annotation.owner.people import seconds_at_work
            from pqpp_annotation.store.answers import count_answers
            from pqpp_annotation.store.items import count_items
            from pqpp_annotation.store.people import everybody

            with store.reading() as db:
                seconds = seconds_at_work(db, Ledger(store.study).now(db))
                people = [_row_of(db, one, seconds.get(one.id, 0.0)) for one in everybody(db)]
            counts = count_items(store)
            votes = count_answers(store)
        if style == "json":
            text = json.dumps({"items": vars(counts), "answers": votes, "people": people}, indent=1)
        else:
            import pandas

            table = pandas.DataFrame(people, columns=list(_COLUMNS))
            text = table.to_csv(index=False) if style == "csv" else table.to_markdown(index=False)
            if style == "table":
                text = f"{counts}\nanswers: {votes:,}\n\n{text}" if people else f"{counts}\n"
        emit(text, self.output)


def _row_of(db: Any, person: Any, seconds: float) -> dict[str, Any]:
    from pqpp_annotation.store.work import progress_of

    progress = progress_of(db, person.id)
    state = "finished" if progress.done and not progress.left_for_me else "at work"
    if person.withdrawn or person.role == "owner":
        state = "withdrawn" if person.withdrawn else ""
    values = (person.name, person.role, progress.done, progress.skipped, progress.left_for_me)
    return dict(zip(_COLUMNS, (*values, round(seconds / 60, 1), state), strict=True))
