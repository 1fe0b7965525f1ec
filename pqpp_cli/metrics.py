"""`pqpp metrics`: list, explain, compute and publish the metrics."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabulate import tabulate

from pqpp_cli.command import LIBRARY, Command, Group
from pqpp_cli.groups import PushOptions, ResultOptions, parse_json_or_text
from pqpp_cli.output import TABLE_ENDINGS, emit, emit_columns, print_notes
from pqpp_files.errors import PqppError
from pqpp_files.foreign.yaml_values import parse_yaml
from pqpp_files.options.option import NEEDED, option


class Metrics(Group):
    """List, describe, compute and publish metrics.

    `compute` reads files; `push` publishes metrics as Spaces, for `evaluate.load`.

    examples:
      pqpp metrics list
      pqpp metrics show kendall_qpp
      pqpp metrics compute kendall_qpp --predictions predicted.csv --references true.csv
      pqpp metrics compute kendall_qpp --predictions t.csv:predicted --references t.csv:true
      pqpp metrics compute precision_at_k --predictions r.trec --references q.trec --option k=5
      pqpp metrics compute ndcg@10,p@10,rr --run run.trec --qrels qrels.trec --option ties=docno
      pqpp metrics compute ap,rprec --run a.run --run b.run --qrels q.qrels --by-query queries.csv
      pqpp metrics compute hbpp --input labels=votes.jsonl --input prompt_ids=votes.jsonl
      pqpp metrics push ndcg OWNER --dry-run        # to the Space OWNER/ndcg
      pqpp metrics push hbpp ndcg OWNER --private
      pqpp metrics push all OWNER
    """


_ALL, _METRICS = "all", "pqpp_metrics.registration:list_metrics"


class OneMetric(Group):
    """The argument that names a metric.

    Attributes:
        metric: Metric, as in `pqpp metrics list`.
    """

    metric: str = option(NEEDED, metavar="NAME", word=True, known=_METRICS)


class MetricsCompute(OneMetric, ResultOptions, Command, takes=("pqpp_metrics.tables:Reading",)):
    """Compute a metric from files.

    Files are CSV, TSV, JSON, JSONL or Parquet, optionally with .gz, or standard input (-, or -.csv
    and so on). FILE:COLUMN names the column; the default is the column named like the input, or the
    only one besides ids.

    examples:
      pqpp metrics compute kendall_qpp --predictions predicted.csv --references true.csv
      pqpp metrics compute kendall_qpp --predictions t.csv:predicted --references t.csv:true
      pqpp metrics compute precision_at_k --predictions r.trec --references q.trec --option k=5
      pqpp metrics compute ndcg@10,p@10,rr --run run.trec --qrels qrels.trec --option ties=docno
      pqpp metrics compute ap,rprec --run a.run --run b.run --qrels q.qrels --by-query queries.csv
      pqpp metrics compute hbpp --input labels=votes.jsonl --input prompt_ids=votes.jsonl

    Lists: a cell can be a list (JSONL, Parquet). FILE:COLUMN,COLUMN,... reads one list per row, as
    does a CSV file without a matching column if all columns besides ids are numbers or all are
    text. For mann_whitney, each column is a group.

    Rankings: ranking metrics also read TREC runs (.run, .trec, .txt) and qrels (.qrels, .trec,
    .txt), and tables with one row per query and document: query_id, doc_id, and score or rel. A
    document without a score was not retrieved; one without rel was not judged.

    Ids: files are joined by --id; by default, by the first of id, query_id, prompt_id and prompt
    that all files have, or the pandas index of Parquet files; without ids, by position. Duplicate
    ids are an error unless all files have the same ids in the same order.

    Runs: with --run and --qrels, NAME lists ranking measures as in ir_measures and trec_eval:
    ndcg@10 ndcg_cut_10 P_10 p@10 map ap rr recall@100 success@5 rprec. Other measures need the
    package ir_measures. Files without the suffix of a table are read as TREC. Several runs are
    compared by a paired permutation test with Holm's correction; CSV has only the means. --option
    sets ties, relevance_level, judged_only and so on. The intervals of means are described in the
    docstring of pqpp_metrics.functional.mean_intervals.

    Attributes:
        predictions: File with the predictions.
        references: File with the references.
        input: File with another input; repeatable.
        no_header: Read the first line of CSV and TSV as data; columns are then 1, 2 and so on.
        runs: Run to evaluate, if NAME is a list of ranking measures; repeatable, to compare runs.
        qrels: Relevance judgments of the runs.
        by_query: Write the measures of each query to this file.
    """

    predictions: str | None = option(None, metavar="FILE[:COLUMNS]", path="file")
    references: str | None = option(None, metavar="FILE[:COLUMNS]", path="file")
    input: dict[str, str] | None = option(None, metavar="NAME=FILE[:COLUMNS]", path="file")
    missing: str
    nan: str
    id: tuple[str, ...] = option(LIBRARY, metavar="COLUMN[,COLUMN]", library="ids")
    no_header: bool = False
    runs: tuple[str, ...] = option((), metavar="[NAME=]FILE[:COLUMN]", path="file", also=("run",))
    qrels: str | None = option(None, metavar="FILE[:COLUMN]", path="file")
    by_query: str | None = option(None, path="output file", goes_with="runs", endings=TABLE_ENDINGS)
    format: str | None = option(None, choices=("table", "csv", "json"))
    option: dict[str, str] | None = option(None, "metric option, as JSON or text; repeatable")

    def __post_init__(self) -> None:
        """Require `run` and `qrels` together, without other inputs."""
        super().__post_init__()
        if bool(self.runs) != bool(self.qrels):
            present, missing = ("run", "qrels") if self.runs else ("qrels", "run")
            raise PqppError(f"`{present}` needs `{missing}`; add `{missing}`")
        others = [n for n in ("predictions", "references", "input") if getattr(self, n)]
        if self.runs and others:
            raise PqppError(f"`run` cannot be combined with `{others[0]}`; remove `{others[0]}`")

    def run(self) -> None:
        """Print the result or write it to files, and note unjudged documents."""
        from pqpp_metrics.errors import UnjudgedWarning

        how: Any = {"action": "always", "category": UnjudgedWarning}
        with warnings.catch_warnings(record=True, **how) as caught:
            self._compute()
        print_notes(*(str(warning.message) for warning in caught))

    def _compute(self) -> None:
        from pqpp_metrics.compute import compute_files
        from pqpp_metrics.runs import compute_runs
        from pqpp_metrics.tables import Reading

        options = {name: parse_json_or_text(text) for name, text in (self.option or {}).items()}
        reading = Reading(**self.get_arguments(Reading), header=not self.no_header)
        if self.runs:
            result, note = compute_runs(self.metric, self.runs, self.qrels or "", options, reading)
        else:
            files = {"predictions": self.predictions, "references": self.references}
            inputs = {name: file for name, file in (files | (self.input or {})).items() if file}
            result, note = compute_files(self.metric, inputs, options, reading)
        if note:
            print(note, file=sys.stderr)
        if self.by_query:
            file_style = Path(self.by_query).suffix[1:].lower()
            emit_columns(_get_values_by_query(result), file_style, self.by_query)
        if self.style == "json":  # null for undefined values
            text = json.dumps(result, default=float)
            plain = json.loads(text, parse_constant=lambda word: None)  # noqa: TID251 -- own text
            emit(json.dumps(plain, indent=1), self.output, self.style)
        elif self.style == "csv":
            rows = _list_means(result) if self.runs else _list_rows(result)
            columns = {name: [row.get(name) for row in rows] for name in rows[-1] | rows[0]}
            emit_columns(columns, self.style, self.output)
        else:
            emit((_format_runs if self.runs else _format_table)(result), self.output)


def _get_values_by_query(result: Mapping[str, Any]) -> dict[str, list]:
    """Return columns of the runs, query ids and measures, one row per run and query."""
    columns: dict[str, list] = {}
    for name, table in result.get("runs", {"": result}).items():
        run = {"run": [name] * len(table["query_ids"])} if "runs" in result else {}
        for column, cells in (run | {"query_id": table["query_ids"]} | table["values"]).items():
            columns.setdefault(column, []).extend(cells)
    return columns


# Lists of up to this length are shown, one row per value.
_MAX_ROWS = 50


def _list_values(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name, such as `smare` and `smare.n`, without empty lists."""
    return {
        key if name == key else f"{key}.{name}": cell
        for key, value in result.items()
        for name, cell in (value if isinstance(value, dict) else {key: value}).items()
        if cell != []
    }


def _list_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results that are not lists, then the groups; a note names the other lists."""
    values = _list_values(result)
    groups = values.pop("groups", [])
    if lists := [name for name, cell in values.items() if isinstance(cell, list)]:
        print_notes(f"not in CSV: {', '.join(lists)}; --format json shows them")
    return [{name: cell for name, cell in values.items() if name not in lists}, *groups]


def _format_table(result: Mapping[str, Any]) -> str:
    tables: dict[int | str, Any] = {}
    counts = ""
    for name, cell in _list_values(result).items():
        cells = cell if isinstance(cell, list) else [cell]
        if isinstance(cells[0], dict):
            tables[name] = cells
        elif len(cells) <= _MAX_ROWS and not any(isinstance(cell, list) for cell in cells):
            tables.setdefault(len(cells), {})[name] = cells
        else:
            counts += f"\n{name}: {len(cells)} values (--format json shows them)"
    single = {name: cells[0] for name, cells in tables.pop(1, {}).items() if cells[0] != ""}
    # tabulate rounds no number in a column with text.
    values = (f"{cell:.6g}" if isinstance(cell, float) else cell for cell in single.values())
    parts = [tabulate(zip(single, values, strict=True), ("result", "value"), floatfmt=".6g")]
    parts += [tabulate(table, "keys", floatfmt=".6g") for table in tables.values()]
    return "\n\n".join(parts) + counts


_HEADINGS = {"p_value": "p", "adjusted": "p by Holm", "rejected": "differ"}


def _format_runs(result: Mapping[str, Any]) -> str:
    """Return a table of means with intervals and, for several runs, a table of comparisons."""
    comparisons = [
        {_HEADINGS.get(key, key): row[key] for key in row if key not in ("n", "largest_share")}
        for row in result.get("comparisons", ())
    ]
    tables = filter(None, (_list_means(result), comparisons))
    return "\n\n".join(tabulate(rows, "keys", floatfmt=".4f") for rows in tables)


def _list_means(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per run and measure: the mean and its interval."""
    return [
        ({"run": name} if "runs" in result else {}) | {"measure": measure} | interval
        for name, table in result.get("runs", {"": result}).items()
        for measure, interval in table["means"].items()
    ]


class MetricsList(Command):
    """List all metrics."""

    def run(self) -> None:
        """Print the metrics as a table."""
        from pqpp_metrics.registration import list_metrics, load_metric, read_metric_card

        rows = [
            (
                name,
                ", ".join(load_metric(name).get_input_names()),
                parse_yaml(read_metric_card(name)[0], name)["description"],
            )
            for name in list_metrics()
        ]
        print(tabulate(rows, ("metric", "needs", "what it is"), maxcolwidths=[None, 34, 60]))
        print("\npqpp metrics show NAME describes inputs, options and results")


class MetricsPush(PushOptions, Command):
    """Publish metrics on the Hub as Spaces.

    The token is that of `hf auth login` or HF_TOKEN.

    Attributes:
        metrics: Metrics, as in `pqpp metrics list`, or `all`.
        owner: Owner of the Spaces, which are named after the metrics.
    """

    metrics: tuple[str, ...] = option(NEEDED, metavar="NAME", word=True, known=_METRICS)
    owner: str = option(NEEDED, metavar="OWNER", word=True)

    def run(self) -> None:
        """Push each metric, and print what was done."""
        from pqpp_metrics.app import push_metric
        from pqpp_metrics.registration import list_metrics, read_metric_card

        names = list_metrics() if self.metrics == (_ALL,) else list(self.metrics)
        for name in names:
            read_metric_card(name)  # refused before anything is pushed
        for name in names:
            self.push(push_metric, name.removeprefix("pqpp/"), self.owner)


class MetricsShow(OneMetric, Command):
    """Print the card of a metric."""

    def run(self) -> None:
        """Print the card without its front matter."""
        from pqpp_metrics.registration import read_metric_card

        print(read_metric_card(self.metric)[1].strip())
