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
    READ_ALONE,
    WORDS,
    FlatRows,
    FormAnswers,
    find_role_columns,
)
from pqpp_datasets.own_benchmark.long_table import COLUMN, FILE, LongTable, fill_column, make_column
from pqpp_datasets.own_benchmark.options import FILE_KINDS, FLAGS, BuildOptions
from pqpp_datasets.own_benchmark.votes.scales import SCALES, find_scale, fold_label, parse_labels
from pqpp_datasets.prompt_text import fold_text
from pqpp_files.errors import FileError, PqppError
from pqpp_files.names import did_you_mean, find_close_names, pluralize
from pqpp_files.open_input import Input, is_input
from pqpp_files.read_table import read_columns
from pqpp_files.table_formats import KEY, PLACE, ROW, find_column, locate_row, open_format

_NUMBERS = ("seconds", "score")
_RANKS = ("rank", "ranks", "ranking", "place", "position", "order")
_TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".json", ".xlsx", ".dta")
_SIDES = {"judgments": ("",), "rankings": ("",), "preferences": ("_a", "_b")}
"""Endings of the roles `model` and `image`, by kind of file."""
_KIND_OF_ANSWER = {"label": "judgments", "choice": "preferences", "rank": "rankings"}
"""Kind of file that contains answers with a role."""


def read_foreign_file(path: Path, options: BuildOptions) -> FlatRows:
    """Read a file that was written by the tool `options.from_format`.

    Raises:
        BenchmarkError: The file has another format.
    """
    assert options.from_format is not None
    if (columns := READ_ALONE.get(options.from_format)) is not None:
        columns = (*columns, *options.columns.values())
    try:
        source = open_format(Input(path, options.encoding), columns, None, _TABLES)
        cells = source.read(numbers_as_text=True)
        rows = [*zip(*cells.values(), strict=True)]
        numbers = zip(source.number_rows(len(rows)), rows, strict=True)
        records = [{**dict(zip(cells, row, strict=True)), ROW: n} for n, row in numbers]
        found = FORMATS[options.from_format](records, str(path))
        if isinstance(found, FormAnswers):
            found = select_question(found, options, str(path))
        names = source.names if source.requested else ()
        return replace(found, rows=list(found.rows), path=path, names=names)
    except PqppError as error:
        raise BenchmarkError(str(error)) from None
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error!s:.80}"
        what = f"{path} is not in the format {options.from_format} ({reason})"
        raise BenchmarkError(f"{what}; check `from_format`") from None


def select_question(found: FormAnswers, options: BuildOptions, path: str) -> FlatRows:
    """Return the answers to the question that `options.columns` names, or to the only question.

    Args:
        found: The answers to all questions.
        options: Only `columns`, `annotators`, `models` and `questions` are used.

    Raises:
        BenchmarkError: There are no answers, there are several questions and none is named, or an
            answer is a list although one label or choice is expected.
    """
    rows, questions = found.rows, found.questions
    called = find_role_columns(name for row in rows for name in row)
    if named := {r: name for r, name in options.columns.items() if r in _KIND_OF_ANSWER}:
        role, question = next(iter(named.items()))
    elif options.models or options.annotators or options.questions:
        role, question = "label", ""
    elif len(questions) == 1:
        ((question, role),) = questions.items()
        if role == "label" and {"model_a", "model_b"} <= called.keys():
            role = "choice"
        called[role] = question
    else:
        there = f"several questions ({', '.join(questions)})" if questions else "no answers"
        remedy = "name the column with `columns` label=NAME, choice=NAME or rank=NAME"
        remedy += f", or all with `questions` {','.join(questions)}" if questions else ""
        raise BenchmarkError(f"{path}: {there}; {remedy}")
    kind = _KIND_OF_ANSWER[role]
    valid = [row for row in rows if not question or row.get(question) is not None]
    notes = list(found.notes)
    if len(valid) < len(rows):
        notes.append(f"skipped {len(rows) - len(valid)} of {len(rows)} answers without {question}")
    if kind != "rankings":
        for row in valid:
            if isinstance(row.get(question), list):
                where = f"{locate_row(path, row[ROW])}: {question}"
                what = f"expected one answer, got {row[question]!s:.100}; choose another question"
                raise BenchmarkError(f"{where}: {what}")
        return FlatRows(kind, called, valid, notes)
    ranked = []
    for row in valid:  # one row per ranked item, best first; keys of an object become columns
        items = row[question] if isinstance(row[question], list) else [row[question]]
        for index, item in enumerate(items, 1):
            columns = item if isinstance(item, dict) else {"value": item}
            model = columns.get("model", columns.get("value", columns.get("id")))
            rank = columns.get("rank", str(index))
            ranked.append({**row, **columns, "model": model, question: rank})
    return FlatRows(kind, {**called, "model": "model"}, ranked, notes)


File = Path | FlatRows


def read_long_table(
    kind: str, files: Sequence[tuple[str | None, File]], options: BuildOptions
) -> LongTable:
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
    table = tables[0]
    if len(tables) > 1:  # columns that a file does not have are empty
        rows = pd.concat([one.rows for one in tables], ignore_index=True)
        for role in rows.columns.drop(ROW):
            rows[role] = make_column(*pd.factorize(rows[role].astype(object).fillna("")))
        name = " and ".join(one.name for one in tables)
        notes = [note for one in tables for note in one.notes]
        faults = [fault for one in tables for fault in one.faults]
        table = LongTable(rows, name, table.named, notes, faults, table.columns)
    joined = [("image", "images", options.images)] if kind == "judgments" else []
    for role, other, path in (*joined, ("prompt_id", "prompts", options.prompts)):
        if path is not None and role in table.rows:
            other_table = _read_table(Path(path), other, FILE_KINDS[other].needed, options)
            for needed in FILE_KINDS[other].needed:
                other_table.report_blanks(needed)
            table.join(other_table, role, kind in ("preferences", "rankings"))
    rows = table.rows
    if kind == "judgments":
        for role in ("image", "annotator"):  # an empty column is ignored
            if role in rows and not any(map(str.strip, rows[role].cat.categories)):
                del rows[role]
        if missing := [table.get_column(r) for r in ("prompt", "model") if r not in rows]:
            _refuse_missing(table, kind, missing, table.columns, options)
    for role in filter(rows.__contains__, FILE_KINDS[kind].filled_roles):
        if role != "prompt" or kind not in ("preferences", "rankings") or not options.prompts:
            table.report_blanks(role)
    if tables[1:] and "annotator" not in rows:
        keys = [role for role in rows if role.startswith(("prompt", "model", "image"))]
        if rows.duplicated(keys).any() and not rows.duplicated([*keys, FILE]).any():
            # Files that rate the same images, each image once, are one annotator each.
            of_files = rows[FILE].cat
            names = [Path(file).stem for file in of_files.categories]
            names = names if len({*names}) == len(names) else [*of_files.categories]
            rows["annotator"] = make_column(of_files.codes, names)
            note = f"{len(names)} files rate the same images, so each counts as one annotator"
            table.notes.append(f"annotators: {note}, named like the file")
    if "annotator" in rows:
        people, first = rows["annotator"].cat, dict[str, str]()
        names = [first.setdefault(fold_text(name), name) for name in people.categories]
        if twins := len(names) - len(first):
            rows["annotator"] = make_column(people.codes, names)
            how = "merged with others that differ only in capitals, blanks or invisible characters"
            table.notes.append(f"annotators: {pluralize(twins, 'name')} {how}")
        files = rows.groupby("annotator", observed=True)[FILE].nunique() if tables[1:] else ()
        if several := sum(number > 1 for number in files):
            note = f"{several} of {len(files)} names occur in several files, as one person each"
            table.notes.append(f"annotators: {note}; give different people different names")
    if kind == "judgments" and "image" not in rows:
        rows["image"] = fill_column("", len(rows))
        note = "no column, so all votes on a prompt and a model count for one image"
        table.notes.append(f"images: {note} (`columns` image=COLUMN)")
    for role in filter(rows.__contains__, _NUMBERS):
        rows[role] = table.parse_values(role, parse_number, "expected a finite number")
    for role in filter(rows.__contains__, ("model", "model_a", "model_b")):
        if (count := len(rows[role].cat.categories)) > 500:
            what = f"{table.get_column(role)!r} names {count} models, more than 500"
            raise BenchmarkError(f"{table.name}: {what}; set `columns` {role}=COLUMN")
    rows["control"] = "control" in rows and table.parse_values("control", *make_parser(FLAGS)) == 1
    return table


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


def _read_file(kind: str, path: File, model: str | None, options: BuildOptions) -> LongTable:
    """Read a file of judgments in the layout that its suffix and the options define."""
    # TREC runs and qrels can have any name.
    is_table = str(path) == "-" or str(path).lower().removesuffix(".gz").endswith(_TABLES)
    which = "prompt_id" if options.prompts else "prompt"
    needed = [which, *FILE_KINDS[kind].needed[1:]]
    model = options.model if kind in ("judgments", "rankings") else model
    sides = _SIDES.get(kind, ()) if options.model_pattern is not None else ()
    needed = [role for role in needed if role not in [f"model{side}" for side in sides]]
    if kind == "judgments":
        column = options.get_columns("judgments").get("label", "")
        if column.lower() in _RANKS:
            fix = f"set `columns` rank={column} if 1 is the best, else label={column}"
            raise BenchmarkError(f"{path}: column {column!r} can be a rank or a label; {fix}")
        needed[0] = "image" if options.images else which
        if options.annotators or options.models or options.questions:
            table = _read_wide_table(kind, path, needed[0], options)
        else:
            table = _read_table(path, kind, needed, options, nested="label")
            if KEY in table.rows:
                _convert_list_keys(table, options)
    elif kind == "rankings" and options.models:
        table = _read_wide_table(kind, path, which, options)
    elif kind in ("runs", "relevance") and isinstance(path, Path) and not is_table:
        table = _read_trec(path, kind == "runs", options)
        model = model or path.name.removesuffix(".gz").rsplit(".", 1)[0]
    else:
        without = [] if model is None else ["model"]
        needed = [role for role in needed if role not in without]
        table = _read_table(path, kind, needed, options, without)
    if model is not None:
        if "model" in table.rows:
            raise BenchmarkError(f"{path} has a column of models; remove `model_name`")
        table.rows["model"] = fill_column(model, len(table.rows))
    for side in sides:
        if f"model{side}" not in table.rows or kind == "judgments":
            role = f"image{side}"
            if role not in table.rows:
                what = f"`model_pattern` needs the column {role!r}; set `columns` {role}=COLUMN"
                raise BenchmarkError(f"{table.name}: {what}")
            images = table.rows[role].cat
            models = [options.find_model(image) for image in images.categories]
            rows = table.find_rows(role, (not model for model in models))
            what = f"which `model_pattern` {options.model_pattern} does not match"
            table.report_cells(role, rows, f"{what}; correct the pattern or the name")
            table.rows[f"model{side}"] = make_column(images.codes, [name or "?" for name in models])
    if kind == "judgments" and options.questions and "model" in table.rows:
        models, asked = table.rows["model"].cat, table.rows[COLUMN].cat
        number = models.codes.astype(np.int64) * len(asked.categories) + asked.codes
        both = itertools.product(models.categories, asked.categories)
        table.rows["model"] = make_column(number, [" ".join(names) for names in both])
    if kind == "preferences" and isinstance(path, FlatRows):
        # Published files also compare two images of one model.
        first, second = (table.rows[f"model_{side}"].astype(object) for side in "ab")
        if same := int((first == second).sum()):
            table.notes.append(f"skipped {same} choices between two images of one model")
            table.rows = table.rows[first != second].reset_index(drop=True)
        if not len(table.rows):
            raise BenchmarkError(f"{table.name}: expected pairs of different models, found none")
    return table


def _read_table(
    path: File,
    kind: str,
    needed: Sequence[str],
    options: BuildOptions,
    without: Sequence[str] = (),
    nested: str | None = None,
) -> LongTable:
    """Read a table as text, with one row per judgment; lists in the role `nested` are unpacked."""
    foreign, path = (path, path.path) if isinstance(path, FlatRows) else (None, path)
    if not foreign and not is_input(str(path)):
        where = path if path.is_dir() else path.parent
        names = sorted(file.name for file in where.glob("*.*"))
        known = f"{where} contains {', '.join(names[:5]) or 'no files'}"
        raise BenchmarkError(f"{path} not found; {did_you_mean(path.name, names, known)}")
    called, about = options.get_columns(kind), FILE_KINDS[kind]
    called = {**foreign.called, **called} if foreign else called
    roles = [role for role in (*about.needed, *about.optional) if role not in without]
    named = {role: called.get(role, role) for role in (*needed, *roles)}
    if foreign:
        rows = list(foreign.rows)
        names = list(dict.fromkeys([*(n for row in rows for n in row if n != ROW), *foreign.names]))
        likes = {role: find_column(names, one) for role, one in named.items() if one not in names}
        named |= {role: like for role, like in likes.items() if like}
        there = [*filter(names.__contains__, named.values()), ROW]
        cells = {name: [row.get(name) for row in rows] for name in there}
    else:
        wanted, inner = tuple(named.values()), named.get(nested or "")
        try:
            cells, names = read_columns(str(path), wanted, _TABLES, inner, options.encoding)
        except FileError as error:
            raise BenchmarkError(str(error)) from None
    asked = () if foreign or options.prompts or options.images else called
    missing = [n for r, n in named.items() if r in {*needed, *asked} and n not in cells]
    tells_models = options.images or options.model or options.model_pattern or options.models
    if missing and kind == "judgments" and not tells_models and named["model"] not in cells:
        missing.append(named["model"])
    if not (missing or cells[ROW]):
        raise BenchmarkError(f"{path}: no rows; add one row per judgment or result")
    columns = {}
    for role, name in {**named, PLACE: PLACE, KEY: KEY}.items():
        if name in cells:
            try:
                codes_of_cells = {cell: n for n, cell in enumerate(dict.fromkeys(cells[name]))}
            except TypeError:
                raise BenchmarkError(f"{path}: {name!r} is a list; give text or numbers") from None
            codes = np.fromiter(map(codes_of_cells.__getitem__, cells[name]), np.int32)
            columns[role] = make_column(codes, [*map(_to_text, codes_of_cells)])
    if "annotator" in named and "annotator" not in columns:
        named["annotator"] = find_role_columns(names).get("annotator", "COLUMN")
    table = LongTable.from_columns(path, columns, cells[ROW], named)
    table.notes.extend(foreign.notes if foreign else ())
    table.columns = names
    if missing:
        _refuse_missing(table, kind, missing, names, options)
    return table


def _refuse_missing(
    table: LongTable, kind: str, missing: Sequence[str], names: Sequence[str], options: BuildOptions
) -> None:
    """Raise one error for the missing columns and any invalid cells of the other columns."""
    remedy, usual = "rename the columns, or set `columns` ROLE=COLUMN", find_role_columns(names)
    if not {"model", "model_a"}.isdisjoint(missing):
        remedy += ", `model_pattern` REGEX or `model_name` NAME"
    if "label" in missing:
        roles = (*FILE_KINDS[kind].needed, *FILE_KINDS[kind].optional)
        others = [name for name in names if name not in (*roles, *options.columns.values())]
        votes = []
        with suppress(FileError):
            cells, _ = read_columns(table.name, others, _TABLES, encoding=options.encoding)
            del cells[ROW]
            for name, column in cells.items():  # finds columns with labels of a known scale
                labels = {str(cell) for cell in column} - {"", "None"}
                values = [map(scale.parse_label, labels) for scale in SCALES.values()]
                is_known = any(all(map(math.isfinite, some)) for some in values)
                votes += [name] if is_known and len(labels) > 1 else []
        if len(votes) == 1:
            usual = {"label": votes[0], **usual}
        beside = {"annotators": "annotator", "models": "model", "questions": ""}
        listed = shlex.quote(",".join(votes) or "COL,COL")
        ways = [f"`{way}` {listed}" for way in beside if beside[way] not in names]
        remedy += f"; for several columns of votes, set {' or '.join(ways)}"
        if {"model_a", "model_b"} <= set(names):
            remedy = "for preferences between two models, use `preferences` FILE"
        elif "rank" in names:
            remedy = "for ranks (1 is the best), use `rankings` FILE"
    asked = options.get_columns(kind)
    likely = {r: f"{r}={n}" for r, n in usual.items() if not (find_column(names, r) or r in asked)}
    if likely.keys() & {*missing}:
        meant = f"did you mean `columns` {shlex.quote(','.join(likely.values()))}?"
        remedy = meant if likely.keys() >= {*missing} else f"{meant} Otherwise, {remedy}"
    elif find_close_names(missing[0], names):
        remedy = did_you_mean(missing[0], names)
    for tool, signs in WORDS["tools"].items():
        if options.from_format is None and any({*sign} <= {*names} for sign in signs):
            remedy = f"set `from_format` {tool}"
    what = f"missing column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
    there = f"(columns: {', '.join(names)[:200] or 'none'})"
    table.faults.insert(0, f"{table.name}: {what} {there}; {remedy}")
    for role in filter(table.rows.__contains__, FILE_KINDS[kind].filled_roles):
        if any(map(str.strip, table.rows[role].cat.categories)):
            table.report_blanks(role)
    for role in filter(table.rows.__contains__, _NUMBERS):
        table.parse_values(role, parse_number, "expected a finite number")
    if kind == "judgments" and "label" in table.rows:
        parse_labels(table, "label", find_scale(table, options), options.blank)
    table.raise_faults()


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
        free = ["annotator"] if options.model is not None else ["model", "annotator"]
        role = next((role for role in free if role not in rows), None)
        if role is None:
            index = table.locate(int((keys != "").argmax()))
            what = f"{table.get_column('label')}: expected a label, got an object"
            raise BenchmarkError(f"{index}, {what}; use one row per vote")
        rows[role] = keys
    if (positions != "").any() and "annotator" not in rows:
        names = [str(int(text or 0) + 1) for text in positions.cat.categories]
        rows["annotator"] = make_column(positions.cat.codes, names)
        which = f"{', '.join(sorted(set(names)))} in the lists of {table.get_column('label')}"
        table.notes.append(f"annotators: the positions {which} are one person each")


def _read_wide_table(kind: str, path: File, key: str, options: BuildOptions) -> LongTable:
    """Read a table with one column of votes for each annotator, model or question."""
    value = FILE_KINDS[kind].blank
    listed = {name: list(getattr(options, name)) for name in ("annotators", "models", "questions")}
    option, columns = next((name, columns) for name, columns in listed.items() if columns)
    role = "annotator" if option == "annotators" else "model"
    if {role, value, "score"} & options.get_columns(kind).keys():
        remedy = f"remove {role}=..., {value}=... and score=... from `columns`"
        raise BenchmarkError(f"`{option}` already names the columns of votes; {remedy}")
    if len(set(columns)) < len(columns):
        raise BenchmarkError(f"`{option}`: list each column once; got {','.join(columns)}")
    needed, without = [key, *columns], (value,) if options.questions else (role, value)
    table = _read_table(path, kind, needed, options, without)
    votes = pd.api.types.union_categoricals([table.rows.pop(column) for column in columns])
    each = np.repeat(np.arange(len(table.rows)), len(columns))
    table.rows = table.rows.iloc[each].reset_index(drop=True)
    # Row by row, in the order of the columns.
    codes = votes.codes.reshape(len(columns), -1).T.ravel()
    table.rows[value] = pd.Categorical.from_codes(codes, dtype=votes.dtype)
    index = np.tile(np.arange(len(columns)), len(each) // len(columns))
    table.rows[COLUMN] = make_column(index, columns)
    if not options.questions:
        table.rows[role] = table.rows[COLUMN]
    return table


def _read_trec(path: Path, is_run: bool, options: BuildOptions) -> LongTable:
    """Read a TREC run or qrels; grades above 0 are relevant."""
    from pqpp_metrics.errors import MetricInputError
    from pqpp_metrics.runs import read_trec

    if options.prompts is None:
        remedy = "set `prompts` to a table with the columns prompt_id and prompt"
        raise BenchmarkError(f"{path}: a TREC file contains no prompts; {remedy}")
    try:
        found, lines, _ = read_trec(path, "run" if is_run else "qrels")
    except MetricInputError as error:
        raise BenchmarkError(str(error)) from None
    queries, documents, numbers = zip(*found, strict=True)
    values, codes = np.unique(numbers, return_inverse=True)
    texts = [repr(float(value)) if is_run else str(int(value > 0)) for value in values]
    columns = {
        "prompt_id": make_column(np.arange(len(found)), queries),
        "image": make_column(np.arange(len(found)), documents),
        "score" if is_run else "label": make_column(codes, texts),
    }
    return LongTable.from_columns(path, columns, lines)
