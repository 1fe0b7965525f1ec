"""`pqpp metrics compute MEASURES --run RUN --qrels QRELS`: several measures, several runs."""

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pqpp_files.names import did_you_mean
from pqpp_files.visible import visible
from pqpp_files.write_beside import write_beside, write_whole
from pqpp_files.write_table import STYLES, table_text, write_parquet
from pqpp_metrics.errors import MetricFileError, MetricInputError
from pqpp_metrics.files.named_files import Reading, split_columns
from pqpp_metrics.files.rankings import in_options, read_side
from pqpp_metrics.forms import plain
from pqpp_metrics.functional._measures import parsed_measures
from pqpp_metrics.runs import compare_runs, evaluate_run

_MEANS = ("mean", "ci_low", "ci_high", "n")


def compute_runs(
    measures: str,
    runs: Sequence[str],
    qrels: str,
    chosen: Mapping[str, Any],
    reading: Reading,
    by_query: str | None = None,
) -> dict:
    """Compute measures of the runs that were named.

    Args:
        measures: Their names, with commas between them.
        runs: Their files, as `[NAME=]FILE[:COLUMN]`.
        qrels: The file of the relevance judgments.
        chosen: Options of `pqpp_metrics.runs.compare_runs`.
        reading: How the files are read.
        by_query: A table to write, with the measures of each query.

    Returns:
        What `evaluate_run`, or `compare_runs` for two runs or more, returns, as plain values.

    Raises:
        MetricFileError: What can't be used, in one line.
    """
    function = evaluate_run if len(runs) == 1 else compare_runs
    _check_options(chosen, function)
    _style_of(by_query)
    try:
        parsed_measures(measures)  # before anything long is read
        files = _named(runs)
        path = split_columns(qrels)[0]
        # Whether the judgments stand in the file of a run.
        are_one = {name: split_columns(file)[0] == path for name, file in files.items()}
        judgments, left = read_side("qrels", qrels, reading, any(are_one.values()))
        found = {}
        for name, file in files.items():
            found[name], more = read_side("run", file, reading, are_one[name])
            left += more
        given = found if len(found) > 1 else next(iter(found.values()))
        result = function(given, judgments, measures, missing=reading.missing, **chosen)
    except MetricInputError as error:
        raise MetricFileError(in_options(str(error))) from None
    if left:
        print(f"{left:,} {'row' if left == 1 else 'rows'} with NaN left out", file=sys.stderr)  # noqa: T201
    tables = result["runs"] if len(found) > 1 else {next(iter(found)): result}
    if by_query:
        _write(by_query, tables)
    return plain(result)


def shown_runs(result: dict) -> str:
    """Show the means with their intervals, and the comparisons, as tables."""
    from tabulate import tabulate

    tables = result.get("runs", {"": result})
    head = ["run"] * ("runs" in result) + ["measure", *_MEANS]
    rows = [
        [name] * ("runs" in result) + [measure, *(own[key] for key in _MEANS)]
        for name, table in tables.items()
        for measure, own in table["means"].items()
    ]
    shown = [tabulate(rows, head, floatfmt=".4f")]
    if "comparisons" in result:
        keys = (
            *("measure", "run", "other_run", "difference", "ci_low", "ci_high"),
            *("p_value", "adjusted", "rejected", "warning"),
        )
        rows = [[row[key] for key in keys] for row in result["comparisons"]]
        head = [*keys[:6], "p", "p by Holm", "differ", "warning"]
        shown.append(tabulate(rows, head, floatfmt=".4f"))
    return "\n\n".join(shown)


def _named(runs: Sequence[str]) -> dict[str, str]:
    """Return runs by their names: as given, else those of the files."""
    found = {}
    for text in runs:
        name, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            name, file = Path(text).name.removesuffix(".gz"), text
            name = name.rpartition(".")[0] or name
        if name in found:
            raise MetricFileError(f"`run` {text}: two runs are called {name!r}; write NAME={file}")
        found[name] = file
    return found


def _check_options(chosen: Mapping[str, Any], function: Any) -> None:
    """Refuse an option that means nothing here."""
    known = [name for name in inspect.signature(function).parameters if name != "missing"][3:]
    for name in chosen:
        if name not in known:
            raise MetricFileError(f"`option` {name}: it is unknown; {did_you_mean(name, known)}")


def _style_of(path: str | None) -> str:
    style = Path(path or "x.csv").suffix.lower().removeprefix(".")
    if style not in STYLES:
        raise MetricFileError(f"`by_query` {path}: name a .csv, .json, .jsonl or .parquet file")
    return style


def _write(path: str, tables: dict) -> None:
    """Write a row for each query, of each run."""
    parts = [
        ({"run": [name] * len(table["query_ids"])} if len(tables) > 1 else {})
        | {"query_id": table["query_ids"]}
        | {measure: values.tolist() for measure, values in table["values"].items()}
        for name, table in tables.items()
    ]
    if (style := _style_of(path)) == "parquet":
        with write_beside(path) as beside:
            write_parquet(beside, parts, parts)
    else:
        write_whole(path, "".join(table_text(style, parts)))
    print(f"written: {visible(str(path))}", file=sys.stderr)  # noqa: T201
