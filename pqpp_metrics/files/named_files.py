"""The files that a user names for a metric: which columns of them, and how they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pqpp_files.errors import NoHeaderError
from pqpp_files.read_table import Table, read_table
from pqpp_metrics.errors import MetricFileError

TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
TREC = (".run", ".qrels", ".trec", ".txt")


@dataclass
class Reading:
    """How files are read.

    Attributes:
        missing: What a query does that only one side has, the run or qrels, or an id that only one
            of several tables has: `error`, `zero` (runs only) or `drop`.
        nan: What a row with an empty cell or NaN does: `error` leaves it to the metric, `drop`
            leaves it out.
        ids: The columns that together name a row; found where empty.
        header: Whether the first line of CSV names the columns.
        keep_unjudged: Whether documents of a run without a judgment are told from irrelevant ones.
    """

    missing: str = "error"
    nan: str = "error"
    ids: Sequence[str] = ()
    header: bool = True
    keep_unjudged: bool = False


def named_table(path: str, how: Reading) -> Table:
    """Read a table.

    Raises:
        FileError: It can't be read.
        MetricFileError: Its first line is one of numbers.
    """
    try:
        return read_table(path, kinds=TABLES, header=how.header)
    except NoHeaderError as error:
        raise MetricFileError(f"{error}, or read them by `no_header`") from None


def has_suffix(path: str, kinds: Sequence[str]) -> bool:
    """Tell a file of some kinds, `TABLES` or `TREC`, by its name."""
    return Path(path.lower().removesuffix(".gz")).suffix in kinds


def split_columns(text: str) -> tuple[str, str | None]:
    """Part FILE:COLUMN; a file of that whole name wins.

    Example:
        >>> split_columns("votes.csv:a,b"), split_columns("votes.csv")
        (('votes.csv', 'a,b'), ('votes.csv', None))
    """
    path, colon, column = text.rpartition(":")
    if not colon or not path or Path(text).exists() or "/" in column or "\\" in column:
        return text, None
    return path, column


def lacks_value(cell: object) -> bool:
    """Tell an empty cell or NaN, or a list with one in it.

    Example:
        >>> lacks_value(None), lacks_value([1.0, float("nan")]), lacks_value(0), lacks_value("")
        (True, True, False, False)
    """
    if isinstance(cell, list):
        return any(map(lacks_value, cell))
    return cell is None or (isinstance(cell, float) and cell != cell)
