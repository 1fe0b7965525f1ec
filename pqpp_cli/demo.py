"""`pqpp demo`: predict and evaluate from start to end in under a minute, or serve a web page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pqpp_cli.command import Command
from pqpp_cli.groups import OnePredictor
from pqpp_cli.output import get_output_width
from pqpp_files.options.option import option

_PROMPTS = (
    "A cat is sitting on a table.",
    "a man riding a wave on a surfboard",
    "two men in suits juggle seven oranges beside a fire hydrant",
    "a storefront with 'Hello World' written on it",
)
_REPORT, _FIGURES = "report.html", "figures.csv"
_TARGETS = ("mean_hbpp", "mean_p10", "mean_rr")
_SHOWN_TARGETS = ("alignment", "mean_hbpp", "mean_p10")
_CONFIG = "pqpp-v1.0"
_STATIC = "static-train"
"""The compared predictor; `static` was also fitted to validation."""
_GENERATED = (
    "No one rated these generated prompts, so the figures say nothing about real prompts.\n\n"
    "With a network, this table is on PQPP's 2,000 rated validation prompts: static-train reaches "
    "r = .590 on mean_hbpp; the published fine-tuned BERT reaches .568 on the test prompts."
)


class Demo(OnePredictor, Command):
    """Predict a few prompts, then compare predictors on PQPP's validation split.

    Published results are printed too, and a report is written. Without a network or a copy of the
    data, the comparison is on a synthetic sample.

    examples:
      pqpp demo
      pqpp demo --output /tmp/pqpp-demo
      pqpp demo --serve
      pqpp demo --serve --port 8080 --predictor ./my_predictor

    PQPP's validation file (289 kB) is downloaded and its hash checked, or it is read from
    PQPP_DATA_DIR. The predictor is `static-train`, which was fitted to train only. The synthetic
    sample has no human ratings and no published results.

    Attributes:
        output: Folder of the report (default: pqpp-demo).
        serve: Serve a web page instead; needs the extra `demo`.
        host: Address of the page to listen on (default: this machine).
        port: Port of the page, 0 for any free one (default: 7860).
    """

    output: str | None = option(None, path="output")
    serve: bool = False
    host: str | None = option(None, goes_with="serve")
    port: int | None = option(None, goes_with="serve")
    predictor: str | None = option(None, goes_with="serve")  # type: ignore[assignment]

    def run(self) -> None:
        """Run the demo and write its report, or serve the page."""
        from pqpp_cli.answers import format_predictions
        from pqpp_datasets.load import load_benchmark
        from pqpp_files.paths import check_output_folder
        from pqpp_models import DEFAULT_PREDICTOR, Predictor
        from pqpp_models.predict import predict_columns

        if self.serve:
            self.refuse("`serve`", "output")
            from pqpp_models.demo import serve_demo

            port = 7860 if self.port is None else self.port
            return serve_demo(self.predictor or DEFAULT_PREDICTOR, self.host or "127.0.0.1", port)
        started = time.perf_counter()
        folder = Path(self.output or "pqpp-demo")
        check_output_folder(folder, (_FIGURES, _REPORT))
        print(f"1. The shipped predictor, {DEFAULT_PREDICTOR}, on a few prompts\n")
        predictor = Predictor.from_pretrained(DEFAULT_PREDICTOR)
        rows = predictor.read_rows(_PROMPTS)
        columns = predict_columns(predictor, rows, _SHOWN_TARGETS, uncertainty=True)
        print(format_predictions("table", columns, predictor.domain_note, get_output_width(None)))
        rows, detail = _load_validation_rows()
        if rows is None:
            print(f"\nPQPP's validation prompts are not available: {detail}")
            print("\n2. The paper's protocol, on the test split of a generated sample\n")
            _compare_predictors(load_benchmark("sample", split="test"), folder)
            print(f"\n{_GENERATED}")
        else:
            print(f"\n2. The paper's protocol, on PQPP's validation prompts: {detail}\n")
            _compare_predictors(rows, folder)
        print(f"\nreport: {folder / _REPORT}; its figures: {folder / _FIGURES}")
        print(f"done in {time.perf_counter() - started:.1f} s")
        print('\nnow try your own prompt: pqpp predict "..."')


def _load_validation_rows() -> tuple[Any, str]:
    """Return PQPP's validation rows and their folder; None and the reason if unavailable."""
    from datasets import config

    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.download import download_release
    from pqpp_datasets.errors import BenchmarkError
    from pqpp_datasets.load import load_benchmark
    from pqpp_datasets.location import find_local_folder
    from pqpp_datasets.sources import get_release

    benchmark = BENCHMARKS[_CONFIG]
    if (folder := find_local_folder(benchmark, None)) is None:
        published, cache = get_release(benchmark.folders[0]), Path(config.DOWNLOADED_DATASETS_PATH)
        try:
            folder = download_release(published, benchmark.files(None, "validation"), cache)
        except BenchmarkError as error:
            return None, str(error)
    return load_benchmark(_CONFIG, split="validation", data_dir=str(folder)), str(folder)


def _compare_predictors(rows: Any, folder: Path) -> None:
    """Compare `static-train` with word length and word count, and print and write the result."""
    from pqpp_files.atomic_write import atomic_folder
    from pqpp_models import Predictor
    from pqpp_models.bench.lookup import load_named_predictors
    from pqpp_models.bench.report import render_report
    from pqpp_models.bench.run import bench_split
    from pqpp_models.bench.split import Split
    from pqpp_models.bench.tables import format_results

    predictors = {name: Predictor.from_pretrained(name) for name in (_STATIC, "mean_word_length")}
    predictors |= load_named_predictors({"word_count": lambda ts: [len(t.split()) for t in ts]})
    run = bench_split(Split.from_rows(rows), predictors, _TARGETS)
    published = run.get_published()
    print(format_results("table", run.results, published))
    with atomic_folder(folder, (_FIGURES, _REPORT)) as temp_folder:
        figures = format_results("csv", run.results, published)
        (temp_folder / _FIGURES).write_text(figures, "utf-8", newline="")
        (temp_folder / _REPORT).write_text(render_report(run.results, published, run), "utf-8")
