"""`pqpp annotate status`: say how far a study and its people are."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pqpp_cli.annotate.groups import StudyFile
from pqpp_cli.command import Command
from pqpp_cli.groups import ResultOptions
from pqpp_files.options.option import option

_COLUMNS = ("name", "role", "done", "skipped", "left", "active_minutes", "state", "votes", "reason")


class AnnotateStatus(StudyFile, ResultOptions, Command):
    """Say how far a study and its people are."""

    EPILOG = "examples:\n  pqpp annotate status study.yaml"
    format: str | None = option(None, choices=("table", "csv", "json"))

    def run(self) -> None:
        """Print it."""
        from pqpp_cli.output import emit

        style = self.style
        with self.opened(self.output) as store:
            from pqpp_annotation.owner.overview import Watch
            from pqpp_annotation.store.answers import count_answers
            from pqpp_annotation.store.items import count_items
            from pqpp_annotation.store.people import everybody

            self.warn(store.study)
            look = Watch(store).look()
            rows = {row.id: row for row in look.people}
            with store.reading() as db:
                people = [_row_of(db, person, rows.get(person.id)) for person in everybody(db)]
            counts = replace(count_items(store), finished=look.progress.complete)
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


def _row_of(db: Any, person: Any, row: Any) -> dict[str, Any]:
    """Return what is known of a person; `row` is the owner's, None for who does not judge."""
    from pqpp_annotation.owner.words import STATE_WORDS
    from pqpp_annotation.store.work import progress_of

    progress = progress_of(db, person.id)
    state = "finished" if progress.done and not progress.left_for_me else "at work"
    if person.withdrawn or row is None:
        state = "withdrawn" if person.withdrawn else ""
    elif row.stopped:
        state = "stopped"
    values = (person.name, person.role, progress.done, progress.skipped, progress.left_for_me)
    minutes = round(row.hours * 60, 1) if row else 0.0
    used, reason = (STATE_WORDS[row.state], row.reason or row.flag) if row else ("", "")
    return dict(zip(_COLUMNS, (*values, minutes, state, used, reason), strict=True))
