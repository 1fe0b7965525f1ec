"""`pqpp bench`: compare predictors on a benchmark and with published results."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from pqpp_cli.command import PAGES, PICTURES, Command
from pqpp_cli.groups import DataDir, Dataset, ImageDir, Predictors, ReportOptions, Tables, Targets
from pqpp_cli.output import emit, print_notes
from pqpp_files.errors import PqppError
from pqpp_files.names import is_repository_id
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_models.bench.run import BenchRun, Comparison

DEFAULT_SUBCOMMAND = "predictors"
"""The default subcommand of `pqpp bench`."""


class BenchConqa(DataDir, ReportOptions, Command):
    """Compare runs on ConQA's conceptual and descriptive queries.

    Published results are printed too.

    examples:
      pqpp bench conqa --runs CLIP=clip.trec mine.trec --report conqa.html

    Attributes:
        runs: TREC runs, such as those of `pqpp search retrieve`.
    """

    runs: dict[str, str] = option(NEEDED, metavar="[NAME=]FILE", path="file", several=True)

    def run(self) -> None:
        """Print the tables."""
        from pqpp_models.bench.conqa import bench_conqa

        tables, (about, *notes) = bench_conqa(self.runs, self.data_dir)
        print_notes(*notes)
        self.write_tables("ConQA: conceptual and descriptive queries", tables, [about, *notes])


class BenchGimbrr(DataDir, ReportOptions, Command):
    """Compare GIMBRR's automated verdicts with people's, by task and model.

    examples:
      pqpp bench gimbrr
      pqpp bench gimbrr --data-dir ../data --format json --report gimbrr.html
    """

    def run(self) -> None:
        """Print the tables."""
        from pqpp_feedback.gimbrr.bench import bench_gimbrr

        self.write_tables("GIMBRR: automated verdicts and people's", *bench_gimbrr(self.data_dir))


_TABLES = ("main", "cross-model", "cross-dataset", "cross-task", "by-source", "automatic-metrics")


class ComparisonOptions(Targets, Predictors, Dataset, ImageDir, Tables, Command):
    """Options for the predictors to compare, and the benchmark to compare them on.

    Attributes:
        dataset: The benchmark: a listed name, OWNER/REPOSITORY, a folder or a table
            (default: pqpp-v1.0, the release of the paper; pqpp is v1.1).
        split: Split of the benchmark (default: validation, else test, else the only one; a table
            has none).
        targets: Columns of the benchmark to predict (default: all).
    """

    dataset: str | None = None
    subset: str | None = option(None, "configuration of the dataset", goes_with="")
    split: str | None = option(None, goes_with="")
    data_dir: str | None = option(None, goes_with="")
    targets: tuple[str, ...] | None = None

    def load(self, omit_unusable: bool = False) -> Comparison:
        """Return the rows, predictors and targets, and print notes on them."""
        from pqpp_models.bench.run import load_comparison, open_split

        # The data come first, because they fail sooner than predictors.
        rows = open_split(**self.get_arguments(open_split))
        options = self.get_arguments(load_comparison)
        comparison = load_comparison(rows, omit_unusable=omit_unusable, **options)
        print_notes(*comparison.notes)
        return comparison


class BenchPredictors(ComparisonOptions):
    r"""Compare predictors on a benchmark, by the protocol of the PQPP paper.

    Predicted and true scores are correlated on a split. Published results are printed too.

    examples:
      pqpp bench --split validation
      pqpp bench --split validation --predictors static,n_words --targets mean_hbpp,mean_p10
      pqpp bench --dataset pqpp --format latex --output table.tex
      pqpp bench --dataset pqpp --table by-source
      pqpp bench --table cross-model --predictors static
      pqpp bench --dataset pqpp --table cross-dataset --split test
      pqpp bench --table automatic-metrics --metrics hpsv2.csv --metric hpsv2=sdxl_hbpp
      pqpp bench --predictors static,n_words --baseline n_words
      pqpp bench --predictors runs/clip/model --image-dir pqpp_images
      pqpp bench --dataset my_benchmark --split test --predictors ./my_predictor,n_words
      pqpp bench --predictors static,my_predictions.csv:score --baseline static
      pqpp bench --dataset OWNER/NAME --split test --predictors ./my_predictor --eval-results .
      pqpp bench --dataset labels --split test --predictors theirs.csv:score \
        --eval-results results --listed-as OWNER/NAME

    tables of the PQPP paper:
      main               3 and 5: each target with its own prediction
      cross-model        4: with the prediction for the other model
      cross-dataset      6 and 7: on prompts of a source that the predictors were not fitted to
      cross-task         8: with the prediction for the other task
      by-source          9: for each source of prompts separately
      automatic-metrics  10: automatic metrics from your file, instead of human ratings
    On a benchmark other than PQPP, a target that a predictor lacks is compared with its prediction
    of the same measure or, for rated images, with `alignment`.

    `linguistic` is the paper's eight text features. Rows without a true value are skipped; n counts
    the others. A predictor fitted to some of the rows is marked and not ranked, or replaced by its
    variant that was fitted to train only.

    Attributes:
        table: Table to print; see below.
        baseline: Test every predictor against this one, on the same prompts.
        metrics: With --table automatic-metrics: a table with prompt_id or prompt and one column per
            metric, with one row per prompt or image.
        metric: Target of a column of --metrics whose name does not begin with a model (like
            sdxl_hpsv2); repeatable.
        eval_results: Also write each predictor's results to DIR/NAME/.eval_results/, where `pqpp
            models push` and `pqpp leaderboard` find them.
        listed_as: With --eval-results: the benchmark's name on the Hub, if --dataset is a copy of
            its rows.
    """

    table: str = option("main", choices=_TABLES)
    published: bool = option(True, "omit published results")
    baseline: str | None = None
    metrics: str | None = option(None, path="file", goes_with="table=automatic-metrics")
    metric: dict[str, str] = option({}, metavar="COLUMN=TARGET", goes_with="metrics")
    report: str | None = option(
        None, "also write an HTML page with charts", path="output file", endings=PAGES
    )
    eval_results: str | None = option(None, path="output", goes_with="table=main")
    listed_as: str | None = option(None, metavar="OWNER/DATASET", goes_with="eval_results")
    tsne: bool = option(True, "omit the t-SNE plots of embeddings from the report")

    def __post_init__(self) -> None:
        """Require the options of this table."""
        super().__post_init__()
        if self.table == "automatic-metrics" and self.metrics is None:
            raise PqppError("`table` automatic-metrics needs a file of metrics; add `metrics` FILE")
        if self.eval_results and not is_repository_id(self.listed_as or self.dataset or ""):
            raise PqppError("`eval_results` needs a Hub dataset; set `listed_as` to OWNER/DATASET")

    def run(self) -> None:
        """Print the table and write the report."""
        from pqpp_models.bench.report import render_report
        from pqpp_models.bench.run import NOTE
        from pqpp_models.bench.tables import format_results

        run = self._run()
        print_notes(*run.compared.notes)
        published = run.get_published() if self.table == "main" and self.published else []
        text = format_results(self.style, run.results, published)
        if self.table == "automatic-metrics" and self.style in ("table", "markdown"):
            text += f"\n\n{NOTE}"
        emit(text, self.output, self.style)
        if self.eval_results:
            from pqpp_models.bench.leaderboard import write_results

            dataset = self.listed_as or self.dataset or ""
            files, lines = write_results(run, self.eval_results, dataset, not self.listed_as)
            print_notes(*lines)
            print(*(f"written: {file}\n" for file in files), sep="", end="", file=sys.stderr)
        if self.report:
            spaces, reason = run.project_spaces() if self.tsne else ({}, "")
            if reason:
                print_notes(f"the report has no t-SNE plots: {reason}")
            emit(render_report(run.results, published, run, spaces), self.report)

    def _run(self) -> BenchRun:
        """Return the results of the predictors, with tests against a baseline if one is given."""
        from pqpp_models.bench.run import bench_split, correlate_metrics, open_split

        comparison = self.load(omit_unusable=self.table == "main")
        progress = sys.stderr.isatty()
        if self.table == "automatic-metrics":
            path = self.metrics or ""
            return correlate_metrics(comparison, path, self.metric, self.baseline, progress)
        split, predictors, targets = comparison.split, comparison.predictors, comparison.targets
        run = bench_split(split, predictors, targets, self.table, progress)
        if not self.baseline:
            return run
        train = None
        with contextlib.suppress(PqppError, FileNotFoundError):  # if there is no train split
            source = self.get_arguments(open_split) | {"split": "train", "image_dir": None}
            train = open_split(**source)
        return run.with_tests(self.baseline, progress, train)


class BenchRichhf(DataDir, ReportOptions, Command):
    """Compare RAHF models on RichHF-18K, in the paper's four tables.

    Published results are printed too.

    examples:
      pqpp bench richhf --models ./rahf --pickapic-dir pickapic --split test

    Attributes:
        models: Folders or Hub repositories of RAHF models.
    """

    models: tuple[str, ...] = option((), metavar="NAME_OR_PATH[,...]", path="name", commas=True)
    split: str = option("validation", "split of RichHF-18K", ("train", "validation", "test"))
    pickapic_dir: str | None = option(None, "a copy of Pick-a-Pic v1 with images", path="folder")
    limit: int | None = option(None, "use only the first N images", ge=1)
    batch_size: int = option(16, "images at once", ge=1)
    published: bool = option(True, "omit published results", library="with_published")

    def run(self) -> None:
        """Evaluate the models and print the four tables with the published results."""
        from pqpp_files.extras import require_extra

        with require_extra("pqpp bench richhf", "models"):
            import torch  # noqa: F401

            from pqpp_feedback.rahf.bench import bench_richhf
        tables, notes = bench_richhf(**self.get_arguments(bench_richhf))
        self.write_tables("RichHF-18K: scores, heatmaps and words", tables, notes)


class BenchRouting(ReportOptions, ComparisonOptions):
    """Compare predictors by how well they route prompts between two models.

    The result is the mean quality if only some prompts are sent to the stronger model.

    examples:
      pqpp bench routing --predictors static,n_words --plot routing.png
      pqpp bench routing --dataset my_benchmark --targets flux_hbpp,sdxl_hbpp --split test

    The two models are those of --targets (on PQPP, GLIDE and SDXL). Prompts are ordered by the
    predicted gain or, as in the paper, by the weaker model's prediction.

    Attributes:
        plot: Also draw the curves as PNG, PDF or SVG.
    """

    plot: str | None = option(None, path="output file", endings=PICTURES)

    def run(self) -> None:
        """Print the table and draw the curves."""
        from pqpp_files.atomic_write import atomic_write
        from pqpp_models.bench.routing import plot_routing, run_routing

        comparison = self.load()
        split, predictors, targets = comparison.split, comparison.predictors, comparison.targets
        table = run_routing(split, predictors, targets, sys.stderr.isatty())
        title = f"Routing between {table.weak} and {table.strong}"
        self.write_tables(title, [table.figures], [table.description, *table.notes])
        if self.plot:
            with atomic_write(self.plot) as temp_path:
                plot_routing(table, temp_path)
            print(f"written: {self.plot}", file=sys.stderr)


class BenchVistar(ReportOptions, Command):
    """Compare VISTAR's scores with people's choices, and rank generators by role.

    examples:
      pqpp bench vistar --verdicts verdicts.parquet --people choices.csv

    Attributes:
        verdicts: Scores of images: a table from `pqpp assess`, or one with image, score and
            optionally routine, angle, generator and prompt_id; repeatable.
        people: Table of choices: image_a, image_b, choice (a, b, tie), angle.
        roles: YAML file with the weights of the angles for each role (default: equal weights for
            the paper's three roles).
    """

    verdicts: tuple[str, ...] = option(NEEDED, path="file")
    people: str | None = option(None, path="file")
    roles: str | None = option(None, path="file")

    def run(self) -> None:
        """Print the tables."""
        from pqpp_feedback.vistar.bench import bench_vistar

        tables = bench_vistar(self.verdicts, self.people, self.roles)
        self.write_tables("VISTAR: scores, people's choices and generators", *tables)
