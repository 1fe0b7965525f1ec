"""Export a study to files: its votes, in the format of `pqpp build`, and all its answers."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Text, case, cast, func, select

from pqpp_annotation.owner.downloads import list_annotators
from pqpp_annotation.owner.ledger import list_people, make_votes_table, read_records
from pqpp_annotation.protocol.admission import filter_people, to_build_options
from pqpp_annotation.store.answers import iterate_votes
from pqpp_annotation.store.people import get_verdicts
from pqpp_annotation.store.tables import Answer, Assignment, Event, Item, ItemImage, Person
from pqpp_annotation.store.transactions import Store, Transaction
from pqpp_annotation.study.study import Study
from pqpp_files.atomic_write import atomic_folder
from pqpp_files.errors import FileError, reraise
from pqpp_files.foreign.json_values import read_json
from pqpp_files.paths import walk_files
from pqpp_files.write_table import encode_table

COUNTED_FOLDER = "counted"
REPORT = "export.json"


def export_study(store: Store, output: str | Path, format: str = "csv") -> list[str]:
    r"""Export a study's votes to a folder, atomically.

    - the task's files, such as `judgments.csv`: all current votes;
    - `counted/`: the same files with only the votes that count: those of the best admitted
      annotators of each prompt;
    - `answers.csv`: all answers, including replaced and training answers;
    - `annotators.csv`: each annotator's work, agreement and reasons for exclusion;
    - `survey.csv`: the answers to the survey;
    - `export.json`: counts, including withdrawn people, and the `pqpp build` command for the files.

    Tables with lists or objects in their cells are written as .jsonl. Empty tables are skipped.

    Args:
        output: The folder; an older export in it is replaced.
        format: Format of the tables: csv or parquet.

    Returns:
        Messages to print, one per line.

    Raises:
        FileError: The folder contains other files.

    Example:
        >>> from pqpp_annotation.demo import make_example_study
        >>> folder, study, store = make_example_study(answered=True)
        >>> _ = export_study(store, folder / "votes")
        >>> (folder / "votes" / "judgments.csv").read_text().splitlines()[0].split(",")[:2]
        ['prompt_id', 'prompt']
        >>> store.close()
    """
    study, kind, settings = store.study, store.study.kind, store.study.task
    with store.begin_read() as db:  # one, so that all files show the same moment
        votes, decided = list(iterate_votes(db)), get_verdicts(db)
        records, people = read_records(db), _count_people(db)
        answers, survey = list(_read_answers(db)), list(_read_survey(db))
        table, judged = make_votes_table(db, records)
        standings = filter_people(table, to_build_options(study), decided)
        annotators = list_annotators(list_people(db, records, standings, judged))
    counted_ids = set(judged.index[standings.counted])
    counted = [vote for vote in votes if vote.id in counted_ids]
    with atomic_folder(output, check=_refuse_other_files) as folder:
        rows = _write_tables(folder, kind.export_tables(votes), format)
        if counted:
            (folder / COUNTED_FOLDER).mkdir()
            tables = _write_tables(folder / COUNTED_FOLDER, kind.export_tables(counted), format)
            rows |= {f"{COUNTED_FOLDER}/{name}": count for name, count in tables.items()}
        tables = {"answers": answers, "survey": survey, "annotators": annotators}
        rows |= _write_tables(folder, tables, format)
        admitted = sum(not annotator.reasons for annotator in standings.annotators)
        command = _get_build_command(study, output, rows, bool(decided))
        facts = {
            "study": study.name,
            "kind": kind.name,
            "settings": dict(settings),
            "admission": {"best": study.best, **vars(study.admission)},
            "votes": len(votes),
            "votes_that_count": len(counted),
            "last_vote": max((vote.created for vote in votes), default=None),
            "people": people | {"admitted": admitted},
            "files": rows,
            "build": command,
        }
        report = json.dumps(facts, ensure_ascii=False, indent=1)
        (folder / REPORT).write_text(f"{report}\n", "utf-8")
    lines = [f"{len(votes)} votes, {len(counted)} count; admitted annotators: {admitted}"]
    if command:
        lines.append(f"build a benchmark: {command}")
    if not votes:
        lines.append("no votes yet; export again once there are some")
    return [*lines, f"written: {output}"]


def _refuse_other_files(folder: Path) -> None:
    """Refuse to replace a folder that has files that are not of an export."""
    names = {file.relative_to(folder).as_posix() for file in walk_files(folder)}
    with reraise(f"{folder / REPORT} is damaged", "choose another folder"):
        exported = {REPORT, *read_json(folder / REPORT)["files"]} if REPORT in names else set()
    if other := names - exported:
        raise FileError(f"{folder} contains {min(other)}; remove it, or choose another folder")


def _write_tables(folder: Path, tables: Mapping[str, Iterable[dict]], style: str) -> dict[str, int]:
    """Write the tables that are not empty, and return the number of rows of each file."""
    counts: dict[str, int] = {}
    filled = {name: rows for name, table in tables.items() if (rows := list(table))}
    for name, rows in filled.items():
        columns = {column: [row[column] for row in rows] for column in rows[0]}
        is_nested = any(isinstance(cell, list | tuple | dict) for cell in rows[0].values())
        ending = "jsonl" if style == "csv" and is_nested else style
        counts[f"{name}.{ending}"] = len(rows)
        (folder / f"{name}.{ending}").write_bytes(encode_table(ending, columns))
    return counts


def _read_answers(db: Transaction) -> Iterator[dict[str, Any]]:
    """Yield all answers, including replaced ones, oldest first, with values as JSON."""
    value = cast(Answer.value, Text).label("value")
    current = case((Answer.current, "true"), else_="false").label("current")
    query = select(Item.prompt_id, Item.part, Item.purpose, ItemImage.image, ItemImage.model)
    query = query.add_columns(Person.name.label("annotator"), Person.role, value, Answer.seconds)
    query = query.add_columns(Answer.created, current, Assignment.state).select_from(Answer)
    query = query.join(Assignment).join(Item).join(Person)
    query = query.outerjoin(ItemImage, Answer.item_image_id == ItemImage.id)
    query = query.where(Person.role != "trial").order_by(Answer.id)
    return map(dict, db.connection().execute(query).mappings())


def _read_survey(db: Transaction) -> Iterator[dict[str, Any]]:
    """Yield the answers to the survey, oldest first."""
    query = select(Person.name, Event.detail).select_from(Event).join(Person)
    query = query.where(Event.kind == "surveyed", Person.role != "trial").order_by(Event.id)
    for name, detail in db.execute(query):
        for question, answer in detail.items():
            yield {"annotator": name, "question": question, "answer": answer}


def _count_people(db: Transaction) -> dict[str, int]:
    """Return the number of people by role, and of those who withdrew."""
    roles = select(Person.role, func.count()).group_by(Person.role).order_by(Person.role)
    counts = {f"role_{role}": count for role, count in db.execute(roles)}
    events = db.scalars(select(Event.detail).where(Event.kind == "withdrawn"))
    modes = [detail["mode"] for detail in events]
    names = {"delete": "withdrawn_and_deleted", "anonymous": "withdrawn_and_made_anonymous"}
    return counts | {name: modes.count(mode) for mode, name in names.items()}


def _get_build_command(
    study: Study, output: str | Path, rows: Mapping[str, int], decided: bool
) -> str | None:
    """Return the `pqpp build` command for an export, None if `pqpp build` cannot read it."""
    # If the owner has accepted or refused people, the command reads `counted/` without further
    # filtering, as the rules alone no longer decide whose votes count.
    files = {Path(name).stem: name for name in rows if Path(name).parent == Path()}
    role = next((role for role in ("judgments", "preferences", "rankings") if role in files), None)
    scale, is_judged = study.kind.get_scale(study.task), role == "judgments"
    if role is None or (is_judged and scale is None):
        return None
    path = Path(output) / (COUNTED_FOLDER if decided else "") / files[role]
    words = ["pqpp", "build", f"--{role}", str(path)]
    if is_judged:
        rules = {"scale": scale, "best": study.best}
        rules |= {} if decided else study.admission.to_dict()
        for name, value in rules.items():
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--output", f"{study.name}-benchmark"])
