"""What a study has brought, as files: the votes as `pqpp build` reads them, and how they came."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Text, case, cast, func, select

from pqpp_annotation.protocol.admission import (
    Standings,
    options_of,
    standings_of,
    table_of_votes,
)
from pqpp_annotation.store.tables import (
    Adjudication,
    Answer,
    Assignment,
    Event,
    Item,
    ItemImage,
    Person,
)
from pqpp_files.names import how_many

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store
    from pqpp_annotation.study.study import Study

COUNTED = "counted"
REPORT = "export.json"
_CHUNK = 10_000
_STYLES = ("csv", "jsonl")
_RULES = ("min_kappa", "min_reference_share", "exclude")


def export_study(store: Store, study: Study, output: str | Path) -> list[str]:
    r"""Write all that a study has brought to a folder, whole or not at all.

    - the files of the kind of task, such as `judgments.csv`: every current vote;
    - the same in `counted/`: the votes that count, of admitted people, the best few of a prompt, as
      `pqpp build` chooses them from all;
    - `answers.csv`: every answer that was ever given, replaced ones and the training round too;
    - `annotators.csv`: who is admitted, and why not;
    - `adjudications.csv`: what the owner decided where people disagree;
    - `export.json`: how many of everything, withdrawn people too, and the command that builds a
      benchmark of it.

    A table whose cells hold lists or objects ends in .jsonl. A table without a row is not written.

    Args:
        store: Of the study.
        study: The study.
        output: The folder; an older export is replaced, anything else is refused.

    Returns:
        What is to be said, a line each.

    Raises:
        FileError: The folder holds other things.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from pqpp_annotation.store.database import open_store
        >>> from pqpp_annotation.study.init import make_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 6)).save(folder / "a.png")
        >>> _ = (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n")
        >>> study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
        >>> store = open_store(study)
        >>> from pqpp_annotation.simulate import Simulated, simulate
        >>> _ = simulate(store, study, [Simulated("ann")])
        >>> _ = export_study(store, study, folder / "votes")
        >>> (folder / "votes" / "judgments.csv").read_text().splitlines()[0].split(",")[:2]
        ['prompt_id', 'prompt']
        >>> store.close()
    """
    from pqpp_files.write_beside import whole_folder

    kind, settings = study.kind, study.task
    votes = list(store.answers.votes())
    options = options_of(study)
    table, places = table_of_votes(votes, kind, settings)
    found = standings_of(table, options)
    chosen = [votes[place] for place in np.sort(places[found.counted]).tolist()]
    with whole_folder(output, check=_check_older) as folder:
        rows = _write_tables(folder, kind.export(votes, settings))
        if chosen:
            (folder / COUNTED).mkdir()
            counted = _write_tables(folder / COUNTED, kind.export(chosen, settings))
            rows |= {f"{COUNTED}/{name}": count for name, count in counted.items()}
        with store.reading() as db:
            rows |= _write_answers(folder, db)
            rows |= _write_tables(folder, {"annotators": annotator_rows(found)})
            rows |= _write_tables(folder, {"adjudications": _adjudications(db)})
            people = _people(db)
        facts = {
            "study": study.name,
            "kind": kind.name,
            "settings": dict(settings),
            "admission": {"best": study.best, **vars(study.admission)},
            "votes": len(votes),
            "votes_that_count": len(chosen),
            "last_vote": max((vote.created for vote in votes), default=None),
            "people": people | {"admitted": sum(not one.reasons for one in found.annotators)},
            "files": rows,
            "build": _command(study, output, rows),
        }
        text = json.dumps(facts, ensure_ascii=False, indent=1)
        (folder / REPORT).write_text(text + "\n", "utf-8")
    return _said(facts, output)


def _check_older(folder: Path) -> None:
    """Refuse a folder that holds anything but an older export."""
    from pqpp_files.errors import FileError

    if folder.is_dir() and any(folder.iterdir()) and not (folder / REPORT).is_file():
        raise FileError(f"{folder} holds other things than an export; name a new folder")


def _write_tables(folder: Path, tables: Mapping[str, Iterable[dict]]) -> dict[str, int]:
    """Write tables, and return how many rows each file got; one without a row is not written."""
    from pqpp_files.write_table import table_text

    written = {}
    for name, rows in tables.items():
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            continue
        nested = any(isinstance(cell, list | tuple | dict) for cell in first.values())
        chosen = _STYLES[nested]
        counter = itertools.count()
        parts = _parts(itertools.chain([first], rows), counter)
        path = folder / f"{name}.{chosen}"
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(table_text(chosen, parts))
        written[f"{name}.{chosen}"] = next(counter)
    return written


def _parts(rows: Iterator[dict], counter: Iterator[int]) -> Iterator[dict[str, list]]:
    """Give rows as columns of some thousand each, and count them."""
    while chunk := list(itertools.islice(rows, _CHUNK)):
        for _ in chunk:
            next(counter)
        yield {name: [row[name] for row in chunk] for name in chunk[0]}


def annotator_rows(found: Standings) -> Iterator[dict[str, Any]]:
    r"""Give a row for each person who has voted: what is known, and whether the votes are used.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study(answered=True)
        >>> from pqpp_annotation.owner.ledger import Ledger
        >>> from pqpp_annotation.owner.overview import overview
        >>> with store.reading() as db:
        ...     look = overview(db, store, study, Ledger(store, study), "")
        >>> store.close()
        >>> [(row["annotator"], row["votes"]) for row in annotator_rows(look.standings)]
        [('ann', 1), ('bob', 1)]
    """
    if found.votes is None:
        return
    numbers = {name: place for place, name in enumerate(found.votes.annotator_names)}
    for name in sorted(numbers):
        one, agreed = found.of(name), found.agreements
        place = numbers[name]
        yield {
            "annotator": name,
            "role": "annotator" if one else "control",
            "admitted": one is None or not one.reasons,
            "reason": "; ".join(one.reasons) if one else "",
            "votes": one.votes if one else int((found.votes.annotator == place).sum()),
            "control_images": one.control_images if one else None,
            "kappa": _number(one.kappa if one else None),
            "reference_share": _number(one.reference_share if one else None),
            "agreement": _number(agreed.agreement[place]) if agreed else None,
            "flag": agreed.reasons[place] if agreed else "",
        }


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else round(float(value), 12) + 0.0


_ANSWER = "prompt_id part purpose image model annotator role value seconds created current state"


def _write_answers(folder: Path, db) -> dict[str, int]:
    """Write every answer that was ever given, the oldest first, its value as JSON."""
    from pqpp_files.write_table import table_text

    query = (
        select(
            Item.prompt_id,
            Item.part,
            Item.purpose,
            ItemImage.image,
            ItemImage.model,
            Person.name,
            Person.role,
            cast(Answer.value, Text),
            Answer.seconds,
            Answer.created,
            case((Answer.current, "true"), else_="false"),
            Assignment.state,
        )
        .join(Assignment, Answer.assignment_id == Assignment.id)
        .join(Item, Assignment.item_id == Item.id)
        .join(Person, Assignment.person_id == Person.id)
        .outerjoin(ItemImage, Answer.item_image_id == ItemImage.id)
        .order_by(Answer.id)
    )
    names, count = _ANSWER.split(), 0
    path = folder / "answers.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        for rows in db.execution_options(yield_per=_CHUNK).execute(query).partitions():
            columns = dict(zip(names, zip(*rows, strict=True), strict=True))
            lines = table_text("csv", [columns])
            if count:
                next(lines)  # the header stands once
            file.writelines(lines)
            count += len(rows)
    if not count:
        path.unlink()
    return {"answers.csv": count} if count else {}


def _adjudications(db) -> Iterator[dict[str, Any]]:
    """Give what was decided, item by item."""
    query = (
        select(
            Item.prompt_id,
            Item.prompt,
            ItemImage.image,
            ItemImage.model,
            Adjudication.value,
            Person.name,
            Adjudication.created,
        )
        .join(Item, Adjudication.item_id == Item.id)
        .join(Person, Adjudication.person_id == Person.id)
        .outerjoin(ItemImage, Adjudication.item_image_id == ItemImage.id)
        .order_by(Item.id, ItemImage.position)
    )
    names = ("prompt_id", "prompt", "image", "model", "value", "decided_by", "created")
    for row in db.execute(query):
        found = dict(zip(names, row, strict=True))
        value = found.pop("value")
        yield found | (value if len(value) == 1 else {"value": value})


def _people(db) -> dict[str, int]:
    """Count people by role, and those who withdrew by what became of their votes."""
    found = {
        f"role_{role}": n
        for role, n in db.execute(
            select(Person.role, func.count()).group_by(Person.role).order_by(Person.role)
        )
    }
    modes = [
        detail.get("mode", "delete")
        for (detail,) in db.execute(select(Event.detail).where(Event.kind == "withdrawn"))
    ]
    found["withdrawn_and_deleted"] = modes.count("delete")
    found["withdrawn_and_made_anonymous"] = modes.count("anonymous")
    return found


def _command(study: Study, output: str | Path, rows: Mapping[str, int]) -> str | None:
    """Return the command that builds a benchmark of an export; None where none does."""
    roles = [one for one in ("judgments", "preferences") if f"{one}.csv" in rows]
    scale = study.kind.scale_of(study.task)
    if not roles or (roles == ["judgments"] and scale is None):
        return None
    words = ["pqpp", "build", f"--{roles[0]}", str(Path(output) / f"{roles[0]}.csv")]
    if roles == ["judgments"]:
        rules = {"scale": scale, "best": study.best}
        rules |= {name: getattr(study.admission, name) for name in _RULES}
        for name, value in rules.items():
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--output", f"{study.name}-benchmark"])


def _said(facts: Mapping[str, Any], output: str | Path) -> list[str]:
    people = facts["people"]
    lines = [
        f"{facts['votes']} votes, {facts['votes_that_count']} of which count; "
        f"{how_many(people['admitted'], 'annotator')} admitted"
    ]
    if people["withdrawn_and_deleted"] or people["withdrawn_and_made_anonymous"]:
        lines.append(
            f"withdrawn: {people['withdrawn_and_deleted']} with all votes deleted, "
            f"{people['withdrawn_and_made_anonymous']} with votes made anonymous"
        )
    if facts["build"]:
        lines.append(f"a benchmark of it: {facts['build']}")
    return [*lines, f"written: {output}"]
