"""`pqpp metrics`: the metrics for people who don't write Python."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pqpp_cli.errors import CommandError
from pqpp_cli.metric_files.runs import add_run_options
from pqpp_cli.options import add_output
from pqpp_cli.push import add_push, push_with

_EPILOG = """examples:
  pqpp metrics list
  pqpp metrics show kendall_qpp
  pqpp metrics compute kendall_qpp --predictions predicted.csv --references true.csv
  pqpp metrics compute kendall_qpp --predictions t.csv:predicted --references t.csv:true
  pqpp metrics compute precision_at_k --predictions run.trec --references qrels.trec --option k=5
  pqpp metrics compute ndcg@10,p@10,rr --run run.trec --qrels qrels.trec --option ties=docno
  pqpp metrics compute ap,bpref --run a.run --run b.run --qrels q.qrels --by-query queries.csv
  pqpp metrics compute hbpp --input labels=votes.jsonl --input prompt_ids=votes.jsonl
  pqpp metrics push ndcg OWNER --dry-run        # to the Space OWNER/ndcg
  pqpp metrics push hbpp ndcg OWNER --private
  pqpp metrics push all OWNER
"""

_ALL = "all"
_FORMATS = ("table", "json")
_COLUMNS = "name one column as FILE:COLUMN, or several as FILE:COLUMN,COLUMN"

_FILES = """A file is CSV, TSV, JSON, JSONL or Parquet, packed (.gz) or not, or standard input (-,
or -.csv and so on). FILE:COLUMN names the column; without it the column called like the input is
taken, or the only one beside ids. A cell may hold a list (JSONL, Parquet); FILE:COLUMN,COLUMN,...
is one list a row, and so is a CSV file without a fitting name whose columns beside ids are all
numbers or all text. For ranking metrics a TREC run (.run, .trec, .txt) and qrels (.qrels, .trec,
.txt) are taken as well, and tables with a row for each document of a query: columns query_id,
doc_id and score, or rel. One file may hold both; a document without a score was not retrieved, one
without rel not judged. A column of mann_whitney is a group.

Rows of several files are joined by the first column of id, query_id, prompt_id, prompt that all of
them have and that is no input, by the pandas index of Parquet files, or by the columns of --id, in
the order of the first file; without ids, by their place. Which it was is said on standard error. An
id twice is refused, unless all files have the same ids in the same order. Ids in CSV are text.

With --run and --qrels a file whose name says no table is TREC, whatever it is called, and so is
standard input (-). NAME is a list of ranking measures as ir_measures and trec_eval call them:
ndcg@10 ndcg_cut_10 P_10 p@10 map ap rr recall@100 success@5 rprec bpref err@20 rbp(p=0.8) infap
iprec@0.1 judged@10. Means come with bootstrap intervals; several runs are compared by a paired
permutation test with Holm's correction. --option takes ties, relevance_level, judged_only and the
like."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command and its actions to the parser."""
    parser = subparsers.add_parser(
        "metrics",
        help="list, explain, compute and publish the metrics",
        description="The metrics of pqpp, from files and to the Hub.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="name every metric and what it is")
    listing.set_defaults(run=_list)
    show = actions.add_parser("show", help="print the card of a metric")
    _add_name(show)
    show.set_defaults(run=_show)
    _add_compute(actions)
    push = add_push(actions, "metrics", "a Space each", _EPILOG, _push)
    _add_name(push, several=True)
    push.add_argument(
        "repository",
        metavar="OWNER[/NAME]",
        help="the owner of the Spaces; each is named after its metric",
    )


def _add_compute(actions) -> None:
    compute = actions.add_parser(
        "compute",
        help="compute a metric from files",
        description=f"Compute a metric from files. {_FILES}",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_name(compute)
    for name in ("predictions", "references"):
        compute.add_argument(f"--{name}", metavar="FILE[:COLUMNS]", help=f"the file of {name}")
    compute.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE[:COLUMNS]",
        help="the file of another input; may be repeated",
    )
    add_run_options(compute)
    compute.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the metric, its value as JSON or text; may be repeated",
    )
    compute.add_argument(
        "--missing",
        choices=("error", "zero", "drop"),
        default="error",
        help="what a query does that only the run or only the qrels have, or an id that only some "
        "tables have (there zero is none) (default: %(default)s)",
    )
    compute.add_argument(
        "--nan",
        choices=("error", "drop"),
        default="error",
        help="what a row with an empty cell or NaN does: most metrics refuse it, drop leaves it "
        "out and says how many there were (default: %(default)s)",
    )
    compute.add_argument(
        "--id",
        metavar="COLUMN[,COLUMN]",
        help="what names a row in every file, by which rows are joined (default: see above)",
    )
    compute.add_argument(
        "--no-header",
        action="store_true",
        help="the first line of CSV and TSV is a row; the columns are called 1, 2, ...",
    )
    add_output(compute, _FORMATS, by_name=True)
    compute.set_defaults(run=_compute)


def _add_name(parser: argparse.ArgumentParser, several: bool = False) -> None:
    told: dict[str, Any]
    if several:
        told = {"nargs": "+", "help": f"metrics, as in `list`, or `{_ALL}`"}
    else:
        told = {"help": "the metric, as in `list`"}
    option: Any = parser.add_argument("name", metavar="NAME", **told)
    option.completer = _complete


def _complete(prefix: str, **_) -> list[str]:
    from pqpp_metrics.registration import list_metrics

    return list_metrics()


def _list(options: argparse.Namespace) -> None:
    import yaml
    from tabulate import tabulate

    from pqpp_metrics.modules import load_metric
    from pqpp_metrics.registration import list_metrics

    rows = [
        (name, ", ".join(load_metric(name).input_names()), yaml.safe_load(front)["description"])
        for name, front in ((name, _card(name)[0]) for name in list_metrics())
    ]
    print(tabulate(rows, ("metric", "needs", "what it is"), maxcolwidths=[None, 34, 60]))
    print("\npqpp metrics show NAME tells what each input, option and result is")


def _show(options: argparse.Namespace) -> None:
    print(_card(_known(options.name))[1].strip())


def _known(name: str) -> str:
    from pqpp_metrics.registration import metric_path

    metric_path(name := name.removeprefix("pqpp/"))
    return name


def _card(name: str) -> list[str]:
    """Return the front matter and the body of a metric's card."""
    from pqpp_metrics.registration import metric_path

    card = metric_path(name).with_name("README.md")
    return card.read_text("utf-8").split("---\n", 2)[1:]


def _compute(options: argparse.Namespace) -> None:
    from pqpp_cli.output import emit, format_of
    from pqpp_metrics.modules import load_metric

    options.format = format_of(options, _FORMATS)
    chosen = {key: _value(text) for key, text in (_pair(t, "--option") for t in options.option)}
    if options.runs or options.qrels or options.by_query:
        _compute_runs(options, chosen)
        return
    name = _known(options.name)
    metric = load_metric(name)
    inputs = _inputs(options, name, metric, chosen)
    result = _scored(name, metric, inputs, chosen)
    if inputs.told:
        print(inputs.told, file=sys.stderr)
    emit(_formatted(options.format, result), options.output)


def _compute_runs(options: argparse.Namespace, chosen: dict) -> None:
    """Compute several measures of runs."""
    from pqpp_cli.metric_files.runs import compute_runs, shown_runs
    from pqpp_cli.output import emit

    result = compute_runs(options.name, options, chosen, _reading(options))
    as_json = options.format == "json"
    emit(_formatted("json", result) if as_json else shown_runs(result), options.output)


def _reading(options: argparse.Namespace) -> Any:
    """Return how the files are read."""
    from pqpp_cli.metric_files.named_files import Reading
    from pqpp_files.names import comma_separated

    ids = comma_separated(options.id or "")
    return Reading(options.missing, options.nan, ids, not options.no_header)


def _inputs(options: argparse.Namespace, name: str, metric: Any, chosen: dict) -> Any:
    """Read the inputs of a metric from the files that the options name."""
    from pqpp_cli.metric_files.inputs import read_inputs
    from pqpp_metrics.forms import RANKINGS

    files = {n: v for n in ("predictions", "references") if (v := getattr(options, n))}
    files |= dict(_pair(text, "--input") for text in options.input)
    how = _reading(options)
    ranked = metric.forms is RANKINGS
    if ranked:
        from pqpp_metrics.functional._measures import tells_unjudged

        how.keep_unjudged = tells_unjudged(metric.function) or bool(chosen.get("judged_only"))
    return read_inputs(name, metric.input_names(), files, how, metric.takes_groups, ranked)


def _scored(name: str, metric: Any, inputs: Any, chosen: dict) -> dict:
    """Compute a metric; the values of single rows come with what names the rows."""
    from pqpp_metrics.errors import InputFormError, MetricInputError

    # What the run misses does not matter to every metric.
    if inputs.unretrieved is not None and "unretrieved" in metric.options():
        chosen = {"unretrieved": inputs.unretrieved} | chosen
    if inputs.document_ids is not None and chosen.get("ties") == "docno":
        chosen = {"document_ids": inputs.document_ids()} | chosen
    try:
        result = metric.score(inputs.columns, chosen)
    except MetricInputError as error:
        from pqpp_cli.metric_files.inputs import odd_cell

        if odd := odd_cell(inputs):
            raise CommandError(f"{name}: {error} ({odd})") from None
        if isinstance(error, InputFormError):
            raise CommandError(f"{name}: {error}; {_COLUMNS}") from None
        raise
    if inputs.ids and "scores" in result and "prompt_ids" not in metric.input_names():
        result |= {"ids": inputs.ids}
    return result


def _push(options: argparse.Namespace) -> None:
    from pqpp_metrics.hub import push_metric
    from pqpp_metrics.registration import list_metrics

    chosen = list_metrics() if options.name == [_ALL] else list(map(_known, options.name))
    owner, slash, _ = options.repository.partition("/")
    if slash and len(chosen) > 1:
        raise CommandError(
            f"{options.repository}: {len(chosen)} metrics cannot go into one Space; write {owner}"
        )
    for name in chosen:
        push_with(push_metric, name, options.repository if slash else f"{owner}/{name}", options)


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise CommandError(f"{option} {text}: NAME=VALUE is needed")
    return name, value


def _value(text: str):
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text


def _without_nan(value):
    """Replace what JSON has no word for, an undefined value, by null."""
    import math

    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _formatted(style: str, results: dict) -> str:
    import json

    if style == "json":
        return json.dumps(_without_nan(results), indent=1, default=float)
    from tabulate import tabulate

    rows = _flat(results)
    lists = [
        f"{key}: {len(value)} values (--format json shows them)"
        for key, value in rows.items()
        if isinstance(value, list)
    ]
    single = [(key, value) for key, value in rows.items() if not isinstance(value, list)]
    return "\n".join([tabulate(single, ("result", "value"), floatfmt=".6g"), *lists])


def _flat(results: dict) -> dict:
    """Put what a result holds by name beside it: `smare.n`, and `smare` for its value."""
    rows = {}
    for key, value in results.items():
        if not isinstance(value, dict):
            rows[key] = value
            continue
        rows |= {key if own == key else f"{key}.{own}": one for own, one in value.items()}
    return rows
