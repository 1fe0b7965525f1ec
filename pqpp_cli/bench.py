"""`pqpp bench`: predictors beside the published table, by the paper's protocol."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from pqpp_cli import bench_conqa, bench_gimbrr, bench_richhf, bench_routing, bench_vistar
from pqpp_cli.options import add_output, add_predictors, add_targets, names_of
from pqpp_cli.output import OutputPage
from pqpp_cli.prompt_datasets import add_dataset

FORMATS = ("table", "markdown", "latex", "csv", "json")
TABLES = (
    *("main", "cross-model", "cross-dataset", "cross-task", "by-source", "automatic-metrics"),
    *("generalisation", "routing"),
)
SUBSET = "pqpp-v1.0"

_ONLY: dict[str, dict[str, object]] = {
    "predictors": {
        **dict.fromkeys(("targets", "predictors", "report", "projection", "baseline", "metrics")),
        **{"subset": None, "table": "main", "fitted_to": "mscoco", "image_dir": None},
        **{"scores": [], "metric": [], "explain": False, "plot": None},
    },
    "richhf": {**dict.fromkeys(("models", "clip", "pickapic_dir", "limit")), "batch_size": 16},
    "conqa": {"runs": None},
    "vistar": {"verdicts": [], "people": None, "roles": None},
}
"""Options that a comparison of predictors has and others have not, or the other way round."""
# Benchmarks whose tables are not about predictors.
_OTHERS = dict(richhf=bench_richhf, gimbrr=bench_gimbrr, conqa=bench_conqa, vistar=bench_vistar)
_TABLE_OF = {
    **{"scores": "generalisation", "fitted_to": "cross-dataset"},
    **dict.fromkeys(("metrics", "metric"), "automatic-metrics"),
    "plot": "routing",
}
"""Options that one table alone has."""

_EPILOG = """examples:
  pqpp bench --split validation
  pqpp bench --split validation --predictors static,n_words --targets mean_hbpp,mean_p10
  pqpp bench --subset pqpp --format latex --output table.tex
  pqpp bench --subset pqpp --table by-source
  pqpp bench --table cross-model --predictors static
  pqpp bench --subset pqpp --table cross-dataset --split test
  pqpp bench --table automatic-metrics --metrics hpsv2.csv --metric hpsv2=sdxl_hbpp
  pqpp bench --predictors static,n_words --baseline n_words
  pqpp bench --predictors runs/clip/model --image-dir pqpp_images
  pqpp bench --dataset my_benchmark --split test --predictors ./my_predictor,n_words
  pqpp bench --table generalisation --dataset theirs --split test
  pqpp bench --table routing --predictors static,n_words --plot routing.png
  pqpp bench --dataset richhf --models ./rahf --pickapic-dir pickapic --split test
  pqpp bench --dataset gimbrr
  pqpp bench --dataset conqa --runs CLIP=clip.trec mine.trec
  pqpp bench --dataset vistar --verdicts verdicts.parquet --people choices.csv

tables of the PQPP paper:
  main               3 and 5: each target by its own prediction
  cross-model        4: by the prediction for another model
  cross-dataset      6 and 7: on prompts of a source that the predictors were not fitted to
  cross-task         8: by the prediction for the other task
  by-source          9: each source of prompts by itself
  automatic-metrics  10: automatic metrics, from your file, instead of human judgments
generalisation is ours: prompts of another kind, with a score by people. Of a --dataset, and of each
--scores, every target is compared with the prediction for it or, where a predictor has none, with
what stands in (also in the main table of a benchmark of yours): that of the same measure; of judged
images else `alignment`, by its order. pqpp stands for its DrawBench prompts and GIMBRR's too.
routing is ours: the mean quality where prompts go to the weaker or the stronger of two models
(--targets, PQPP's are GLIDE and SDXL), by the predicted gain, or the paper's rule: by how low the
weaker one's prediction is.

`linguistic` stands for the paper's eight text features. Rows without a true value are left out and
n says how many remain. Published rows come from the splits that the notes name. A predictor that
was fitted to some of the rows is marked and not ranked; its build fitted on train alone stands for
it.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "bench",
        help="compare predictors on a benchmark, beside the published figures",
        description="Correlate predicted and true performance over a split: Pearson, Kendall, and "
        "Student's t against chance, as in the PQPP paper.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_dataset(
        parser,
        "the benchmark: pqpp, another listed name, OWNER/REPOSITORY, a folder or a table, with the "
        "prompts in the column prompt; richhf compares models of rich human feedback, gimbrr "
        "automated verdicts with people's (default: pqpp)",
        default="pqpp",
        older="--benchmark",
        subset=f"{SUBSET} of pqpp, whose train split the shipped predictor was trained on",
        split="validation",
    )
    parser.add_argument(
        "--table", choices=TABLES, default="main", help="which table, see below (default: main)"
    )
    add_targets(parser, "all that the benchmark has")
    add_predictors(parser, "static, which comes with the package, and linguistic")
    parser.add_argument(
        "--no-published", action="store_true", help="leave the published figures out"
    )
    parser.add_argument(
        "--scores",
        action="append",
        default=[],
        metavar="DATA:COLUMN",
        help="with --table generalisation: another set, a table (FILE) or a dataset (a folder, "
        "OWNER/NAME or a listed name) with the prompts in the column prompt and their scores in "
        "COLUMN; may be repeated",
    )
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="test every predictor against this one of them, on the same prompts",
    )
    _add_metrics(parser)
    _add_report(parser)
    add_output(parser, FORMATS, by_name=True)
    for module in (bench_routing, bench_conqa, bench_richhf, bench_vistar):
        module.add_options(parser)
    parser.set_defaults(run=run, column="prompt")


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
        help="with --table automatic-metrics: a table with prompt_id or prompt and a column "
        "for each metric, one row per prompt or image",
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
    parser.add_argument(
        "--report",
        type=OutputPage,
        metavar="FILE",
        help="also write an HTML report with charts",
    )
    parser.add_argument(
        "--projection",
        choices=("tsne", "umap", "none"),
        help="the report's picture of each predictor's space, in two dimensions, coloured by "
        "performance (default: tsne, where pqpp[plots] is installed)",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="with --report: colour the words of the easiest and hardest prompts by what they add "
        "to the prediction, for predictors of texts",
    )


def run(options: argparse.Namespace) -> None:
    """Run the protocol, print the table, write the report."""
    _refuse_unheeded(options)
    if options.dataset in _OTHERS:
        return _OTHERS[options.dataset].run(options)
    if options.split == "validation" and Path(options.dataset).is_file():
        options.split = None  # a table is taken whole
    from pqpp_cli.output import format_of
    from pqpp_cli.prompt_datasets import with_kept_images
    from pqpp_models.bench.projection import require_method
    from pqpp_models.bench.run import load_predictors

    options.format = format_of(options, FORMATS)
    if options.report and options.projection not in (None, "none"):
        require_method(options.projection)  # before the scoring
    if options.table == "generalisation":
        _check_generalisation(options)
    else:
        _check_benchmark(options)
    # What is quicker to fail comes first: the data, which may have to be downloaded.
    split = None if options.table == "generalisation" else _split(options)
    predictors, left_out = load_predictors(names_of(options.predictors), split)
    for line in left_out:
        _note(line)
    if split is None:
        return _generalisation(options, predictors)
    if any(one.inputs == "text+images" for one in predictors.values()):
        split = replace(split, rows=with_kept_images(split.rows, options))
    if options.table == "routing":
        return bench_routing.run(options, predictors, split)
    _tables(options, predictors, split)


def _note(line: str) -> None:
    print(f"pqpp: note: {line}", file=sys.stderr)


def _refuse_unheeded(options: argparse.Namespace) -> None:
    """Refuse what only another benchmark or table has, rather than leave it unheeded."""
    from pqpp_cli.errors import CommandError

    own = options.dataset if options.dataset in _OTHERS else "predictors"
    foreign = [(other, *one) for other in _ONLY if other != own for one in _ONLY[other].items()]
    for other, name, default in foreign:
        if getattr(options, name) != default:
            remedy = f"--dataset {other}" if other in _OTHERS else "a benchmark of predictors"
            raise CommandError(
                f"--{name.replace('_', '-')}: --dataset {options.dataset} has none; leave it out, "
                f"or take {remedy}"
            )
    for name, table in _TABLE_OF.items():
        if getattr(options, name) != _ONLY["predictors"][name] and options.table != table:
            raise CommandError(
                f"--{name.replace('_', '-')}: only --table {table} has it; leave it out, or take "
                "that table"
            )
    if options.explain and not options.report:
        raise CommandError("--explain: it is about the report's prompts; add --report FILE")


def _split(options: argparse.Namespace):
    from pqpp_cli.prompt_datasets import dataset_rows
    from pqpp_models.bench.split import Split

    by_itself = options.dataset == "pqpp" and options.subset is None
    options.subset = SUBSET if by_itself else options.subset
    split = Split.of(dataset_rows(options), options.dataset)
    if by_itself:
        _note(f"on {SUBSET}, since the shipped predictor was trained on it; --subset pqpp is v1.1")
    return split


def _tables(options: argparse.Namespace, predictors: dict, split) -> None:
    from pqpp_cli.output import emit
    from pqpp_models.bench.automatic_metrics import NOTE
    from pqpp_models.bench.report import render_report
    from pqpp_models.bench.run import run_table, with_some_of
    from pqpp_models.bench.tables import format_results

    for name, predictor in predictors.items():
        predictor.require_columns(split.rows.column_names, split.config)
        table = Path(options.dataset)
        is_unknown = predictor.record.rows is None
        if is_unknown and table.is_file() and predictor.details.get("data") == table.name:
            _note(
                f"{name} was fitted to a table called {options.dataset}: on the same rows its "
                "figures are too good; use prompts that it was not fitted to"
            )
    predicted = [target for one in predictors.values() for target in one.targets]
    targets = split.targets(options.targets, predicted)
    if options.predictors is None and options.table == "main":
        predictors, left_out = with_some_of(predictors, targets, not split.is_pqpp)
        for line in left_out:
            _note(line)
    progress = sys.stderr.isatty()
    if options.table == "automatic-metrics":
        found = _automatic_metrics(options, split, predictors, targets, progress)
    else:
        fitted_to = options.fitted_to
        found = run_table(split, predictors, targets, options.table, fitted_to, progress)
        if options.baseline:
            found = found.tested(options.baseline, progress)
    for line in found.builds.notes:
        _note(line)
    beside = options.table == "main" and not options.no_published
    published = found.published() if beside else []
    text = format_results(options.format, found.results, published)
    if options.table == "automatic-metrics" and options.format in ("table", "markdown"):
        text += f"\n\n{NOTE}"
    emit(text, options.output)
    if options.report:
        spaces, reason = found.spaces(options.projection)
        if reason:
            _note(f"without pictures of spaces: {reason}")
        emit(render_report(found, published, spaces, options.explain), options.report)


def _automatic_metrics(options, split, predictors, targets, progress: bool):
    from pqpp_cli.errors import CommandError
    from pqpp_models.bench.automatic_metrics import run_automatic_metrics

    if options.metrics is None:
        raise CommandError(
            "--table automatic-metrics needs --metrics FILE: prompt_id or prompt, and a column per "
            "metric, like sdxl_hpsv2"
        )
    named = {}
    for text in options.metric:
        column, sign, target = text.partition("=")
        if not sign:
            raise CommandError(f"--metric {text}: COLUMN=TARGET is needed, like hpsv2=sdxl_hbpp")
        named[column.strip()] = target.strip()
    return run_automatic_metrics(
        split, predictors, targets, options.metrics, named, options.baseline, progress
    )


def _check_benchmark(options: argparse.Namespace) -> None:
    """Refuse a benchmark of ours that has no scores of prompts, before it is downloaded."""
    from pqpp_cli.errors import CommandError
    from pqpp_datasets.benchmarks import BENCHMARKS

    def is_usable(name: str) -> bool:
        columns = BENCHMARKS[name].features({})
        scores = [kind for kind in columns.values() if "float" in getattr(kind, "dtype", "")]
        return "prompt" in columns and bool(scores)

    name = options.subset or options.dataset
    if name in BENCHMARKS and not is_usable(name):
        usable = ", ".join(filter(is_usable, BENCHMARKS))
        raise CommandError(f"--subset {name}: it has no targets; use one of {usable}")


def _check_generalisation(options: argparse.Namespace) -> None:
    """Refuse what the table of generalisation does not have, before anything is loaded."""
    from pqpp_cli.errors import CommandError
    from pqpp_datasets.benchmarks import BENCHMARKS

    for name in ("report", "baseline", "image_dir"):
        if getattr(options, name):
            raise CommandError(
                f"--{name.replace('_', '-')}: --table generalisation has none; leave it out, or "
                "take another table"
            )
    if ":" in options.dataset:
        raise CommandError(f"--dataset {options.dataset}: write --scores {options.dataset}")
    if options.dataset != "pqpp" or options.subset not in (None, "pqpp"):
        return _check_benchmark(options)
    splits = BENCHMARKS["pqpp"].splits
    if options.split not in splits:
        raise CommandError(
            f"--split {options.split}: pqpp has {', '.join(splits)}; use one of them"
        )
    if options.data_dir and not Path(options.data_dir).expanduser().is_dir():
        raise CommandError(
            f"--data-dir {options.data_dir}: no such folder; give that of PQPP v1.1, or one that "
            "holds pqpp/v1.1 and gimbrr"
        )


def _generalisation(options: argparse.Namespace, predictors: dict) -> None:
    from pqpp_cli.errors import CommandError
    from pqpp_cli.output import emit
    from pqpp_cli.prompt_datasets import dataset_rows
    from pqpp_models.bench.generalisation import evaluate_held_out, format_generalisation
    from pqpp_models.bench.run import with_some_of
    from pqpp_models.bench.scored_prompts import load_sets, read_set, sets_of
    from pqpp_models.bench.split import Split
    from pqpp_models.targets import resolve_targets

    for name, predictor in predictors.items():
        if predictor.inputs != "text":
            raise CommandError(
                f"{name} needs {predictor.inputs}, these sets have prompts only; leave it out"
            )
    own = [read_set(text, options.split) for text in options.scores]
    is_ours = options.dataset == "pqpp" and options.subset in (None, "pqpp")
    if is_ours:
        targets = resolve_targets(options.targets or "mean_hbpp")
        if len(targets) != 1:
            raise CommandError(f"--targets: {len(targets)} came, this table asks for one of them")
        sets, left_out = load_sets(options.data_dir, options.split, targets[0])
        for line in left_out:
            _note(line)
    else:
        split = Split.of(dataset_rows(options), options.dataset)
        predicted = [target for one in predictors.values() for target in one.targets]
        targets = split.targets(options.targets, predicted)
        sets = sets_of(split, targets)
    if not sets + own:
        raise CommandError(
            "no set of prompts could be read, see the notes; name a folder by --data-dir, or a "
            "file by --scores FILE:COLUMN"
        )
    if options.predictors is None:
        asked = [one.target or targets[0] for one in [*sets, *own]]
        predictors, left_out = with_some_of(predictors, asked)
        for line in left_out:
            _note(line)
    shown = sys.stderr.isatty()
    results, left_out = evaluate_held_out(predictors, [*sets, *own], targets[0], shown)
    for line in left_out:
        _note(line)
    emit(format_generalisation(options.format, results), options.output)
