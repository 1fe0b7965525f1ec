"""`pqpp demo`: do the main job end to end, in under a minute; or serve a web page about prompts."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from pathlib import Path
from typing import Any, ClassVar

from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.groups import DataDir, OnePredictor
from pqpp_files.options.option import option

_PROMPTS = (
    "A cat is sitting on a table.",
    "a man riding a wave on a surfboard",
    "two men in suits juggle seven oranges beside a fire hydrant",
    "a storefront with 'Hello World' written on it",
)
_FITTED, _REPORT, _FIGURES = "fitted-on-sample", "report.html", "figures.csv"
_TARGETS = ("mean_hbpp", "mean_p10", "mean_rr")
_CONFIG = "pqpp-v1.0"
_BUILD = "static-train"
"""What is benched: `static` itself was refitted on train + validation."""
_GENERATED = (
    "The sample's prompts and scores are generated: nobody judged them. That a predictor does well "
    "on them says nothing about real prompts."
)


class Served(OnePredictor, DataDir):
    """Where a page is served, and of what."""

    TITLE = "a web page to ask about prompts, with --serve"
    serve: bool = option(
        False, "serve the page until it is stopped, in place of the demo (needs the extra `demo`)"
    )
    host: str | None = option(None, "address to listen at (default: this machine only)")
    port: int | None = option(
        None, "port to listen at, 0 for any that is free (default: 7860)", metavar="N"
    )
    predictor: str | None = option(None)  # type: ignore[assignment]
    data_dir: str | None = option(
        None,
        "where judged prompts lie, of which the nearest are shown (default: PQPP_DATA_DIR, then "
        "earlier downloads)",
    )

    def __post_init__(self) -> None:
        """Refuse what is about the page where none is served."""
        super().__post_init__()
        for name in ("host", "port", "predictor", "data_dir"):
            if not self.serve and getattr(self, name) is not None:
                raise CommandError(f"`{name}`: it is about the page; add `serve`")


class Demo(Served, Command):
    """Predict a few prompts, then compare predictors on PQPP's validation prompts.

    The published figures stand beside, and a report is written; where there is neither a network
    nor a copy, fit and compare on a generated sample.
    """

    EPILOG = """examples:
  pqpp demo
  pqpp demo --output /tmp/pqpp-demo
  pqpp demo --serve
  pqpp demo --serve --port 8080 --predictor ./my_predictor

With a network it fetches PQPP's validation file (289 kB, by its published digest), or reads it
below PQPP_DATA_DIR, and puts the build of the shipped predictor that is fitted on train alone
beside the published figures. With neither it fits and scores a predictor on a generated sample,
beside no published figure: nobody judged the sample. It says which way it went.
"""
    RETIRED: ClassVar[dict[str, str]] = {"output_dir": "output"}
    output: str | None = option(
        None,
        "where the report, its figures and what was fitted are written (default: pqpp-demo)",
        metavar="DIR",
        path="output",
    )
    open: bool = option(
        True,
        "do not open the report in the browser; it is opened where a person looks on, at a "
        "terminal of a desktop",
    )

    def __post_init__(self) -> None:
        """Refuse an output of a page, which has none."""
        super().__post_init__()
        if self.serve and self.output is not None:
            raise CommandError("`output`: a page writes nothing; leave it or `serve` out")

    def run(self) -> None:
        """Run the demo and say where its files are, or serve the page."""
        from pqpp_models import DEFAULT_PREDICTOR, Predictor

        if self.serve:
            from pqpp_models.demo import serve_demo

            port = 7860 if self.port is None else self.port
            name = self.predictor or DEFAULT_PREDICTOR
            return serve_demo(name, self.host or "127.0.0.1", port, self.data_dir)
        started = time.perf_counter()
        folder = Path(self.output or "pqpp-demo")
        _refuse_files_of_others(folder)
        print(f"1. The shipped predictor, {DEFAULT_PREDICTOR}, on a few prompts\n")
        _print_predictions(Predictor.from_pretrained(DEFAULT_PREDICTOR), _TARGETS)
        rows, road = _validation()
        if rows is None:
            _on_sample(folder, road)
        else:
            print(f"\n2. The paper's protocol, on PQPP's validation prompts: {road}\n")
            _bench(rows, {_BUILD: Predictor.from_pretrained(_BUILD)}, folder)
        print(f"\nreport: {folder / _REPORT}; its figures: {folder / _FIGURES}")
        if self.open and _has_desktop():
            webbrowser.open((folder / _REPORT).resolve().as_uri())
        following = "pqpp predict --help" if rows is None else "pqpp bench --split validation"
        print(f"done in {time.perf_counter() - started:.1f} s; next: {following}")


def _has_desktop() -> bool:
    """Return whether a person is at a terminal of a desktop, where a browser has a place."""
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _refuse_files_of_others(folder: Path) -> None:
    """Refuse a folder that holds anything but what an earlier demo wrote."""
    from pqpp_backbones.checkpoint import check_place
    from pqpp_files.paths import check_output_folder

    is_ours = (folder / _FITTED).is_dir() or (folder / _FIGURES).is_file()
    check_output_folder(folder, (_FITTED, _REPORT, _FIGURES) if is_ours else ())
    check_place(folder / _FITTED, "ridge")


def _validation() -> tuple[Any, str]:
    """Return PQPP's validation rows and where they are from; None and why where there are none."""
    from datasets import config

    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.download import download_release
    from pqpp_datasets.errors import DownloadError
    from pqpp_datasets.load import load_benchmark
    from pqpp_datasets.location import ENVIRONMENT_VARIABLE, local_folder
    from pqpp_datasets.sources import release

    benchmark = BENCHMARKS[_CONFIG]
    (file,) = benchmark.files(None, "validation")
    folder, road = local_folder(benchmark, None), f"from {ENVIRONMENT_VARIABLE}, "
    if folder is None:
        published = release(benchmark.folders[0])
        place = Path(config.DOWNLOADED_DATASETS_PATH)
        is_here = (place / published.folder / published.commit / file).is_file()
        try:
            folder = download_release(published, [file], place)
        except DownloadError as error:
            return None, str(error)
        road = "downloaded before, " if is_here else "downloaded, sha256 as published, "
    rows = load_benchmark(_CONFIG, split="validation", data_dir=str(folder))
    return rows, f"{road}{folder / file}"


def _on_sample(folder: Path, reason: str) -> None:
    """Fit to the generated sample and compare on it, with no published figure beside."""
    from pqpp_datasets.load import load_benchmark

    print(f"\nPQPP's validation prompts are not here: {reason}")
    print("So the rest is on generated prompts, with no published figure beside them.")
    print("\n2. A predictor of your own: pqpp fit, on the train split of the generated sample\n")
    fitted = _fitted_on_sample(folder / _FITTED)
    print("\n3. The paper's protocol, on the test split of the generated sample\n")
    rows = load_benchmark("sample", split="test")
    _bench(rows, {"ridge (fitted on sample train)": fitted}, folder)
    print(f"\n{_GENERATED}")


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


def _bench(rows: Any, predictors: dict[str, Any], folder: Path) -> None:
    from pqpp_cli.output import emit
    from pqpp_models.bench.report import render_report
    from pqpp_models.bench.run import run_table
    from pqpp_models.bench.split import Split
    from pqpp_models.bench.tables import format_results

    found = run_table(Split.of(rows), {**predictors, **_linguistic()}, _TARGETS)
    published = found.published()
    print(format_results("table", found.results, published))
    folder.mkdir(parents=True, exist_ok=True)
    emit(format_results("csv", found.results, published), str(folder / _FIGURES))
    emit(render_report(found, published), str(folder / _REPORT))


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
