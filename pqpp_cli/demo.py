"""`pqpp demo`: the main job, end to end, with no network and no data."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from pqpp_cli.options import add_retired
from pqpp_cli.output import OutputFolder
from pqpp_cli.web_demo import add_serve, serve_from, wants_page

_PROMPTS = (
    "A cat is sitting on a table.",
    "a man riding a wave on a surfboard",
    "two men in suits juggle seven oranges beside a fire hydrant",
    "a storefront with 'Hello World' written on it",
)
_FITTED, _REPORT = "fitted-on-sample", "report.html"
_GENERATED = (
    "The sample's prompts and scores are generated: nobody judged them. That a predictor does well "
    "on them says nothing about real prompts."
)
_EPILOG = """examples:
  pqpp demo
  pqpp demo --output /tmp/pqpp-demo
  pqpp demo --serve
  pqpp demo --serve --port 8080 --predictors ./my_predictor

The sample benchmark is generated, prompts and scores: nobody judged them. It shows that every step
works; its figures say nothing about real prompts.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "demo",
        help="the main job end to end, with no network and no data",
        description="Predict the performance of a few prompts, then load the generated sample "
        "benchmark, fit a predictor on its train split, score it on its test split beside the "
        "published figures, and write a report with pictures.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--output",
        type=OutputFolder,
        metavar="DIR",
        help="where the report and the fitted predictor are written (default: pqpp-demo)",
    )
    add_retired(parser, "--output-dir", "--output")
    add_serve(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the demo and say where its files are, or serve the page."""
    if wants_page(options):
        serve_from(options)
        return
    from pqpp_models import DEFAULT_PREDICTOR, Predictor

    started = time.perf_counter()
    folder = Path(options.output or "pqpp-demo")
    _refuse_files_of_others(folder)
    print(f"1. The shipped predictor, {DEFAULT_PREDICTOR}, on a few prompts\n")
    targets = ("mean_hbpp", "mean_p10", "mean_rr")
    _print_predictions(Predictor.from_pretrained(DEFAULT_PREDICTOR), targets)
    print("\n2. A predictor of your own: pqpp fit, on the train split of the generated sample\n")
    fitted = _fitted_on_sample(folder / _FITTED)
    print("\n3. The paper's protocol, on the test split of the generated sample\n")
    report = _bench_on_sample(fitted, folder / _REPORT)
    print(f"\n{_GENERATED}")
    print(f"\nreport with pictures: {report}")
    print(f"done in {time.perf_counter() - started:.1f} s; next: pqpp bench --split validation")


def _refuse_files_of_others(folder: Path) -> None:
    """Refuse a folder that holds anything but what an earlier demo wrote."""
    from pqpp_files.check_output import check_output_folder
    from pqpp_models.checkpoint import check_place

    check_output_folder(folder, (_FITTED, _REPORT) if (folder / _FITTED).is_dir() else ())
    check_place(folder / _FITTED, "ridge")


def _print_predictions(predictor, targets) -> None:
    from pqpp_cli.answers import format_answers
    from pqpp_models.predict import predicted_columns

    found = predicted_columns(predictor, list(_PROMPTS), targets, uncertainty=True)
    print(format_answers("table", found, predictor.far_means))


def _fitted_on_sample(folder: Path):
    import numpy as np

    from pqpp_cli.fit import format_figures
    from pqpp_datasets.load import load_benchmark
    from pqpp_models import TARGETS, Predictor
    from pqpp_models.text.ridge.fitting import fit

    train = load_benchmark("sample", split="train")
    scores = np.column_stack([train[target][:] for target in TARGETS])
    fitted = fit(train["prompt"][:], scores, TARGETS, "sample, train")
    fitted.save_pretrained(folder)
    print(format_figures(fitted))
    return Predictor.from_pretrained(folder)  # what a user would do with the saved one


def _bench_on_sample(fitted, report: Path) -> Path:
    from pqpp_cli.output import emit
    from pqpp_datasets.load import load_benchmark
    from pqpp_models import TARGETS
    from pqpp_models.bench.report import render_report
    from pqpp_models.bench.run import run_table
    from pqpp_models.bench.split import Split
    from pqpp_models.bench.tables import format_results

    split = Split.of(load_benchmark("sample", split="test"))
    predictors = {"ridge (fitted on sample train)": fitted, **_linguistic()}
    found = run_table(split, predictors, TARGETS)
    print(format_results("table", found.results, found.published()))
    emit(render_report(found, found.published()), str(report))
    return report


def _linguistic() -> dict:
    from pqpp_models import MissingResourceError, Predictor, expand_predictors

    found = {}
    try:
        for name in expand_predictors("linguistic"):
            predictor = Predictor.from_pretrained(name)
            predictor.predict(["a red cat"])
            found[name] = predictor
    except MissingResourceError as error:
        print(f"note: without the linguistic features: {error}\n", file=sys.stderr)
        return {}
    return found
