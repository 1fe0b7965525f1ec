"""`pqpp bench --dataset conqa --runs`: runs on conceptual and descriptive queries."""

import argparse
import sys
from pathlib import Path

from pqpp_cli.errors import CommandError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what this table alone has."""
    parser.add_argument(
        "--runs",
        nargs="+",
        metavar="[NAME=]FILE",
        help="with --dataset conqa: runs of TREC, as pqpp retrieve writes them",
    )


def run(options: argparse.Namespace) -> None:
    """Print the tables."""
    from pqpp_cli.output import emit, format_of
    from pqpp_datasets.load import load_benchmark
    from pqpp_feedback.assess.tables import FIGURE_STYLES, figures_text
    from pqpp_models.bench.conqa import KINDS, bench_runs

    if not options.runs:
        raise CommandError("--dataset conqa: name runs of its queries by --runs")
    if options.split != "validation":  # the default of other benchmarks
        raise CommandError(f"--split {options.split}: conqa's table is about all queries; leave it")
    style = format_of(options, FIGURE_STYLES)
    runs = dict(map(_read, options.runs))
    where = {"data_dir": options.data_dir} if options.data_dir else {}
    queries = {kind: load_benchmark("conqa", split=kind, **where) for kind in KINDS}
    rows, gaps, notes = bench_runs(queries, runs)
    for line in notes:
        print(f"pqpp: note: {line}", file=sys.stderr)
    emit(figures_text(style, *_tables(rows, gaps)), options.output)


def _tables(rows, gaps):
    from pqpp_feedback.assess.tables import Figures
    from pqpp_models.bench.conqa import KINDS, MEASURES, PUBLISHED

    names = list(MEASURES.values())
    ours = [
        {"run": one.run, "queries": f"{one.kind}, {one.n}"}
        | {MEASURES[measure]: value for measure, value in one.means.items()}
        for one in rows
    ]
    theirs = [
        {"run": f"{name} (published)", "queries": kind}
        | dict(zip(names, values[kind], strict=False))
        for name, values in PUBLISHED.items()
        for kind in KINDS
    ]
    tests = [
        {
            "run": one.run,
            "measure": MEASURES[one.measure],
            "p": one.p_value,
            "descriptive over conceptual": one.relative_improvement,
        }
        for one in gaps
    ]
    tables = [
        Figures("conqa", "ConQA, means with 95 % intervals", ["run", "queries", *names], ours),
        Figures("published", "ConQA paper, Table 5", ["run", "queries", *names[:5]], theirs),
        Figures(
            "gap",
            "Do conceptual queries do worse? (one-sided Mann-Whitney test)",
            ["run", "measure", "p", "descriptive over conceptual"],
            tests,
        ),
    ]
    note = "Recall@k is ConQA's: whether any of the first k images is relevant."
    return tables, [note]


def _read(text: str) -> tuple[str, dict[str, dict[str, float]]]:
    from pqpp_metrics.trec import read_run

    name, sign, path = text.rpartition("=")
    judged = read_run(path)
    images = [image.decode("utf-8", "replace") for image in judged.document_ids.to_pylist()]
    found: dict[str, dict[str, float]] = {query: {} for query in judged.query_ids}
    for query, image, score in zip(judged.queries, judged.documents, judged.values, strict=True):
        found[judged.query_ids[query]][images[image]] = float(score)
    return (name if sign else Path(path).name.split(".")[0]), found
