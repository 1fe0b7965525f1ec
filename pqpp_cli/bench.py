"""`pqpp bench`: predictors beside the published table, by the paper's protocol."""

import argparse
import sys

from pqpp_cli.options import add_output, add_predictors, add_targets, names_of

FORMATS = ("table", "markdown", "latex", "csv", "json")

_EPILOG = """examples:
  pqpp bench --split validation
  pqpp bench --split validation --predictors lexical,n_words --targets mean_hbpp,mean_p10
  pqpp bench --config pqpp --format latex --output table.tex
  pqpp bench --report report.html
  pqpp bench --config pqpp --table by-source
  pqpp bench --table cross-model --predictors lexical
  pqpp bench --predictors lexical,n_words --baseline n_words

`linguistic` stands for the paper's eight text features. Rows without a true value are left out and
n says how many remain. Published rows come from the splits that the notes name.
"""


def add_parser(subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "bench",
        help="compare predictors on a benchmark, beside the published figures",
        description="Correlate predicted and true performance over a split: Pearson, Kendall, and "
        "Student's t against chance, as in the PQPP paper.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config",
        default="pqpp-v1.0",
        help="configuration of the benchmark (default: %(default)s)",
    )
    parser.add_argument("--split", default="validation", help="the split (default: %(default)s)")
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="read the published files from this folder instead of downloading them",
    )
    parser.add_argument(
        "--table",
        choices=("main", "cross-model", "cross-task", "by-source", "generalisation"),
        default="main",
        help="which of the paper's tables: each target by its own prediction, by that for the "
        "other model, by that for the other task, or by source of the prompts; generalisation is "
        "ours: prompts of another kind, with a score by people (default: %(default)s)",
    )
    add_targets(parser, "all nine")
    add_predictors(parser, "the one that the package ships, and linguistic")
    parser.add_argument(
        "--no-published", action="store_true", help="leave the published figures out"
    )
    parser.add_argument(
        "--dataset",
        action="append",
        default=[],
        metavar="FILE:COLUMN",
        help="with --table generalisation: another set, a file with the prompts in the column "
        "prompt and their scores in COLUMN; may be repeated",
    )
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="test every predictor against this one of them, on the same prompts",
    )
    parser.add_argument("--report", metavar="FILE", help="also write an HTML report with pictures")
    add_output(parser, FORMATS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the protocol, print the table, write the report."""
    from pqpp_cli import generalisation
    from pqpp_cli.output import emit
    from pqpp_models.result_tables import format_results
    from pqpp_models.targets import resolve_targets

    targets = resolve_targets(options.targets)
    predictors = load_predictors(names_of(options.predictors), options.split)
    if options.table == "generalisation":
        return generalisation.run(options, predictors)
    rows = load_rows(options.config, options.split, options.data_dir)
    bench = compare(predictors, rows, targets, options.config, options.split, options.table)
    if options.baseline:
        bench = tested(bench, rows, options.baseline)
    published = published_beside(bench[0]) if options.table == "main" else []
    published = [] if options.no_published else published
    emit(format_results(options.format, bench[0], published), options.output)
    if options.report:
        write_report(options.report, bench, rows, published)


def load_rows(config: str, split: str, data_dir: str | None):
    """Return one split of a configuration as a dataset, or raise an error that a user can read."""
    import datasets

    import pqpp_datasets  # noqa: F401 (registers, also where the start-up files are switched off)
    from pqpp_cli.errors import CommandError
    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_models import TARGETS

    usable = [b.name for b in BENCHMARKS.values() if set(TARGETS) <= set(b.features({}))]
    if config not in usable:
        raise CommandError(f"--config {config}: has no targets; use one of {', '.join(usable)}")
    if split not in BENCHMARKS[config].splits:
        raise CommandError(
            f"--split {split}: {config} has {', '.join(BENCHMARKS[config].splits)}; use one of them"
        )
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    return datasets.load_dataset("pqpp", config, data_dir=data_dir, split=split)


def load_predictors(names: list[str] | None, split: str) -> dict[str, object]:
    """Load the predictors that were named, or the default ones that can run here."""
    from pqpp_cli.errors import CommandError
    from pqpp_models import (
        DEFAULT_PREDICTOR,
        MissingResourceError,
        Predictor,
        expand_predictors,
    )

    loaded: dict[str, Predictor] = {}
    left_out: dict[str, list[str]] = {}
    for name in expand_predictors(names or [DEFAULT_PREDICTOR, "linguistic"]):
        try:
            predictor = Predictor.from_pretrained(name)
            predictor.predict(["a red cat"])  # resources are looked up at first use
        except MissingResourceError as error:
            if names:
                raise
            left_out.setdefault(str(error), []).append(name)
            continue
        if predictor.supervised and split == "train":
            if names:
                raise CommandError(
                    f"{name} was fitted to a train split, its figures there would say nothing; "
                    "use --split validation or test"
                )
            print(f"pqpp: note: without {name}: it was fitted to train", file=sys.stderr)
            continue
        loaded[name] = predictor
    for reason, without in left_out.items():
        print(f"pqpp: note: without {', '.join(without)}: {reason}", file=sys.stderr)
    if not loaded:
        raise CommandError("none of the default predictors can run here; name one by --predictors")
    return loaded


def compare(predictors, rows, targets, config: str, split: str, table: str = "main"):
    """Return the results, the predictions and the true values of one run of the protocol."""
    from pqpp_models.experiments import experiment_cells
    from pqpp_models.protocol import evaluate_predictions, predict_all

    sources = rows["source"][:]
    cells = experiment_cells(table, targets, list(dict.fromkeys(sources)))
    predicted = list(dict.fromkeys(cell.predicted for cell in cells))
    references = {cell.reference: rows[cell.reference][:] for cell in cells}
    predictions = predict_all(predictors, rows, predicted, progress=sys.stderr.isatty())
    generated = set(sources) == {"generated"}
    results = evaluate_predictions(
        predictions, references, config, split, generated, cells, sources
    )
    if table == "by-source":  # a source may lack a task altogether
        results = [result for result in results if result.n]
    return results, predictions, references


def tested(bench, rows, baseline: str):
    """Return the bench with every result tested against the baseline's."""
    from pqpp_models.comparison import compare_with_baseline

    results, predictions, references = bench
    results = compare_with_baseline(
        results,
        predictions,
        references,
        baseline,
        rows["source"][:],
        progress=sys.stderr.isatty(),
    )
    return results, predictions, references


def published_beside(results) -> list:
    """Return the published figures of the targets that are in the results."""
    from pqpp_models.published import published_results

    targets = {result.target for result in results}
    return [result for result in published_results() if result.target in targets]


def write_report(path: str, bench, rows, published) -> None:
    """Write the HTML report beside and rename it."""
    from pqpp_cli.output import emit
    from pqpp_models.report import render_report

    results, predictions, references = bench
    first = results[0]
    title = f"Prompt and query performance prediction: {first.config}, {first.split} split"
    about = {"sources": rows["source"][:], "prompts": rows["prompt"][:]}
    emit(render_report(results, predictions, references, published, title, **about), path)
