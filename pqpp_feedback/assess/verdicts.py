"""Tables of verdicts: one row an image and an assessor, in Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_feedback.assess.assessor import Assessor, Verdict, evidence_text
from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.assess.pictures import Picture
from pqpp_files.errors import FileError, in_a_line
from pqpp_files.open_input import Input
from pqpp_files.write_beside import write_beside

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = (
    *("image", "prompt_id", "prompt", "task", "generator"),
    *("assessor", "routine", "verdict", "score", "reason"),
    *("evidence", "asked", "model", "revision"),
)
"""`evidence` and `asked` (what the assessor read of the prompt's columns) are JSON; `model` and
`revision` are JSON objects by role."""
_AT_ONCE = 4096


def verdict_row(
    picture: Picture, assessor: Assessor, evidence: str | None, verdict: Verdict
) -> dict[str, Any]:
    """Return a row of the table.

    Args:
        picture: The image.
        assessor: Who assessed it.
        evidence: As JSON; None where there is none.
        verdict: What it says.

    Example:
        >>> from types import SimpleNamespace as Made
        >>> picture = Picture(Path("a.png"), "a cat", about={"task": "Counting", "count": 1})
        >>> who = Made(name="gimbrr", routine="gimbrr-mine", columns=("count",), models={})
        >>> row = verdict_row(picture, who, "{}", Verdict(True, 1, "one cat"))
        >>> row["image"], row["task"], row["score"], row["asked"]
        ('a.png', 'Counting', 1.0, '{"count":1}')
    """
    about = picture.about
    asked = {name: about[name] for name in assessor.columns if about.get(name) is not None}
    return {
        "image": picture.image_id or picture.path.name,
        "prompt_id": picture.prompt_id,
        "prompt": picture.prompt,
        "task": str(about.get("task") or about.get("category") or ""),
        "generator": picture.generator,
        "assessor": assessor.name,
        "routine": assessor.routine,
        "verdict": None if verdict.verdict is None else bool(verdict.verdict),
        "score": None if verdict.score is None else float(verdict.score),
        "reason": verdict.reason,
        "evidence": evidence,
        "asked": evidence_text(asked),
        "model": evidence_text({role: one.name for role, one in assessor.models.items()}),
        "revision": evidence_text({role: one.revision for role, one in assessor.models.items()}),
    }


def picture_of(row: Mapping[str, Any]) -> Picture:
    """Return what a row says of its image; the file need not be there.

    Example:
        >>> names = ("image", "prompt", "prompt_id", "generator", "task")
        >>> row = dict(zip(names, ("a.png", "a cat", "7", "sdxl", "Counting"), strict=True))
        >>> picture_of({**row, "asked": '{"count": 1}'}).about
        {'task': 'Counting', 'count': 1}
    """
    return Picture(
        path=Path(row["image"]),
        prompt=row["prompt"] or "",
        image_id=row["image"],
        prompt_id=row["prompt_id"] or "",
        generator=row["generator"] or "",
        about={"task": row["task"], **json.loads(row["asked"] or "{}")},
    )


def verdict_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table with the types that files of verdicts have.

    Example:
        >>> verdict_table([]).column_names == list(COLUMNS)
        True
    """
    import pyarrow as pa

    kinds = {"verdict": pa.bool_(), "score": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    return pa.Table.from_pylist(rows, schema=schema)


def write_verdicts(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as Parquet, beside and renamed, and return how many; their bytes alone tell.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "verdicts.parquet"
        >>> write_verdicts(path, [{"image": "a.png", "verdict": None, "score": 0.5}])
        1
    """
    import pyarrow.parquet

    count = 0
    some: list[Any] = []
    schema = verdict_table([]).schema
    with write_beside(path) as beside, pyarrow.parquet.ParquetWriter(beside, schema) as writer:

        def flush() -> None:
            writer.write_table(verdict_table(some))
            some.clear()

        for row in rows:
            some.append(row)
            count += 1
            if len(some) == _AT_ONCE:
                flush()
        if some or not count:
            flush()
    return count


def read_verdicts(path: str | Path) -> Iterator[dict[str, Any]]:
    """Give the rows of a table that `pqpp assess` wrote, some thousand in memory at a time.

    Raises:
        FileError: There is no such file, or it is no Parquet.
        AssessError: It is no such table.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "verdicts.parquet"
        >>> _ = write_verdicts(path, [{"image": "a.png", "score": 0.5}])
        >>> [(row["image"], row["score"], row["verdict"]) for row in read_verdicts(path)]
        [('a.png', 0.5, None)]
    """
    import pyarrow as pa
    import pyarrow.parquet

    Input(path)
    try:
        file = pa.parquet.ParquetFile(path)
    except (pa.ArrowException, OSError):
        raise FileError(f"{path}: no Parquet; give the table that pqpp assess wrote") from None
    missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
    if missing:
        raise AssessError(
            f"{path}: no column {missing[0]!r}; give the table that pqpp assess wrote"
        )
    for name in COLUMNS:
        kind = file.schema_arrow.field(name).type
        if not (pa.types.is_null(kind) or any(one(kind) for one in _types_of(name))):
            raise AssessError(
                f"{path}: the column {name!r} holds {kind}; give the table that pqpp assess wrote"
            )
    for batch in file.iter_batches(_AT_ONCE, columns=list(COLUMNS)):
        yield from batch.to_pylist()


def _types_of(name: str) -> tuple[Any, ...]:
    """Return the tests of Arrow's types that a column may have."""
    from pyarrow import types

    if name == "verdict":
        return (types.is_boolean,)
    if name == "score":
        return (types.is_floating, types.is_integer)
    return (types.is_string, types.is_large_string)


def recompute(rows: Iterable[Mapping[str, Any]], assessor: Assessor) -> Iterator[dict[str, Any]]:
    """Score kept evidence again, by arithmetic alone.

    Rows of other assessors are left out. Rows without evidence stay as they are.

    Args:
        rows: As `read_verdicts` gives them.
        assessor: Its models are not asked, and need not be loaded; the rows keep theirs.

    Raises:
        AssessError: Evidence is no JSON object, or not what the assessor saw.

    Example:
        >>> from types import SimpleNamespace as Made
        >>> list(recompute([{"assessor": "rahf"}], Made(name="gimbrr")))
        []
    """
    for row in rows:
        if row["assessor"] != assessor.name:
            continue
        if row["evidence"] is None:
            yield {**row, "routine": assessor.routine}
            continue
        try:
            evidence = json.loads(row["evidence"])
            if not isinstance(evidence, dict):
                raise TypeError("no object")
        except (ValueError, TypeError, RecursionError):
            raise AssessError(
                f"the evidence of {row['image']} is no JSON object; assess the image again"
            ) from None
        try:
            verdict = assessor.score(evidence, picture_of(row))
        except AssessError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            reason = in_a_line(error)[:80]
            raise AssessError(
                f"the evidence of {row['image']} is not {assessor.name}'s ({reason}); assess the "
                "image again"
            ) from None
        yield {
            **row,
            "routine": assessor.routine,
            "verdict": verdict.verdict,
            "score": verdict.score,
            "reason": verdict.reason,
        }
