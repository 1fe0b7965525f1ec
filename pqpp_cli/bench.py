"""`pqpp bench`: predictors beside the published table, by the paper's protocol."""

import argparse
import sys

from pqpp_cli import bench_richhf
from pqpp_cli.options import add_image_dir, add_output, add_predictors, add_targets, names_of

FORMATS = ("table", "markdown", "latex", "csv", "json")
TABLES = (
    *("main", "cross-model", "cross-dataset", "cross-task", "by-source", "automatic-metrics"),
    "generalisation",
)

_ONLY = {
    "pqpp": {
        **dict.fromkeys(("targets", "predictors", "report", "projection", "baseline", "metrics")),
        **{"config": "pqpp-v1.0", "table": "main", "fitted_to": "mscoco", "image_dir": None},
        **{"dataset": [], "metric": []},
    },
    "richhf": {**dict.fromkeys(("models", "clip", "pickapic_dir", "limit")), "batch_size": 16},
}
"""Options that one benchmark has and the other has not, with what they are if left out."""

_TABLE_OF = {
    "dataset": "generalisation",
    "fitted_to": "cross-dataset",
    "metrics": "automatic-metrics",
    "metric": "automatic-metrics",
}
"""Options that one table alone has."""

_EPILOG = """examples:
  pqpp bench --split validation
  pqpp bench --split validation --predictors static,n_words --targets mean_hbpp,mean_p10
  pqpp bench --config pqpp --format latex --output table.tex
  pqpp bench --report report.html
  pqpp bench --config pqpp --table by-source
  pqpp bench --table cross-model --predictors static
  pqpp bench --config pqpp --table cross-dataset --split test
  pqpp bench --table automatic-metrics --metrics hpsv2.csv --metric hpsv2=sdxl_hbpp
  pqpp bench --predictors static,n_words --baseline n_words
  pqpp bench --predictors runs/clip/model --image-dir pqpp_images
  pqpp bench --benchmark richhf --models ./rahf --pickapic-dir pickapic --split test

tables of the PQPP paper:
  main               3 and 5: each target by its own prediction
  cross-model        4: by the prediction for the other model
  cross-dataset      6 and 7: on prompts of a source that the predictors were not fitted to
  cross-task         8: by the prediction for the other task
  by-source          9: each source of prompts by itself
  automatic-metrics  10: automatic metrics, from your file, in the place of human judgments
generalisation is ours: prompts of another kind, with a score by people.

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
        help="read the published files from this folder instead of downloading them; with --table "
        "generalisation the folder of PQPP v1.1, or one that holds pqpp/v1.1 and gimbrr",
    )
    add_image_dir(parser)
    parser.add_argument(
        "--table", choices=TABLES, default="main", help="which table, see below (default: main)"
    )
    add_targets(parser, "all nine")
    add_predictors(parser, "static, which comes with the package, and linguistic")
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
    _add_metrics(parser)
    _add_report(parser)
    add_output(parser, FORMATS, by_name=True)
    bench_richhf.add_options(parser)
    parser.set_defaults(run=run)


def _add_metrics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fitted-to",
        metavar="SOURCE",
        default="mscoco",
        help="with --table cross-dataset: the source of the prompts that the predictors were "
        "fitted to (default: %(default)s)",
    )
    parser.add_argument(
        "--metrics",
        metavar="FILE",
        help="with --table automatic-metrics: a table with prompt_id or prompt and a column a "
        "metric, a row a prompt or an image",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="COLUMN=TARGET",
        help="which target a column of --metrics stands for, where its name doesn't say so like "
        "sdxl_hpsv2; may be repeated",
    )


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--report", metavar="FILE", help="also write an HTML report with pictures")
    parser.add_argument(
        "--projection",
        choices=("tsne", "umap", "none"),
        help="the report's picture of each predictor's space, in two dimensions, coloured by "
        "performance (default: tsne, where pqpp[plots] is installed)",
    )


def run(options: argparse.Namespace) -> None:
    """Run the protocol, print the table, write the report."""
    _refuse_options_of_the_other(options)
    if options.benchmark == "richhf":
        return bench_richhf.run(options)
    from pqpp_cli import automatic_metrics, generalisation
    from pqpp_cli.output import emit, format_of
    from pqpp_models.bench.projection import require_method
    from pqpp_models.bench.tables import format_results
    from pqpp_models.targets import resolve_targets

    options.format = format_of(options, FORMATS)
    if options.report and options.projection not in (None, "none"):
        require_method(options.projection)  # before the scoring
    targets = resolve_targets(options.targets)
    _refuse_options_of_other_tables(options)
    if options.table == "generalisation":
        generalisation.check_options(options)
    predictors = load_predictors(names_of(options.predictors), options.split)
    if options.table == "generalisation":
        return generalisation.run(options, predictors)
    rows = load_rows(options.config, options.split, options.data_dir, options.image_dir)
    for predictor in predictors.values():
        predictor.require_columns(rows.column_names, options.config)
    if options.table == "automatic-metrics":
        return automatic_metrics.run(options, predictors, rows, targets)
    bench = compare(
        predictors,
        rows,
        targets,
        options.config,
        options.split,
        options.table,
        options.fitted_to,
    )
    if options.baseline:
        bench = tested(bench, rows, options.baseline)
    published = published_beside(bench[0]) if options.table == "main" else []
    published = [] if options.no_published else published
    emit(format_results(options.format, bench[0], published), options.output)
    if options.report:
        write_report(options.report, bench, rows, published, predictors, options.projection)


def _refuse_options_of_the_other(options: argparse.Namespace) -> None:
    """Refuse what only the other benchmark has, rather than leave it unheeded."""
    from pqpp_cli.errors import CommandError

    other = "pqpp" if options.benchmark == "richhf" else "richhf"
    for name, default in _ONLY[other].items():
        if getattr(options, name) != default:
            raise CommandError(
                f"--{name.replace('_', '-')}: --benchmark {options.benchmark} has none; leave it "
                f"out, or take --benchmark {other}"
            )


def _refuse_options_of_other_tables(options: argparse.Namespace) -> None:
    from pqpp_cli.errors import CommandError

    for name, table in _TABLE_OF.items():
        if getattr(options, name) != _ONLY["pqpp"][name] and options.table != table:
            raise CommandError(
                f"--{name.replace('_', '-')}: only --table {table} has it; leave it out, or take "
                "that table"
            )


def load_rows(config: str, split: str, data_dir: str | None, image_dir: str | None = None):
    """Return one split of a configuration as a dataset, or raise an error that a user can read."""
    import datasets

    import pqpp_datasets  # noqa: F401 (registers, also where the start-up files are switched off)
    from pqpp_cli.errors import CommandError
    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_models import TARGETS

    usable = [b.name for b in BENCHMARKS.values() if set(TARGETS) <= set(b.features({}))]
    if config not in usable:
        what = "has no targets" if config in BENCHMARKS else "there is no such configuration"
        raise CommandError(f"--config {config}: {what}; use one of {', '.join(usable)}")
    if split not in BENCHMARKS[config].splits:
        raise CommandError(
            f"--split {split}: {config} has {', '.join(BENCHMARKS[config].splits)}; use one of them"
        )
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    images = {} if image_dir is None else {"image_dir": image_dir}
    return datasets.load_dataset("pqpp", config, data_dir=data_dir, split=split, **images)


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
            if predictor.inputs == "text":
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


def compare(
    predictors,
    rows,
    targets,
    config: str,
    split: str,
    table: str = "main",
    fitted_to: str = "mscoco",
):
    """Return the results, the predictions and the true values of one run of the protocol."""
    from pqpp_models.bench.experiments import experiment_cells
    from pqpp_models.bench.protocol import evaluate_predictions, predict_all

    sources = rows["source"][:]
    cells = experiment_cells(table, targets, list(dict.fromkeys(sources)), fitted_to)
    predicted = list(dict.fromkeys(cell.predicted for cell in cells))
    references = {cell.reference: rows[cell.reference][:] for cell in cells}
    predictions = predict_all(predictors, rows, predicted, progress=sys.stderr.isatty())
    generated = set(sources) == {"generated"}
    results = evaluate_predictions(
        predictions, references, config, split, generated, cells, sources
    )
    if table in ("by-source", "cross-dataset"):  # a source may lack a task altogether
        results = [result for result in results if result.n]
    return results, predictions, references


def tested(bench, rows, baseline: str):
    """Return the bench with every result tested against the baseline's."""
    from pqpp_models.bench.comparison import compare_with_baseline

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
    from pqpp_models.bench.published import published_results

    targets = {result.target for result in results}
    return [result for result in published_results() if result.target in targets]


def write_report(
    path: str, bench, rows, published, predictors=None, projection: str | None = "none"
) -> None:
    """Write the HTML report beside and rename it.

    Args:
        path: The file.
        bench: What `compare` returned.
        rows: The rows of the split.
        published: The published figures to print beside.
        predictors: Name to predictor, for the pictures of their spaces.
        projection: `tsne`, `umap` or `none`; None for the first one where it can be had.
    """
    from pqpp_cli.output import emit
    from pqpp_models.bench.report import render_report

    results, predictions, references = bench
    first = results[0]
    title = f"Prompt and query performance prediction: {first.config}, {first.split} split"
    about = {"sources": rows["source"][:], "prompts": rows["prompt"][:]}
    spaces = projected_spaces(predictors or {}, about["prompts"], projection)
    emit(render_report(results, predictions, references, published, title, spaces, **about), path)


def projected_spaces(predictors, prompts, projection: str | None) -> dict:
    """Bring each predictor's space into two dimensions, a point a prompt.

    Args:
        predictors: Name to predictor; those without a space are passed over.
        prompts: The prompts.
        projection: As in `write_report`.

    Returns:
        Predictor to `Projection`.
    """
    from pqpp_models import MissingResourceError
    from pqpp_models.bench.projection import project

    spaced = {name: one for name, one in predictors.items() if one.has_space}
    if projection == "none" or len(prompts) < 5:
        return {}
    try:
        return {name: project(one.embed(prompts), projection) for name, one in spaced.items()}
    except MissingResourceError as error:
        if projection is not None:
            raise
        print(f"pqpp: note: without pictures of spaces: {error}", file=sys.stderr)
        return {}
