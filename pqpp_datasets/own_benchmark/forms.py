"""Read files of judgments, in any layout, into a `LongTable`."""

import itertools
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.formats import (
    FORMATS,
    READ_COLUMNS,
    WORDS,
    FlatRows,
    FormAnswers,
    find_role_columns,
)
from pqpp_datasets.own_benchmark.long_table import COLUMN, FILE, LongTable, fill_column, make_column
from pqpp_datasets.own_benchmark.options import FILE_KINDS, FLAGS, BuildOptions
from pqpp_datasets.own_benchmark.votes.scales import SCALES, fold_label
from pqpp_datasets.prompt_text import fold_text
from pqpp_files.errors import FileError, PqppError
from pqpp_files.names import did_you_mean, find_close_names, pluralize
from pqpp_files.open_input import Input, find_suffix, is_input, is_sharded
from pqpp_files.read_table import read_columns
from pqpp_files.table_formats import KEY, PLACE, ROW, find_column, locate_row, open_format

_NUMERIC_ROLES = ("seconds", "score")
_RANK_NAMES = ("rank", "ranks", "ranking", "place", "position", "order")
_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".json", ".xlsx")
QID = "qid"
"""TREC's name of the id of a prompt."""
_SIDE_SUFFIXES = {"judgments": ("",), "rankings": ("",), "preferences": ("_a", "_b")}
"""Suffixes of the roles `model` and `image`, by kind of file."""
_KIND_OF_ANSWER = {"label": "judgments", "choice": "preferences", "rank": "rankings"}
"""Kind of file that contains answers with a role."""


def read_foreign_file(path: Path, options: BuildOptions) -> FlatRows:
    """Read a file that was written by the tool `options.from_format`.

    Raises:
        BenchmarkError: The file has another format.
    """
    assert options.from_format is not None
    if (columns := READ_COLUMNS.get(options.from_format)) is not None:
        columns = (*columns, *options.columns.values())
    try:
        source = open_format(Input(path, options.encoding), columns, None, _SUFFIXES)
        cells = source.read(numbers_as_text=True)
    except PqppError as error:
        raise BenchmarkError(str(error)) from None
    rows = [*zip(*cells.values(), strict=True)]
    numbered_rows = zip(source.number_rows(len(rows)), rows, strict=True)
    records = [{**dict(zip(cells, row, strict=True)), ROW: n} for n, row in numbered_rows]
    try:
        content = FORMATS[options.from_format](records, str(path))
    except BenchmarkError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error!s:.80}"
        problem = f"{path} is not in the format {options.from_format} ({reason})"
        raise BenchmarkError(f"{problem}; check `from_format`") from None
    if isinstance(content, FormAnswers):
        content = select_question(content, options, str(path))
    return replace(content, path=path, unread_columns=source.names if source.requested else ())


def select_question(answers: FormAnswers, options: BuildOptions, path: str) -> FlatRows:
    """Return the answers to the question that `options.columns` names, or to the only question.

    Args:
        answers: The answers to all questions.
        options: Only `columns`, `annotators`, `models` and `questions` are used.

    Raises:
        BenchmarkError: There are no answers, there are several questions and none is named, or an
            answer is a list although one label or choice is expected.
    """
    rows, questions = answers.rows, answers.questions
    column_names = find_role_columns(name for row in rows for name in row)
    if answer_columns := {r: name for r, name in options.columns.items() if r in _KIND_OF_ANSWER}:
        role, question = next(iter(answer_columns.items()))
    elif options.models or options.annotators or options.questions:
        role, question = "label", ""
    elif len(questions) == 1:
        ((question, role),) = questions.items()
        if role == "label" and {"model_a", "model_b"} <= column_names.keys():
            role = "choice"
        column_names[role] = question
    else:
        problem = f"several questions ({', '.join(questions)})" if questions else "no answers"
        remedy = "name the column with `columns` label=NAME, choice=NAME or rank=NAME"
        remedy += f", or all with `questions` {','.join(questions)}" if questions else ""
        raise BenchmarkError(f"{path}: {problem}; {remedy}")
    kind = _KIND_OF_ANSWER[role]
    answered = [row for row in rows if not question or row.get(question) is not None]
    notes = list(answers.notes)
    if skipped := len(rows) - len(answered):
        notes.append(f"skipped {skipped} of {len(rows)} answers without {question}")
    if kind != "rankings":
        for row in answered:
            if isinstance(row.get(question), list):
                location = f"{locate_row(path, row[ROW])}: {question}"
                got = f"{row[question]!s:.100}; choose another question"
                raise BenchmarkError(f"{location}: expected one answer, got {got}")
        return FlatRows(kind, column_names, answered, notes)
    ranked_rows = []
    for row in answered:  # one row per ranked item, best first; keys of an object become columns
        items = row[question] if isinstance(row[question], list) else [row[question]]
        for index, item in enumerate(items, 1):
            fields = item if isinstance(item, dict) else {"value": item}
            model = fields.get("model", fields.get("value", fields.get("id")))
            rank = fields.get("rank", str(index))
            ranked_rows.append({**row, **fields, "model": model, question: rank})
    return FlatRows(kind, {**column_names, "model": "model"}, ranked_rows, notes)


File = Path | FlatRows
NamedFile = tuple[str | None, File]
"""The model whose results a file contains, or None, and the file."""


def read_long_table(kind: str, files: Sequence[NamedFile], options: BuildOptions) -> LongTable:
    """Read files of one kind into a table, and join the tables of images and prompts.

    Args:
        kind: A key of `FILE_KINDS`.
        files: Pairs of a model, or None, and a file.
        options: Names of columns, the layout of votes, and the tables to join.

    Raises:
        BenchmarkError: A file is invalid, an id is missing in a joined table, or the options define
            a column twice.
    """
    tables = [_read_file(kind, path, model, options) for model, path in files]
    table = tables[0] if len(tables) == 1 else _concat_tables(tables)
    joins = [("image", "images", options.images)] if kind == "judgments" else []
    for role, other, path in (*joins, ("prompt_id", "prompts", options.prompts)):
        if path is not None and role in table.rows:
            joined_table = _read_table(Path(path), other, FILE_KINDS[other].needed, options)
            for joined_role in FILE_KINDS[other].needed:
                joined_table.report_blanks(joined_role)
            table.join(joined_table, role, kind in ("preferences", "rankings"))
    rows = table.rows
    if kind == "judgments":
        for role in ("image", "annotator"):  # an empty column is ignored
            if role in rows and not any(map(str.strip, rows[role].cat.categories)):
                del rows[role]
        if missing := [table.get_column(r) for r in ("prompt", "model") if r not in rows]:
            _refuse_missing(table, kind, missing, options)
    for role in filter(rows.__contains__, FILE_KINDS[kind].filled_roles):
        if role != "prompt" or kind not in ("preferences", "rankings") or not options.prompts:
            table.report_blanks(role)
    if "annotator" not in rows:
        _count_files_as_annotators(table)
    if "annotator" in rows:
        _merge_annotator_names(table)
    if kind == "judgments" and "image" not in rows:
        rows["image"] = fill_column("", len(rows))
        note = "no column, so all votes on a prompt and a model count for one image"
        table.notes.append(f"images: {note} (`columns` image=COLUMN)")
    for role in filter(rows.__contains__, _NUMERIC_ROLES):
        rows[role] = table.parse_values(role, parse_number, "expected a finite number")
    for role in filter(rows.__contains__, ("model", "model_a", "model_b")):
        if (count := len(rows[role].cat.categories)) > 500:
            problem = f"{table.get_column(role)!r} names {count} models, more than 500"
            raise BenchmarkError(f"{table.name}: {problem}; set `columns` {role}=COLUMN")
    rows["control"] = "control" in rows and table.parse_values("control", *make_parser(FLAGS)) == 1
    return table


def _concat_tables(tables: Sequence[LongTable]) -> LongTable:
    """Return one table of the rows of all tables; cells of columns that a table lacks are empty."""
    rows = pd.concat([table.rows for table in tables], ignore_index=True)
    for role in rows.columns.drop(ROW):
        rows[role] = make_column(*pd.factorize(rows[role].astype(object).fillna("")))
    name = " and ".join(table.name for table in tables)
    notes = [note for table in tables for note in table.notes]
    faults = [fault for table in tables for fault in table.faults]
    return LongTable(rows, name, tables[0].column_names, notes, faults, tables[0].columns)


def _count_files_as_annotators(table: LongTable) -> None:
    """Add a column of annotators if the files rate the same images, each image once."""
    keys = [role for role in table.rows if role.startswith(("prompt", "model", "image"))]
    if table.rows.duplicated(keys).any() and not table.rows.duplicated([*keys, FILE]).any():
        files = table.rows[FILE].cat
        names = [Path(file).stem for file in files.categories]
        names = names if len({*names}) == len(names) else [*files.categories]
        table.rows["annotator"] = make_column(files.codes, names)
        note = f"{len(names)} files rate the same images, so each counts as one annotator"
        table.notes.append(f"annotators: {note}, named like the file")


def _merge_annotator_names(table: LongTable) -> None:
    """Merge spellings of an annotator's name, and note names that occur in several files."""
    annotators, spellings = table.rows["annotator"].cat, dict[str, str]()
    names = [spellings.setdefault(fold_text(name), name) for name in annotators.categories]
    if merged := len(names) - len(spellings):
        table.rows["annotator"] = make_column(annotators.codes, names)
        note = "merged with others that differ only in capitals, blanks or invisible characters"
        table.notes.append(f"annotators: {pluralize(merged, 'name')} {note}")
    files = table.rows.groupby("annotator", observed=True)[FILE].nunique()
    if shared := int((files > 1).sum()):
        note = f"{shared} of {len(files)} names occur in several files, as one person each"
        table.notes.append(f"annotators: {note}; give different people different names")


def make_parser(words: Mapping[str, float]) -> tuple[Callable[[str], float | None], str]:
    """Return a parser of words for `LongTable.parse_values`, and a description of the words."""
    allowed = f"expected one of {', '.join(filter(None, words))}"
    return lambda text: words.get(fold_label(text)), allowed


def parse_number(text: str) -> float | None:
    """Parse a finite number; return NaN for an empty string, None for any other string."""
    try:
        number = float(text) if text.strip() else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) or not text.strip() else None


def _is_trec(path: Path) -> bool:
    """Return whether a file is in TREC format, which can have any name."""
    return str(path) != "-" and find_suffix(path) not in _SUFFIXES


def _read_file(kind: str, file: File, model: str | None, options: BuildOptions) -> LongTable:
    """Read a file of judgments in the layout that its suffix and the options define."""
    prompt_role = "prompt_id" if options.prompts else "prompt"
    required = [prompt_role, *FILE_KINDS[kind].needed[1:]]
    model = options.model if kind in ("judgments", "rankings") else model
    side_suffixes = _SIDE_SUFFIXES.get(kind, ()) if options.model_pattern is not None else ()
    required = [role for role in required if role not in [f"model{side}" for side in side_suffixes]]
    if kind == "judgments":
        column = options.get_columns("judgments").get("label", "")
        if column.lower() in _RANK_NAMES:
            remedy = f"set `columns` rank={column} if 1 is the best, else label={column}"
            raise BenchmarkError(f"{file}: column {column!r} can be a rank or a label; {remedy}")
        required[0] = "image" if options.images else prompt_role
        if options.annotators or options.models or options.questions:
            table = _read_wide_table(kind, file, required[0], options)
        else:
            table = _read_table(file, kind, required, options, nested="label")
            if KEY in table.rows:
                _convert_list_keys(table, options)
    elif kind == "rankings" and options.models:
        table = _read_wide_table(kind, file, prompt_role, options)
    elif kind in ("runs", "relevance") and isinstance(file, Path) and _is_trec(file):
        table = _read_trec(file, kind == "runs", options)
        model = model or file.name.removesuffix(".gz").rsplit(".", 1)[0]
    else:
        excluded = [] if model is None else ["model"]
        required = [role for role in required if role not in excluded]
        table = _read_table(file, kind, required, options, excluded)
    if model is not None:
        if "model" in table.rows:
            raise BenchmarkError(f"{table.name} has a column of models; remove `model_name`")
        table.rows["model"] = fill_column(model, len(table.rows))
    for side in side_suffixes:
        if f"model{side}" not in table.rows or kind == "judgments":
            role = f"image{side}"
            if role not in table.rows:
                problem = f"`model_pattern` needs the column {role!r}; set `columns` {role}=COLUMN"
                raise BenchmarkError(f"{table.name}: {problem}")
            images = table.rows[role].cat
            models = [options.find_model(image) for image in images.categories]
            rows = table.find_rows(role, (not model for model in models))
            problem = f"which `model_pattern` {options.model_pattern} does not match"
            table.report_cells(role, rows, f"{problem}; correct the pattern or the name")
            table.rows[f"model{side}"] = make_column(images.codes, [name or "?" for name in models])
    if kind == "judgments" and options.questions and "model" in table.rows:
        models, questions = table.rows["model"].cat, table.rows[COLUMN].cat
        number = models.codes.astype(np.int64) * len(questions.categories) + questions.codes
        pairs = itertools.product(models.categories, questions.categories)
        table.rows["model"] = make_column(number, [" ".join(names) for names in pairs])
    if kind == "preferences" and isinstance(file, FlatRows):
        # Published files also compare two images of one model.
        first_models, second_models = (table.rows[f"model_{side}"].astype(object) for side in "ab")
        if same_count := int((first_models == second_models).sum()):
            table.notes.append(f"skipped {same_count} choices between two images of one model")
            table.rows = table.rows[first_models != second_models].reset_index(drop=True)
        if not len(table.rows):
            raise BenchmarkError(f"{table.name}: expected pairs of different models, found none")
    return table


def _read_table(
    file: File,
    kind: str,
    required: Sequence[str],
    options: BuildOptions,
    excluded: Sequence[str] = (),
    nested: str | None = None,
) -> LongTable:
    """Read a table as text, with one row per judgment; lists in the role `nested` are unpacked."""
    foreign, path = (file, file.path) if isinstance(file, FlatRows) else (None, file)
    if not foreign and not is_input(str(path)) and not is_sharded(path):
        folder = path if path.is_dir() else path.parent
        names = sorted(file.name for file in folder.glob("*.*"))
        hint = f"{folder} contains {', '.join(names[:5]) or 'no files'}"
        raise BenchmarkError(f"{path} not found; {did_you_mean(path.name, names, hint)}")
    user_columns, file_kind = options.get_columns(kind), FILE_KINDS[kind]
    user_columns = {**foreign.columns, **user_columns} if foreign else user_columns
    roles = [role for role in (*file_kind.needed, *file_kind.optional) if role not in excluded]
    columns = {role: user_columns.get(role, role) for role in (*required, *roles)}
    if foreign:
        names = list(dict.fromkeys(name for row in foreign.rows for name in row if name != ROW))
        names += [name for name in foreign.unread_columns if name not in names]
        for role, name in columns.items():
            if name not in names:
                columns[role] = find_column(names, name) or name
        existing = [*filter(names.__contains__, columns.values()), ROW]
        cells = {name: [row.get(name) for row in foreign.rows] for name in existing}
    else:
        requested, inner = tuple(columns.values()), columns.get(nested or "")
        is_named = kind in ("prompts", "runs", "relevance") and columns["prompt_id"] == "prompt_id"
        requested += (QID,) if is_named else ()
        try:
            cells, names = read_columns(str(path), requested, _SUFFIXES, inner, options.encoding)
        except FileError as error:
            raise BenchmarkError(str(error)) from None
        if QID in cells and "prompt_id" not in cells:
            columns["prompt_id"] = QID
    strict = () if foreign or options.prompts or options.images else user_columns
    missing = [n for r, n in columns.items() if r in {*required, *strict} and n not in cells]
    has_models = options.images or options.model or options.model_pattern or options.models
    if missing and kind == "judgments" and not has_models and columns["model"] not in cells:
        missing.append(columns["model"])
    if not (missing or cells[ROW]):
        raise BenchmarkError(f"{path}: no rows; add one row per judgment or result")
    texts = {}
    for role, name in {**columns, PLACE: PLACE, KEY: KEY}.items():
        if name in cells:
            try:
                code_by_cell = {cell: n for n, cell in enumerate(dict.fromkeys(cells[name]))}
            except TypeError:
                raise BenchmarkError(f"{path}: {name!r} is a list; give text or numbers") from None
            codes = np.fromiter(map(code_by_cell.__getitem__, cells[name]), np.int32)
            texts[role] = make_column(codes, [*map(_to_text, code_by_cell)])
    if "annotator" in columns and "annotator" not in texts:
        columns["annotator"] = find_role_columns(names).get("annotator", "COLUMN")
    table = LongTable.from_columns(path, texts, cells[ROW], columns)
    table.notes.extend(foreign.notes if foreign else ())
    table.columns = names
    if missing:
        _refuse_missing(table, kind, missing, options)
    return table


def _refuse_missing(table: LongTable, kind: str, missing: list[str], options: BuildOptions) -> None:
    """Raise an error for the missing columns, with the option that the file seems to need."""
    names, remedy = table.columns, "rename the columns, or set `columns` ROLE=COLUMN"
    guesses = find_role_columns(names)
    if not {"model", "model_a"}.isdisjoint(missing):
        remedy += ", `model_pattern` REGEX or `model_name` NAME"
    if "label" in missing:
        roles = (*FILE_KINDS[kind].needed, *FILE_KINDS[kind].optional)
        others = [name for name in names if name not in (*roles, *options.columns.values())]
        vote_columns = []
        with suppress(FileError):
            cells, _ = read_columns(table.name, others, _SUFFIXES, encoding=options.encoding)
            del cells[ROW]
            for name, column in cells.items():  # finds columns with labels of a known scale
                labels = {str(cell) for cell in column} - {"", "None"}
                values = [map(scale.parse_label, labels) for scale in SCALES.values()]
                is_known = any(all(map(math.isfinite, numbers)) for numbers in values)
                vote_columns += [name] if is_known and len(labels) > 1 else []
        if len(vote_columns) == 1:
            guesses = {"label": vote_columns[0], **guesses}
        option_roles = {"annotators": "annotator", "models": "model", "questions": ""}
        value = shlex.quote(",".join(vote_columns) or "COL,COL")
        settings = [f"`{name}` {value}" for name, role in option_roles.items() if role not in names]
        remedy += f"; for several columns of votes, set {' or '.join(settings)}"
        if {"model_a", "model_b"} <= set(names):
            remedy = "for preferences between two models, use `preferences` FILE"
        elif "rank" in names:
            remedy = "for ranks (1 is the best), use `rankings` FILE"
    user_columns = options.get_columns(kind)
    guessed = [r for r in guesses if r not in user_columns and not find_column(names, r)]
    if not {*guessed}.isdisjoint(missing):
        value = shlex.quote(",".join(f"{role}={guesses[role]}" for role in guessed))
        hint = f"did you mean `columns` {value}?"
        remedy = hint if {*guessed} >= {*missing} else f"{hint} Otherwise, {remedy}"
    elif find_close_names(missing[0], names):
        remedy = did_you_mean(missing[0], names)
    for tool, signatures in WORDS["tools"].items():
        if options.from_format is None and any({*needed} <= {*names} for needed in signatures):
            remedy = f"set `from_format` {tool}"
    problem = f"missing {'columns' if missing[1:] else 'column'} {', '.join(map(repr, missing))}"
    available = f"(columns: {', '.join(names)[:200] or 'none'})"
    raise BenchmarkError(f"{table.name}: {problem} {available}; {remedy}")


def _to_text(value: Any) -> str:
    if value is None or value != value:  # pandas stores an empty cell as NaN
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _convert_list_keys(table: LongTable, options: BuildOptions) -> None:
    """Convert the keys and positions of nested votes to models and annotators."""
    rows = table.rows
    keys, positions = rows.pop(KEY), rows.pop(PLACE)
    if (keys != "").any():
        unnamed_roles = ["annotator"] if options.model is not None else ["model", "annotator"]
        role = next((role for role in unnamed_roles if role not in rows), None)
        if role is None:
            location = table.locate(int((keys != "").argmax()))
            problem = f"{table.get_column('label')}: expected a label, got an object"
            raise BenchmarkError(f"{location}, {problem}; use one row per vote")
        rows[role] = keys
    if (positions != "").any() and "annotator" not in rows:
        names = [str(int(text or 0) + 1) for text in positions.cat.categories]
        rows["annotator"] = make_column(positions.cat.codes, names)
        numbers = f"{', '.join(sorted(set(names)))} in the lists of {table.get_column('label')}"
        table.notes.append(f"annotators: the positions {numbers} are one person each")


def _read_wide_table(kind: str, file: File, key: str, options: BuildOptions) -> LongTable:
    """Read a table with one column of votes for each annotator, model or question."""
    value_role = FILE_KINDS[kind].blank
    option = next(name for name in ("annotators", "models", "questions") if getattr(options, name))
    columns = list(getattr(options, option))
    role = "annotator" if option == "annotators" else "model"
    if {role, value_role, "score"} & options.get_columns(kind).keys():
        remedy = f"remove {role}=..., {value_role}=... and score=... from `columns`"
        raise BenchmarkError(f"`{option}` already names the columns of votes; {remedy}")
    if len(set(columns)) < len(columns):
        raise BenchmarkError(f"`{option}`: list each column once; got {','.join(columns)}")
    required, excluded = [key, *columns], (value_role,) if options.questions else (role, value_role)
    table = _read_table(file, kind, required, options, excluded)
    votes = pd.api.types.union_categoricals([table.rows.pop(column) for column in columns])
    row_indices = np.repeat(np.arange(len(table.rows)), len(columns))
    table.rows = table.rows.iloc[row_indices].reset_index(drop=True)
    # Row by row, in the order of the columns.
    codes = votes.codes.reshape(len(columns), -1).T.ravel()
    table.rows[value_role] = pd.Categorical.from_codes(codes, dtype=votes.dtype)
    index = np.tile(np.arange(len(columns)), len(row_indices) // len(columns))
    table.rows[COLUMN] = make_column(index, columns)
    if not options.questions:
        table.rows[role] = table.rows[COLUMN]
    return table


def _read_trec(path: Path, is_run: bool, options: BuildOptions) -> LongTable:
    """Read a TREC run or qrels; grades above 0 are relevant."""
    from pqpp_metrics.errors import MetricInputError
    from pqpp_metrics.runs import read_trec

    if options.prompts is None:
        remedy = "set `prompts` to a table of prompt_id and prompt, such as a run with the texts"
        raise BenchmarkError(f"{path}: a TREC file contains no prompts; {remedy}")
    try:
        entries, lines, _ = read_trec(path, "run" if is_run else "qrels")
    except MetricInputError as error:
        raise BenchmarkError(str(error)) from None
    queries, documents, numbers = zip(*entries, strict=True)
    values, codes = np.unique(numbers, return_inverse=True)
    texts = [repr(float(value)) if is_run else str(int(value > 0)) for value in values]
    columns = {
        "prompt_id": make_column(np.arange(len(entries)), queries),
        "image": make_column(np.arange(len(entries)), documents),
        "score" if is_run else "label": make_column(codes, texts),
    }
    return LongTable.from_columns(path, columns, lines)
