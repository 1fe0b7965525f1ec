"""`pqpp metrics compute`: compute a metric from files."""

from __future__ import annotations

import json
import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

from pqpp_cli.command import Command, Group
from pqpp_cli.errors import CommandError
from pqpp_cli.groups import ResultOptions
from pqpp_cli.metrics import EPILOG
from pqpp_cli.metrics.show import OneMetric
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_metrics.files.named_files import Reading


class Files(Group):
    """The files of the inputs, and how they are read."""

    predictions: str | None = option(
        None, "the file of predictions", metavar="FILE[:COLUMNS]", path="file"
    )
    references: str | None = option(
        None, "the file of references", metavar="FILE[:COLUMNS]", path="file"
    )
    input: dict[str, str] | None = option(
        None,
        "the file of another input; may be repeated",
        metavar="NAME=FILE[:COLUMNS]",
        path="file",
    )
    missing: str = option(
        "error",
        "what a query does that only the run or only the qrels have, or an id that only some "
        "tables have (there zero is none)",
        ("error", "zero", "drop"),
    )
    nan: str = option(
        "error",
        "what a row with an empty cell or NaN does: most metrics refuse it, drop leaves it out and "
        "says how many there were",
        ("error", "drop"),
    )
    id: tuple[str, ...] = option(
        (),
        "what names a row in every file, by which rows are joined (default: see above)",
        metavar="COLUMN[,COLUMN]",
    )
    no_header: bool = option(
        False, "the first line of CSV and TSV is a row; the columns are called 1, 2, ..."
    )

    def reading(self) -> Reading:
        """Return how the files are read."""
        from pqpp_metrics.files.named_files import Reading

        return Reading(self.missing, self.nan, list(self.id), not self.no_header)


class MetricsCompute(OneMetric, Files, ResultOptions, Command):
    """Compute a metric from files. A file is CSV, TSV, JSON, JSONL or Parquet, packed (.gz) or not,
    or standard input (-, or -.csv and so on). FILE:COLUMN names the column; without it the column
    called like the input is taken, or the only one beside ids.
    """

    EPILOG = f"""A cell may hold a list (JSONL, Parquet); FILE:COLUMN,COLUMN,... is one list a row,
and so is a CSV file without a fitting name whose columns beside ids are all numbers or all text.
For ranking metrics a TREC run (.run, .trec, .txt) and qrels (.qrels, .trec, .txt) are taken as
well, and tables with a row for each document of a query: columns query_id, doc_id and score, or
rel. One file may hold both; a document without a score was not retrieved, one without rel not
judged. A column of mann_whitney is a group.

Rows of several files are joined by the first column of id, query_id, prompt_id, prompt that all of
them have and that is no input, by the pandas index of Parquet files, or by the columns of --id, in
the order of the first file; without ids, by their place. Which it was is said on standard error. An
id twice is refused, unless all files have the same ids in the same order. Ids in CSV are text.

With --run and --qrels a file whose name says no table is TREC, whatever it is called, and so is
standard input (-). NAME is a list of ranking measures as ir_measures and trec_eval call them:
ndcg@10 ndcg_cut_10 P_10 p@10 map ap rr recall@100 success@5 rprec bpref err@20 rbp(p=0.8) infap
iprec@0.1 judged@10. Means come with intervals; several runs are compared by a paired
permutation test with Holm's correction. --option takes ties, relevance_level, judged_only and the
like.

{EPILOG}"""
    runs: tuple[str, ...] = option(
        (),
        "a run, for NAME a list of ranking measures; repeated, the runs are compared",
        metavar="[NAME=]FILE[:COLUMN]",
        path="file",
        also=("run",),
    )
    qrels: str | None = option(
        None, "the relevance judgments of the runs", metavar="FILE[:COLUMN]", path="file"
    )
    by_query: str | None = option(
        None,
        "write the measures of each query of the runs, .csv, .json, .jsonl or .parquet",
        metavar="FILE",
        path="output file",
        holds=("text", "Parquet"),
    )
    format: str | None = option(None, choices=("table", "json"))
    option: dict[str, str] | None = option(
        None,
        "an option of the metric, its value as JSON or text; may be repeated",
        metavar="NAME=VALUE",
    )

    def __post_init__(self) -> None:
        """Check that runs stand alone, and with their judgments."""
        super().__post_init__()
        if bool(self.runs) != bool(self.qrels) or (self.by_query and not self.runs):
            raise CommandError("`run` and `qrels` go together; give both")
        if self.runs and (self.predictions or self.references or self.input):
            raise CommandError("`run` and `qrels` stand for the inputs; leave the others out")

    def run(self) -> None:
        """Compute, and print the result."""
        from pqpp_metrics.errors import UnjudgedWarning

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnjudgedWarning)
            self._compute()
        for warning in caught:
            print(f"pqpp: note: {warning.message}", file=sys.stderr)

    def _compute(self) -> None:
        from pqpp_cli.output import emit
        from pqpp_metrics.files.compute import compute_files
        from pqpp_metrics.files.runs import compute_runs, shown_runs

        style = self.style
        chosen = {name: _value(text) for name, text in (self.option or {}).items()}
        if self.runs:
            how = self.reading(), self.by_query
            result = compute_runs(self.metric, self.runs, self.qrels or "", chosen, *how)
            return emit(_json(result) if style == "json" else shown_runs(result), self.output)
        files = {"predictions": self.predictions, "references": self.references}
        files |= self.input or {}
        given = {name: file for name, file in files.items() if file}
        result, note = compute_files(self.metric, given, chosen, self.reading())
        if note:
            print(note, file=sys.stderr)
        return emit(_json(result) if style == "json" else _table(result), self.output)


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text


def _json(result: dict) -> str:
    return json.dumps(_without_nan(result), indent=1, default=float)


def _without_nan(value: Any) -> Any:
    """Replace what JSON has no word for, an undefined value, by null."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Lists of up to so many values are shown, one row a place.
_SHOWN = 50


def _table(result: dict) -> str:
    from tabulate import tabulate

    single, counts = [], []
    columns: dict[int, dict[str, list]] = {}
    for name, value in _flat(result).items():
        if not isinstance(value, list):
            single.append((name, value))
        elif len(value) == 1 and not isinstance(value[0], list):
            single.append((name, value[0]))
        elif len(value) <= _SHOWN and not any(isinstance(item, list) for item in value):
            columns.setdefault(len(value), {})[name] = value
        else:
            counts.append(f"{name}: {len(value)} values (--format json shows them)")
    parts = [tabulate(single, ("result", "value"), floatfmt=".6g")]
    parts += [tabulate(lists, "keys", floatfmt=".6g") for lists in columns.values()]
    return "\n\n".join(parts) + "".join(f"\n{line}" for line in counts)


def _flat(result: dict) -> dict:
    """Put what a result holds by name beside it: `smare.n`, and `smare` for its value."""
    rows = {}
    for key, value in result.items():
        if not isinstance(value, dict):
            rows[key] = value
            continue
        rows |= {key if own == key else f"{key}.{own}": item for own, item in value.items()}
    return rows
