"""GIMBRR: prompts for cognitive tasks, and whether images of four generators match them.

Source: "Generative Image Model Benchmark for Reasoning and Representation (GIMBRR)"; files at
github.com/IntelLabs/generative-ai, MIT.

Properties of the published data that matter for rates:

- Of the 2,302 prompts, 200 are for img2img and were never annotated. 2,119 texts are distinct; the
  `Controlled` tasks repeat texts up to ten times on purpose.
- For Stable Diffusion 1.5, 16 single-object prompts were annotated twice (`duplicated`), some with
  different answers, and 16 were not annotated, so it also has 2,102 rows.
- The directory of prompts changed during annotation, so the text of 392 annotations differs from
  that of their prompt now; rows have both (`annotated_prompt`, `prompt`). The authors treat the
  directory's text as valid.
- A few prompts end in a space. Only names in `representations` are trimmed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import load_entry, make_features, make_file_finder
from pqpp_datasets.tables import Column, file_error, read_csv
from pqpp_files.foreign.json_values import read_json

# Names of the models in the annotations, by split.
MODELS = {"dalle2": "Dalle", "midjourney": "MJ", "sd2.1": "SD2.1", "sd1.5": "SD1.5"}

_DIRECTORY = "data/Prompt_dir_230228.csv"
# Paths in the published repository, and in a copy with shorter paths.
_ANNOTATIONS, _EXTRAS, _AUTOMATED = (
    (f"annotations/AAAI_EDGeS_23/{name}.csv", f"annotations/{name}.csv")
    for name in ("annotations_df_230311", "Prompt_dir_230228_extraVars", "automated_annotations")
)

_BOOLEANS = ("True", "False")
_RULES = {
    "text": Column("string"),
    "any text": Column("string", optional=True),
    "boolean": Column("string", values=_BOOLEANS),
    "any boolean": Column("string", values=_BOOLEANS, optional=True),
    "number": Column("string", form=r"[0-9]{1,3}(\.0)?", optional=True),
    "ids": Column("string", form=r"[0-9, ]*", optional=True),
    "id": Column("int64", 1, 10**6),
    "model": Column("string", values=tuple(MODELS.values())),
}
_TYPES = {"int64": pa.int64(), "string": pa.string(), "bool": pa.bool_()}
_TYPES |= {f"{name}s": pa.list_(_TYPES[name]) for name in ("string", "int64")}
# For each column: the column of the CSV file, the rule for its cells, and its type.
_COLUMNS: dict[str, dict[str, tuple]] = {
    part: {name: (csv, _RULES[rule], _TYPES[kind]) for name, (csv, rule, kind) in columns.items()}
    for part, columns in read_json(Path(__file__).with_name("gimbrr_columns.json")).items()
}
_PROMPT, _VARIABLES, _ANNOTATION = (_COLUMNS[n] for n in ("prompt", "variables", "annotation"))
_PROMPT_ID = {"prompt_id": _PROMPT["prompt_id"]}
_DIRECTORY_COLUMNS = {**_PROMPT, **_COLUMNS["img2img"]}
_VERDICT = {name: _ANNOTATION[name] for name in ("file_name", "model")}
_VERDICT |= {**_COLUMNS["verdict"], "dashboard_version": _ANNOTATION["dashboard_version"]}


def _make_schema(fields: Mapping[str, tuple]) -> pa.Schema:
    return pa.schema({name: kind for name, (_, _, kind) in fields.items()})


_PROMPT_SCHEMA = _make_schema({**_DIRECTORY_COLUMNS, **_VARIABLES})
_DUPLICATED = pa.field("duplicated", pa.bool_())
_ANNOTATION_SCHEMA = _make_schema({**_ANNOTATION, **_PROMPT}).insert(3, _DUPLICATED)
_VERDICT_SCHEMA = _make_schema({**_VERDICT, **_PROMPT})


files = make_file_finder(_DIRECTORY, _EXTRAS)
annotation_files = make_file_finder(_ANNOTATIONS, _DIRECTORY)
verdict_files = make_file_finder(_AUTOMATED, _DIRECTORY)


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the prompts, in the order of the directory file."""
    directory, variables = (folder / path for path in files(folder, split))
    prompts = _read_directory(directory)
    variable_rows = _read_rows(variables, {**_PROMPT_ID, **_VARIABLES})
    variables_by_id = {row.pop("prompt_id"): row for row in variable_rows}
    for prompt_id, row in prompts.items():
        if prompt_id not in variables_by_id:
            raise file_error(variables, f"prompt {prompt_id} not found")
        row |= variables_by_id[prompt_id]
    return pa.Table.from_pylist(list(prompts.values()), schema=_PROMPT_SCHEMA)


def read_annotations(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the annotated images of one model, in the order of the published file."""
    fields = {**_PROMPT_ID, **_ANNOTATION}
    rows = _join_rows(folder, annotation_files(folder, split), split, fields)
    counts = Counter(row["prompt_id"] for row in rows)
    for row in rows:
        row["duplicated"] = counts[row["prompt_id"]] > 1
    return pa.Table.from_pylist(rows, schema=_ANNOTATION_SCHEMA)


def read_automated(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the authors' automated verdicts on one model's images, in the order of the file."""
    fields = {**_COLUMNS["number of verdict"], **_VERDICT}
    rows = _join_rows(folder, verdict_files(folder, split), split, fields)
    return pa.Table.from_pylist(rows, schema=_VERDICT_SCHEMA)


def _join_rows(
    folder: Path, paths: tuple[str, ...], split: str, fields: Mapping[str, tuple]
) -> list[dict]:
    """Return a model's rows, joined with the directory of prompts."""
    path, directory = (folder / name for name in paths)
    prompts = _read_directory(directory)
    rows = [row for row in _read_rows(path, fields) if row["model"] == MODELS[split]]
    for row in rows:
        number = row["prompt_id"]
        if number not in prompts:
            raise file_error(path, f"prompt {number} not found in {directory}")
        row |= {"model": split, **prompts[number]}
    if not rows:
        raise file_error(path, f"no images of {MODELS[split]} found")
    return rows


def _read_directory(path: Path) -> dict[int, dict]:
    rows: dict[int, dict] = {}
    for row in _read_rows(path, _DIRECTORY_COLUMNS):
        if rows.setdefault(row["prompt_id"], row) is not row:
            raise file_error(path, f"duplicate prompt id {row['prompt_id']}")
    for prompt_id, row in rows.items():
        if unknown := [link for link in row["linked_prompts"] if link not in rows]:
            raise file_error(path, f"prompt {prompt_id} links to {unknown[0]}, which is missing")
    return rows


def _read_rows(path: Path, fields: Mapping[str, tuple]) -> Iterator[dict]:
    """Yield the rows of a file with pqpp's column names and types."""
    table = read_csv(path, {name: column for name, column, _ in fields.values()})
    for cells in table.to_pylist():
        yield {name: _parse_cell(cells[csv], kind) for name, (csv, _, kind) in fields.items()}


def _parse_cell(cell, kind: pa.DataType):
    """Convert a cell to its type: lists are comma-separated, and integers can be like `2.0`."""
    if pa.types.is_list(kind):
        items = [item.strip() for item in (cell or "").split(",")]
        if kind.value_type == pa.string():
            return items
        return [int(item) for item in items if item]
    if pa.types.is_boolean(kind):
        return None if cell is None else cell == "True"
    if isinstance(cell, str) and pa.types.is_integer(kind):
        return int(cell.removesuffix(".0"))
    return cell


BENCHMARKS = tuple(
    load_entry(name, features=make_features(schema), read=reader, files=paths)
    for name, schema, reader, paths in (
        ("gimbrr", _PROMPT_SCHEMA, read, files),
        ("gimbrr-annotations", _ANNOTATION_SCHEMA, read_annotations, annotation_files),
        ("gimbrr-automated", _VERDICT_SCHEMA, read_automated, verdict_files),
    )
)
