"""Tables of verdicts in Parquet: one row per image and assessor."""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from pqpp_feedback.assess.assessor import Assessor, Verdict, format_evidence
from pqpp_feedback.assess.pictures import Picture, Row
from pqpp_feedback.errors import FeedbackError
from pqpp_files.atomic_write import atomic_write, write_file
from pqpp_files.errors import FileError, describe, is_out_of_memory, reraise
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.foreign.packed import check_parquet
from pqpp_files.open_input import Input
from pqpp_files.read_table import read_table
from pqpp_files.write_table import encode_table

# `evidence` and `inputs` (the prompt's columns that the assessor used) are JSON; `model` and
# `revision` are JSON objects by role.
COLUMNS = (
    *("image", "prompt_id", "prompt", "task", "generator"),
    *("assessor", "routine", "verdict", "score", "reason"),
    *("evidence", "inputs", "model", "revision"),
)
_BATCH_SIZE = 4096
#: The verdicts and people's answers in tables, in any capitals.
ANSWERS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def make_row(
    picture: Picture, assessor: Assessor, evidence: str | None, verdict: Verdict
) -> dict[str, Any]:
    """Return one row of a table of verdicts.

    Args:
        evidence: The evidence as JSON, or None.

    Example:
        >>> from types import SimpleNamespace
        >>> picture = Picture(Path("a.png"), "a cat", about={"task": "Counting", "count": 1})
        >>> assessor = SimpleNamespace(name="x", routine="x", columns=("count",), models={})
        >>> row = make_row(picture, assessor, "{}", Verdict(True, 1, "one cat"))
        >>> row["image"], row["task"], row["score"], row["inputs"]
        ('a.png', 'Counting', 1.0, '{"count":1}')
    """
    about = picture.about
    inputs = {name: about[name] for name in assessor.columns if about.get(name) is not None}
    return {
        "image": picture.image_id or picture.path.name,
        "prompt_id": picture.prompt_id,
        "prompt": picture.prompt,
        "task": str(about.get("task") or about.get("category") or ""),
        "generator": picture.generator,
        "assessor": assessor.name,
        "verdict": None if verdict.verdict is None else bool(verdict.verdict),
        "score": None if verdict.score is None else float(verdict.score),
        "reason": verdict.reason,
        "evidence": evidence,
        "inputs": format_evidence(inputs),
        **get_model_columns(assessor),
    }


def get_model_columns(assessor: Assessor) -> dict[str, str]:
    """Return the values of the columns that identify an assessor: `routine`, `model`, `revision`.

    Example:
        >>> from types import SimpleNamespace
        >>> get_model_columns(SimpleNamespace(routine="gimbrr-mine", models={}))
        {'routine': 'gimbrr-mine', 'model': '{}', 'revision': '{}'}
    """
    models = assessor.models.items()
    return {
        "routine": assessor.routine,
        "model": format_evidence({role: model.name for role, model in models}),
        "revision": format_evidence({role: model.revision for role, model in models}),
    }


def row_to_picture(row: Row) -> Picture:
    """Return a row's picture; its file need not exist.

    Example:
        >>> names = ("image", "prompt", "prompt_id", "generator", "task")
        >>> row = dict(zip(names, ("a.png", "a cat", "7", "sdxl", "Counting"), strict=True))
        >>> row_to_picture({**row, "inputs": '{"count": 1}'}).about
        {'task': 'Counting', 'count': 1}
    """
    return Picture(
        path=Path(row["image"]),
        prompt=row["prompt"] or "",
        image_id=row["image"],
        prompt_id=row["prompt_id"] or "",
        generator=row["generator"] or "",
        about={"task": row["task"], **parse_json(row["inputs"] or "{}")},
    )


def make_table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table with the column types of verdict files.

    Example:
        >>> make_table([]).column_names == list(COLUMNS)
        True
    """
    types = {"verdict": pa.bool_(), "score": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    return pa.Table.from_pylist(rows, schema=schema)


def write_verdicts(path: str | Path, rows: Iterable[Row]) -> int:
    """Write rows to a table atomically, and return their number.

    Args:
        path: The file; its ending is one of `TABLE_STYLES`. Memory use is bounded only for Parquet.
        rows: Rows with all or some of `COLUMNS`.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "verdicts.parquet"
        >>> write_verdicts(path, [{"image": "a.png", "verdict": None, "score": 0.5}])
        1
    """
    if (ending := Path(path).suffix.lower()) != ".parquet":
        table = make_table(list(rows))
        write_file(path, encode_table(ending[1:], table.to_pydict()))
        return len(table)
    count, remaining, schema = 0, iter(rows), make_table([]).schema
    with (
        atomic_write(path) as temp_path,
        pa.parquet.ParquetWriter(temp_path, schema, write_page_checksum=True) as writer,
    ):
        while batch := list(itertools.islice(remaining, _BATCH_SIZE)):
            writer.write_table(make_table(batch))
            count += len(batch)
    return count


def read_verdicts(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table written by `pqpp assess`; Parquet is read with bounded memory.

    Raises:
        FileError: The file does not exist or is damaged.
        FeedbackError: It is not a table of verdicts.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "verdicts.parquet"
        >>> _ = write_verdicts(path, [{"image": "a.png", "score": 0.5}])
        >>> [(row["image"], row["score"], row["verdict"]) for row in read_verdicts(path)]
        [('a.png', 0.5, None)]
    """
    if Path(path).suffix.lower() != ".parquet":
        table = read_table(path, remedy="use a table written by pqpp assess")
        defaults = dict.fromkeys(COLUMNS, [None] * len(table))
        table.columns = defaults | table.columns | {"image": table["image"]}
        columns: dict[str, list] = {}
        for name in COLUMNS:
            blank = None if name in ("reason", "evidence", "inputs") else ""
            columns[name] = [blank if cell in (None, "") else str(cell) for cell in table[name]]
        columns["score"] = [None if score != score else score for score in table.numbers("score")]
        for row, verdict in enumerate(map(str.lower, columns["verdict"])):
            if verdict not in ("", *ANSWERS):
                raise FeedbackError(f"{table.locate(row)}: expected a verdict; got {verdict!r:.40}")
            columns["verdict"][row] = ANSWERS.get(verdict)
        return (yield from pa.table(columns, make_table([]).schema).to_pylist())
    source = Input(path)
    try:
        file = pa.parquet.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError, ValueError):
        raise FileError(f"{path} is not Parquet; use a table written by pqpp assess") from None
    if missing := [name for name in COLUMNS if name not in file.schema_arrow.names]:
        problem = f"{path} has no column {missing[0]!r}"
        raise FeedbackError(f"{problem}; use a table written by pqpp assess")
    with reraise(f"{path} is damaged", "copy the file again"):
        for group in range(file.num_row_groups):
            check_parquet(path, list(COLUMNS), source.name, source.get_limit(), [group])
            for batch in file.iter_batches(_BATCH_SIZE, [group], list(COLUMNS)):
                yield from batch.select(COLUMNS).cast(make_table([]).schema).to_pylist()


def rescore(rows: Iterable[Row], assessors: Sequence[Assessor]) -> Iterator[dict[str, Any]]:
    """Yield rows with new verdicts on their stored evidence, without models.

    Rows of other assessors are left out; rows without evidence keep their verdicts.

    Args:
        rows: Rows as returned by `read_verdicts`.
        assessors: Assessors without loaded models; the rows keep their models' names.

    Raises:
        FeedbackError: Evidence is not a JSON object, or the assessor cannot read it.

    Example:
        >>> from types import SimpleNamespace
        >>> list(rescore([{"assessor": "rahf"}], [SimpleNamespace(name="gimbrr")]))
        []
    """
    by_name = {assessor.name: assessor for assessor in assessors}
    for row in rows:
        assessor = by_name.get(row["assessor"])
        if assessor is None:
            continue
        verdict = {}
        if row["evidence"] is not None:
            with catch_evidence_errors(row):
                verdict = asdict(assessor.score(parse_evidence(row), row_to_picture(row)))
        yield {**row, "routine": assessor.routine, **verdict}


@contextlib.contextmanager
def catch_evidence_errors(row: Row) -> Iterator[None]:
    """Convert errors that invalid evidence causes in a block to a `FeedbackError`."""
    try:
        yield
    except FeedbackError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        problem = f"the evidence of {row['image']} is not valid for {row['assessor']}"
        raise FeedbackError(f"{problem} ({describe(error)[:80]}); assess the image again") from None


def parse_evidence(row: Row) -> dict[str, Any]:
    """Return the evidence of a row; empty if it has none.

    Example:
        >>> parse_evidence({"evidence": '{"red": 0.5}'})
        {'red': 0.5}
    """
    return dict(parse_json(row["evidence"] or "{}"))
