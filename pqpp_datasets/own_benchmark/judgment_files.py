"""Tables of judgments and runs from CSV, Parquet or JSON Lines, as codes and their names.

Every text column becomes whole numbers and a list of distinct values at once, which is what keeps a
million judgments within a few hundred megabytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from pqpp_datasets.errors import DataFileError, MissingFileError
from pqpp_datasets.own_benchmark.json_lines import read_json_lines

_CODES = pa.dictionary(pa.int32(), pa.string())
_SUFFIXES = (".csv", ".parquet", ".jsonl")
_CSV_BLOCK = 1 << 24  # a row must fit into a block


@dataclass(frozen=True)
class Coded:
    """A column of texts.

    Attributes:
        codes: int32 (rows,), a position in `names` each.
        names: The distinct values in order of first appearance.
    """

    codes: np.ndarray
    names: list[str]

    def where(self, keep: np.ndarray) -> "Coded":
        """Return the rows where `keep` is true; the names stay."""
        return Coded(self.codes[keep], self.names)


def read_columns(path: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> dict:
    r"""Read columns of a file, each as text.

    Args:
        path: A `.csv`, `.parquet` or `.jsonl` file.
        needed: Columns that must be there, all cells filled.
        optional: Columns that may be missing; an empty cell is the empty text.

    Returns:
        Name to `Coded`, for every needed column and each optional one that is there.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If it can't be read, a column is missing or a needed cell is empty.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
        >>> _ = path.write_text("prompt,label\nA cat.,2\nA dog.,2\n")
        >>> column = read_columns(path, ["prompt", "label"])["label"]
        >>> column.codes.tolist(), column.names
        ([0, 0], ['2'])
    """
    path = Path(path)
    if not path.is_file():
        raise MissingFileError(f"{path}: there is no such file; name one of judgments or runs")
    if path.suffix not in _SUFFIXES:
        raise DataFileError(f"{path}: a file named {' or '.join(_SUFFIXES)} is needed")
    try:
        table, names = _read(path, (*needed, *optional))
        missing = [name for name in needed if name not in names]
        if missing:
            raise DataFileError(
                f"{path}: no column {', '.join(missing)} among "
                f"{', '.join(names)[:200] or 'none'}; name the columns so"
            )
        if not table.num_rows:
            raise DataFileError(f"{path}: no row came; one judgment or result a row is needed")
        return {n: _coded(path, table[n], n, n in needed) for n in table.column_names}
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0][:200]
        raise DataFileError(f"{path}: cannot be read ({reason}); correct the file") from None


def _read(path: Path, wanted: Sequence[str]) -> tuple[pa.Table, list[str]]:
    """Return the wanted columns that are there, and the names of all columns."""
    if path.suffix == ".jsonl":
        return read_json_lines(path, wanted)
    if path.suffix == ".parquet":
        schema = pa.parquet.read_schema(path)
        own = _own_names(path, schema.names, wanted)
        for name in own:
            if pa.types.is_nested(schema.field(name).type):
                raise DataFileError(
                    f"{path}: {name} is of type {str(schema.field(name).type)[:60]}, a text or a "
                    "number is allowed; give each value a row of its own"
                )
        return pa.parquet.read_table(path, columns=own, read_dictionary=own), schema.names
    with pa.csv.open_csv(path, _csv_blocks(), _csv_options()) as reader:
        names = reader.schema.names
    own = _own_names(path, names, wanted)
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(own, _CODES),
        include_columns=own,
        null_values=[""],
        strings_can_be_null=True,
    )
    return pa.csv.read_csv(path, _csv_blocks(), _csv_options(), convert), names


def _own_names(path: Path, names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the wanted names that are there, each once."""
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise DataFileError(f"{path}: the column {twice[0]} stands twice; keep one of them")
    return [name for name in wanted if name in names]


def _csv_blocks():
    return pa.csv.ReadOptions(block_size=_CSV_BLOCK)


def _csv_options():
    return pa.csv.ParseOptions(newlines_in_values=True)


def _coded(path: Path, column: pa.ChunkedArray, name: str, is_needed: bool) -> Coded:
    if not pa.types.is_dictionary(column.type):
        column = pc.cast(column, pa.string()).dictionary_encode()
    column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], _CODES)
    names = pc.cast(column.dictionary, pa.string()).to_pylist()
    codes = column.indices
    if codes.null_count:
        if is_needed:
            row = pc.index(pc.is_null(codes), True).as_py() + 1
            raise DataFileError(f"{path}, row {row}: {name} is empty; fill it")
        names = [*names, ""]
        codes = codes.fill_null(len(names) - 1)
    coded = Coded(codes.to_numpy(zero_copy_only=False).astype(np.int32), names)
    if is_needed:
        for position, text in enumerate(names):
            if not text.strip():
                row = int(np.argmax(coded.codes == position)) + 1
                raise DataFileError(f"{path}, row {row}: {name} is empty; fill it")
    return coded


def values_of(path: Path, column: Coded, name: str, allowed: Mapping[str, float]) -> np.ndarray:
    """Return a column's values as numbers, by a table of what may be written.

    Args:
        path: Of the file, for the error.
        column: The column.
        name: Its name.
        allowed: Text in lower case to value.

    Raises:
        DataFileError: If a text is none of them; names the row.
    """
    values = np.empty(len(column.names))
    for position, text in enumerate(column.names):
        key = text.strip().lower().removesuffix(".0")
        if key not in allowed:
            _refuse(path, column, name, position, "one of " + ", ".join(filter(None, allowed)))
        values[position] = allowed[key]
    return values[column.codes]


def numbers_of(path: Path, column: Coded, name: str) -> np.ndarray:
    """Return a column of numbers, all finite.

    Raises:
        DataFileError: If a text is no finite number; names the row.
    """
    values = np.empty(len(column.names))
    for position, text in enumerate(column.names):
        try:
            values[position] = float(text)
        except ValueError:
            values[position] = np.nan
        if not np.isfinite(values[position]):
            _refuse(path, column, name, position, "a finite number")
    return values[column.codes]


def _refuse(path: Path, column: Coded, name: str, position: int, allowed: str) -> None:
    row = int(np.argmax(column.codes == position)) + 1
    raise DataFileError(
        f"{path}, row {row}: {name} is {column.names[position]!r:.60}, {allowed} is allowed"
    )


def pairs_of(*columns: Coded) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct combinations of some columns.

    Returns:
        int64 (rows,), the combination of each row, and the first row of each combination; the
        combinations are numbered in the order of their codes.
    """
    key, distinct = columns[0].codes.astype(np.int64), len(columns[0].names)
    for column in columns[1:]:
        if distinct * len(column.names) >= 2**63:
            values, key = np.unique(key, return_inverse=True)
            distinct = len(values)
        key = key * len(column.names) + column.codes
        distinct *= len(column.names)
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    return codes.astype(np.int64), first


def refuse_repeats(path: Path, what: str, *columns: Coded) -> None:
    """Refuse a combination of columns that stands in two rows.

    Raises:
        DataFileError: Names both rows.
    """
    codes, first = pairs_of(*columns)
    if len(first) == len(codes):
        return
    again = int(np.argmax(first[codes] != np.arange(len(codes))))
    values = ", ".join(repr(c.names[c.codes[again]])[:60] for c in columns)
    raise DataFileError(
        f"{path}, row {again + 1}: {what} ({values}) also stands in row {first[codes[again]] + 1}; "
        "keep one of them"
    )
