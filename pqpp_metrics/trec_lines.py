"""The columns of TREC files: by pyarrow where lines are even, surely where they are not."""

import codecs
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.errors import FileError
from pqpp_files.open_input import Input
from pqpp_metrics.errors import MetricInputError

RUN_LINE = "query Q0 document rank score tag"
QRELS_LINE = "query iteration document relevance"
# What stands for a blank, as in trec_eval.
_BLANKS = (b"\t", b"\x0b", b"\x0c", b"\r")
_TO_BLANKS = bytes.maketrans(b"".join(_BLANKS), b" " * len(_BLANKS))
_AT_ONCE = 1 << 18  # bytes that fit into the cache


def read_trec_columns(
    path: str | Path, names: str, value: str, kind: type[int] | type[float]
) -> tuple[Any, Any, NDArray[Any], list[int] | None, str]:
    """Read the columns query, document and one of numbers.

    Args:
        path: The file, also packed by gzip; `-` is standard input.
        names: The columns, `RUN_LINE` or `QRELS_LINE`.
        value: The column of numbers, floats or integers as `kind` says.

    Returns:
        Queries as a dictionary array of pyarrow, documents as one of bytes, values as numpy array,
        the number of each line in the file where it is not the place of the line plus one, else
        None, and what messages call the file.

    Raises:
        MetricInputError: in one line, with file and line.
    """
    try:
        source = Input(path)
        text = source.read().removeprefix(codecs.BOM_UTF8)
    except FileError as error:
        raise MetricInputError(str(error)) from None
    path, lines = source.name, None
    if any(blank in text for blank in _BLANKS):
        text = text.replace(b"\r\n", b"\n").translate(_TO_BLANKS)
    if text[-2:].isspace() or text.endswith(b" "):
        text = text.rstrip()
    if text[:1] in b" \n#" or _is_uneven(text):
        text, lines = _evened(text, names)
    if not text:
        raise MetricInputError(f"{path} is empty; a line is '{names}'")
    columns = _parsed(text, names, value, kind)
    if columns is None:
        text, lines = _evened(text, names, lines)
        columns = _parsed(text, names, value, kind) or _line_by_line(
            path, text, lines, names, value, kind
        )
    return *columns, lines, path


def _is_uneven(text):
    """Whether there are comments, or more between two words than a blank or an end of line."""
    is_blank = (
        np.frombuffer(text, np.uint8, min(_AT_ONCE + 1, len(text) - start), start) <= 32
        for start in range(0, len(text), _AT_ONCE)
    )
    are_doubled = ((blank[1:] & blank[:-1]).any() for blank in is_blank)
    return (b"#" in text and b"\n#" in text) or any(are_doubled)


def _evened(text, names, lines=None):
    """Words with one blank between them, on lines that hold any, and the numbers of these lines.

    Words behind the last column of a run go; behind that of qrels they are a fault, as in
    trec_eval.
    """
    last = len(names.split()) if names == RUN_LINE else None
    numbers, kept = [], []
    for number, line in enumerate(text.split(b"\n"), start=1):
        words = line.split()
        if words and not words[0].startswith(b"#"):
            numbers.append(number if lines is None else lines[number - 1])
            kept.append(b" ".join(words[:last]))
    return b"\n".join(kept), numbers


def _parsed(text, names, value, kind):
    """The three columns by pyarrow; None where it finds other columns, or no finite number."""
    import pyarrow
    from pyarrow import csv

    columns = names.split()
    number = pyarrow.float64() if kind is float else pyarrow.int64()
    types = {
        "query": pyarrow.dictionary(pyarrow.int32(), pyarrow.binary()),
        "document": pyarrow.binary(),
        value: number,
    }
    kept = ["query", "document", value]
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(text),
            csv.ReadOptions(column_names=columns, use_threads=False),
            csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=types, include_columns=kept, null_values=[]),
        )
    except pyarrow.ArrowInvalid:
        return None
    queries, documents, values = (
        table[name].unify_dictionaries().combine_chunks() for name in kept
    )
    values = np.from_dlpack(values)  # `to_numpy` imports pandas, which takes longer than reading
    return (queries, documents, values) if np.isfinite(values).all() else None


def _line_by_line(path, text, lines, names, value, kind):
    """The same slowly, for numbers that only Python reads (+1), or to name the first bad line."""
    import pyarrow

    columns, rows = names.split(), []
    for number, line in zip(lines, text.split(b"\n"), strict=True):
        fields = line.split(b" ")
        if len(fields) != len(columns):
            came = f"{len(fields)} columns; a line is '{names}'"
            raise MetricInputError(f"{path}, line {number}: {came}")
        field = fields[columns.index(value)]
        rows.append((fields[0], fields[2], _number(field, kind)))
        if rows[-1][2] is None:
            word, came = "finite" if kind is float else "whole", field.decode("utf-8", "replace")
            raise MetricInputError(
                f"{path}, line {number}: the {value} is {came!r}; it must be a {word} number"
            )
    queries, documents, values = zip(*rows, strict=True)
    kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.binary())
    documents = pyarrow.array(documents, pyarrow.binary())
    return pyarrow.array(queries, kind), documents, np.array(values)


def _number(field, kind):
    """A field as a number that float64 or int64 holds; None for any other."""
    try:
        # Python's own syntax for numbers allows what no file should hold: 1_000.
        number = kind(field) if b"_" not in field else None
        return number if number is not None and abs(number) < kind(2**63) else None
    except (ValueError, OverflowError):
        return None
