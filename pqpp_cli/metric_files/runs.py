"""`pqpp metrics compute MEASURES --run RUN --qrels QRELS`: several measures, several runs."""

import argparse
import inspect
import sys
from pathlib import Path
from typing import Any

from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputFile
from pqpp_files.visible import visible

_MEANS = ("mean", "ci_low", "ci_high", "n")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name runs, and what is written about them."""
    parser.add_argument(
        "--run",
        dest="runs",
        action="append",
        default=[],
        metavar="[NAME=]FILE[:COLUMN]",
        help="a run, for NAME a list of ranking measures; repeated, the runs are compared",
    )
    parser.add_argument(
        "--qrels", metavar="FILE[:COLUMN]", help="the relevance judgments of the runs"
    )
    parser.add_argument(
        "--by-query",
        type=OutputFile,
        metavar="FILE",
        help="write the measures of each query of the runs, .csv, .json, .jsonl or .parquet",
    )


def compute_runs(measures: str, options: argparse.Namespace, chosen: dict, how: Any) -> dict:
    """Compute measures of the runs that were named.

    Args:
        measures: Their names, with commas between them.
        options: With `runs`, `qrels` and `by_query`.
        chosen: Options of `pqpp_metrics.runs.compare_runs`.
        how: The files' `Reading`.

    Returns:
        What `evaluate_run`, or `compare_runs` for two runs or more, returns, as plain values.

    Raises:
        CommandError: What can't be used, in one line.
    """
    from pqpp_cli.metric_files.rankings import in_options, read_side
    from pqpp_metrics.errors import MetricInputError
    from pqpp_metrics.forms import plain
    from pqpp_metrics.functional._measures import parsed_measures
    from pqpp_metrics.runs import compare_runs, evaluate_run

    if not (options.runs and options.qrels):
        raise CommandError("--run and --qrels go together; give both")
    if options.predictions or options.references or options.input:
        raise CommandError("--run and --qrels stand for the inputs; leave the others out")
    function = evaluate_run if len(options.runs) == 1 else compare_runs
    _check_options(chosen, function)
    _style_of(options.by_query)
    try:
        parsed_measures(measures)  # before anything long is read
        files = _named(options.runs)
        of_both = any(_is_one(file, options.qrels) for file in files.values())
        qrels, left = read_side("qrels", options.qrels, how, of_both)
        found = {}
        for name, file in files.items():
            found[name], more = read_side("run", file, how, _is_one(file, options.qrels))
            left += more
        given = found if len(found) > 1 else next(iter(found.values()))
        result = function(given, qrels, measures, missing=how.missing, **chosen)
    except MetricInputError as error:
        raise CommandError(in_options(str(error))) from None
    if left:
        print(f"{left:,} {'row' if left == 1 else 'rows'} with NaN left out", file=sys.stderr)
    tables = result["runs"] if len(found) > 1 else {next(iter(found)): result}
    if options.by_query:
        _write(options.by_query, tables)
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
        keys = ("measure", "run", "other_run", "difference", "p_value", "adjusted", "rejected")
        rows = [[row[key] for key in keys] for row in result["comparisons"]]
        head = [*keys[:4], "p", "p by Holm", "differ"]
        shown.append(tabulate(rows, head, floatfmt=".4f"))
    return "\n\n".join(shown)


def _named(runs: list[str]) -> dict[str, str]:
    """Return runs by their names: as given, else those of the files."""
    found = {}
    for text in runs:
        name, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            name, file = Path(text).name.removesuffix(".gz"), text
            name = name.rpartition(".")[0] or name
        if name in found:
            raise CommandError(f"--run {text}: two runs are called {name!r}; write NAME={file}")
        found[name] = file
    return found


def _is_one(run: str, qrels: str) -> bool:
    """Tell whether the judgments stand in the file of a run."""
    from pqpp_cli.metric_files.named_files import split_columns

    return split_columns(qrels)[0] == split_columns(run)[0]


def _check_options(chosen: dict, function: Any) -> None:
    """Refuse an option that means nothing here."""
    from pqpp_files.names import did_you_mean

    known = [name for name in inspect.signature(function).parameters if name != "missing"][3:]
    for name in chosen:
        if name not in known:
            raise CommandError(f"--option {name}: it is unknown; {did_you_mean(name, known)}")


def _style_of(path: str | None) -> str:
    from pqpp_files.write_table import STYLES

    style = Path(path or "x.csv").suffix.lower().removeprefix(".")
    if style not in STYLES:
        raise CommandError(
            f"--by-query {path}: a table is written; name a .csv, .json, .jsonl or .parquet file"
        )
    return style


def _write(path: str, tables: dict) -> None:
    """Write a row for each query, of each run."""
    from pqpp_files.write_beside import write_beside
    from pqpp_files.write_table import table_text, write_parquet

    parts = [
        ({"run": [name] * len(table["query_ids"])} if len(tables) > 1 else {})
        | {"query_id": table["query_ids"]}
        | {measure: values.tolist() for measure, values in table["values"].items()}
        for name, table in tables.items()
    ]
    style = _style_of(path)
    with write_beside(path) as beside:
        if style == "parquet":
            write_parquet(beside, parts, parts)
        else:
            with beside.open("w", encoding="utf-8", newline="") as file:
                file.writelines(table_text(style, parts))
    print(f"written: {visible(str(path))}", file=sys.stderr)
