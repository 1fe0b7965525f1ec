"""Runs of the evaluation protocol for the tables of the PQPP paper.

Table 10 (section 12) has automatic metrics instead of human ratings. In the paper, a model's
predicted HBPP is correlated with the HPSv2 of its images, and predicted P@10 and RR with the P@10
and RR computed from CLIP's similarity. The user chooses the metric for a target; a separate row
shows the metric's agreement with people.
"""

import logging
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.errors import ModelError
from pqpp_datasets.benchmarks import DEFAULT, OF_THE_PAPER
from pqpp_datasets.target_columns import get_measure
from pqpp_files.errors import MissingExtraError
from pqpp_files.extras import require_extra
from pqpp_files.names import pluralize
from pqpp_files.read_table import read_table
from pqpp_files.threads import limit_blas_threads
from pqpp_models.bench import protocol
from pqpp_models.bench.lookup import (
    KEYS,
    FunctionPredictor,
    join_by_prompt,
    load_any_predictor,
    load_named_predictors,
)
from pqpp_models.bench.split import ComparedPredictors, Split, replace_fitted_predictors
from pqpp_models.bench.tables import BenchTable
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompt_rows import attach_saved_images, load_dataset_rows
from pqpp_models.registry import DEFAULT_PREDICTOR, expand_group_names
from pqpp_models.targets import TARGETS, find_stand_in, resolve_targets


@dataclass(frozen=True)
class BenchRun:
    """The results of a benchmark run and their inputs.

    Attributes:
        results: The cells of the table.
        references: The true values by column, one per row.
        compared: The compared predictors, with substitutes for those that were fitted to the rows.
    """

    split: Split
    results: list[protocol.Result]
    predictions: list[protocol.Predictions]
    references: Mapping[str, Sequence[float | None]]
    compared: ComparedPredictors

    def with_tests(self, baseline: str, progress: bool = False, train: Split | None = None) -> Self:
        """Return the run with a test of each result against a baseline.

        Args:
            baseline: The baseline's name.
            train: Rows on which the signs of unsupervised predictors are determined.
        """
        substitutes = {name: build for build, name in self.compared.stands_for.items()}
        signs: dict[tuple[str, str], float] = {}
        on_text = {n: one for n, one in self.compared.predictors.items() if one.inputs == "text"}
        is_ours = {n: not isinstance(one, FunctionPredictor) for n, one in on_text.items()}
        unfitted = {n: one for n, one in on_text.items() if is_ours[n] and not one.supervised}
        if train is not None and unfitted:
            targets = [t for t in self.references if t in train.rows.column_names]
            predictions = protocol.predict_all(unfitted, train.rows, targets, progress, True)
            true = train.get_true_values(targets)
            results = protocol.evaluate_predictions(predictions, true, train)
            significant = [r for r in results if r.kendall_p < 0.05]
            signs = {(r.predictor, r.target): math.copysign(1, r.kendall) for r in significant}
        compared = protocol.compare_with_baseline(
            self.results,
            self.predictions,
            self.references,
            substitutes.get(baseline, baseline),
            self.split.sources,
            progress=progress,
            known_signs=signs,
        )
        return replace(self, results=compared)

    def get_published(self) -> list[protocol.PublishedResult]:
        """Return the published results for the same targets.

        Only PQPP has published results, and only for human ratings.
        """
        if not self.split.is_pqpp or self.split.is_generated:
            return []
        targets = {result.target for result in self.results}
        return [result for result in protocol.read_published() if result.target in targets]

    def project_spaces(self) -> tuple[dict[str, NDArray], str]:
        """Project the embeddings of each predictor to two dimensions.

        Returns:
            The points of each predictor by name, and a note if scikit-learn is missing.
        """
        if len(self.split.prompts) < 5:
            return {}, ""
        embedders = {n: one for n, one in self.compared.predictors.items() if one.can_embed}
        try:
            return {n: project_to_2d(p.embed(self.split.prompts)) for n, p in embedders.items()}, ""
        except MissingExtraError as error:
            return {}, str(error)


def project_to_2d(points: ArrayLike) -> NDArray[np.float64]:
    """Project points to two dimensions with t-SNE.

    Args:
        points: the points, shape ``(rows, size)``.

    Returns:
        Points of shape ``(rows, 2)``. Only neighbourhoods are meaningful.

    Raises:
        MissingExtraError: scikit-learn is not installed.

    >>> project_to_2d(np.eye(6)).shape
    (6, 2)
    """
    array = np.asarray(points, dtype=np.float32)
    with require_extra("t-SNE (see --no-tsne)", "plots"):
        from sklearn.manifold import TSNE
    model = TSNE(perplexity=min(30, (len(array) - 1) / 3), init="pca", random_state=0)
    return model.fit_transform(array).astype(np.float64)


def bench_split(
    split: Split,
    predictors: Mapping[str, Predictor],
    targets: Sequence[str],
    table: str = "main",
    progress: bool = False,
) -> BenchRun:
    """Correlate predictions with true values for one of the paper's tables.

    On data other than PQPP, a predictor that lacks a target may use another (`find_stand_in`).

    Args:
        targets: Columns of true values.
        table: The table's name, for `list_experiment_columns`.
    """
    sources = list(dict.fromkeys(split.sources or ()))
    supervised = (predictor.targets for predictor in predictors.values() if not predictor.is_scalar)
    models = list(dict.fromkeys([*split.known_targets, *chain(*supervised)]))
    cells = protocol.list_experiment_columns(table, targets, sources, models)
    references = split.get_true_values(list(dict.fromkeys(cell.target for cell in cells)))
    use_stand_ins = table in ("main", "by-source")
    run = correlate_columns(split, predictors, cells, references, use_stand_ins, progress)
    if table in ("by-source", "cross-dataset"):  # a source may have no values for a task
        run = replace(run, results=[result for result in run.results if result.n])
    return run


def correlate_columns(
    split: Split,
    predictors: Mapping[str, Predictor],
    cells: Sequence[protocol.Column],
    references: Mapping[str, Sequence[float | None]],
    use_stand_ins: bool = True,
    progress: bool = False,
) -> BenchRun:
    """Correlate predictions with references, replacing predictors that were fitted to the rows.

    Args:
        cells: The columns of the table.
        references: The reference values by column, one per row.
        use_stand_ins: Whether a predictor that lacks a target may predict another one; never on
            PQPP.
    """
    predicted = list(dict.fromkeys(cell.predicted for cell in cells))
    compared = replace_fitted_predictors(predictors, split.rows, predicted)
    use_stand_ins = use_stand_ins and not split.is_pqpp
    predictions = protocol.predict_all(
        compared.predictors, split.rows, predicted, progress, use_stand_ins
    )
    results = protocol.evaluate_predictions(
        predictions, references, split, cells, compared.stands_for
    )
    return BenchRun(split, results, predictions, references, compared)


def select_predictors(
    predictors: Mapping[str, Predictor], targets: Sequence[str], use_stand_ins: bool = True
) -> tuple[dict[str, Predictor], list[str]]:
    """Return the predictors that have any of the targets, and a note on each of the others.

    Args:
        use_stand_ins: Whether a target chosen by `find_stand_in` may be used instead.
    """

    def predicts_any(predictor: Predictor) -> bool:
        if predictor.is_scalar or not set(targets).isdisjoint(predictor.targets):
            return True
        return use_stand_ins and any(find_stand_in(one, predictor.targets) for one in targets)

    usable = {name: one for name, one in predictors.items() if predicts_any(one)}
    if not usable:
        raise PredictorError(
            f"no default predictor predicts {', '.join(targets)}; fit one with `pqpp fit`, and "
            "add it to `predictors`"
        )
    others = {name: one for name, one in predictors.items() if name not in usable}
    lines = [f"skipped {n}: it predicts only {', '.join(p.targets)}" for n, p in others.items()]
    return usable, lines


def open_split(
    dataset: str | None = None,
    subset: str | None = None,
    split: str | None = None,
    data_dir: str | None = None,
    image_dir: str | None = None,
    column: str = "prompt",
) -> Split:
    """Load a split of a benchmark.

    Args:
        dataset: As in `load_dataset_rows`, as are the other arguments; default: `pqpp` if a subset
            is given, else `pqpp-v1.0`, the release of the paper.
        split: Default: `validation`, else `test`, else the only split.

    Raises:
        BenchmarkError: The dataset does not exist.
    """
    name = dataset or (DEFAULT if subset else OF_THE_PAPER)
    default_splits = ("validation", "test")
    rows, _ = load_dataset_rows(name, subset, split, data_dir, image_dir, column, default_splits)
    if not dataset and not subset:
        logging.getLogger(__name__).warning(
            "using %s, the release of the paper and its published figures (pqpp is v1.1)",
            OF_THE_PAPER,
        )
    return Split.from_rows(rows, name)


def load_predictors(
    names: str | Sequence[str] | Mapping[str, Any] | None,
) -> tuple[dict[str, Predictor], list[str]]:
    """Load predictors by name, or the default ones that are available.

    Args:
        names: Names for `load_any_predictor`, names of groups, or a mapping for
            `load_named_predictors`; None for the default predictors.

    Returns:
        The predictors by name, and a note on each predictor that was left out.

    Raises:
        PredictorError: A named predictor cannot be used.
    """
    loaded = load_named_predictors(names) if isinstance(names, Mapping) else {}
    names_by_error: dict[str, list[str]] = {}
    requested = loaded or expand_group_names(names or [DEFAULT_PREDICTOR, "linguistic"])
    for name in list(requested):
        try:
            predictor = loaded.get(name) or load_any_predictor(name)
            if not names:
                predictor.predict(["a red cat"])  # resources are looked up at first use
        except ModelError as error:
            if names:
                raise
            names_by_error.setdefault(str(error), []).append(name)
            continue
        loaded[name] = predictor
    if not loaded:
        why = "; ".join(names_by_error)
        raise PredictorError(f"no default predictor can be loaded ({why}); choose `predictors`")
    return loaded, [f"skipped {', '.join(n)}: {reason}" for reason, n in names_by_error.items()]


@dataclass(frozen=True)
class Comparison:
    """Predictors to compare on a split of a benchmark.

    Attributes:
        split: The rows, with images if a predictor needs them.
        targets: The columns of true values.
        notes: Notes on the rows, and on predictors that were left out.
    """

    split: Split
    predictors: dict[str, Predictor]
    targets: tuple[str, ...]
    notes: list[str]


def load_comparison(
    data: Split,
    predictors: str | Sequence[str] | Mapping[str, Any] | None = None,
    targets: str | Sequence[str] | None = None,
    dataset: str | None = None,
    image_dir: str | None = None,
    omit_unusable: bool = True,
) -> Comparison:
    """Load the predictors to compare on a split, and choose the targets.

    Args:
        predictors: As for `load_predictors`.
        targets: As for `Split.choose_targets`.
        dataset: The name of the dataset, as in `open_split`.
        image_dir: As in `open_split`.
        omit_unusable: Whether default predictors that have none of the targets are left out.

    Raises:
        PredictorError: A column is missing, or a predictor or target is unknown.
    """
    loaded, notes = load_predictors(predictors)
    n, distinct = len(data.prompts), len(set(data.prompts))
    if n > 2 * distinct:
        notes.insert(0, f"{n} rows have {pluralize(distinct, 'prompt')}; intervals are too narrow")
    predicted = [target for predictor in loaded.values() for target in predictor.targets]
    chosen = data.choose_targets(targets, predicted)
    if any(predictor.inputs == "text+images" for predictor in loaded.values()):
        data = replace(data, rows=attach_saved_images(data.rows, dataset or "pqpp", image_dir))
    for predictor in loaded.values():
        predictor.require_columns(data.rows.column_names, data.config)
    if omit_unusable and not predictors:
        loaded, left_out = select_predictors(loaded, chosen, not data.is_pqpp)
        notes += left_out
    return Comparison(data, loaded, chosen, notes)


@limit_blas_threads()
def bench(
    predictors: str | Sequence[str] | Mapping[str, Any] | None = None,
    targets: str | Sequence[str] | None = None,
    rows: Any = None,
    *,
    subset: str | None = None,
    split: str | None = None,
    data_dir: str | None = None,
    image_dir: str | None = None,
    column: str | None = None,
) -> BenchTable:
    """Compare predictors: correlate their predictions with the true values of a benchmark.

    Args:
        predictors: Names, groups, folders, repositories, `FILE:COLUMN` (predictions in a table with
            `prompt_id` or `prompt`) or other models that `load_any_predictor` accepts. Or a mapping
            from your own names to any of these, to predictors, or to functions that accept a list
            of prompts and return one number each. Default: the shipped predictor and the
            linguistic features.
        targets: Names of targets, separated by commas; default: all targets in the rows.
        rows: A dataset or DataFrame with the columns `prompt` and the targets, or the name of a
            dataset, as in `open_split`. Default: PQPP v1.0.
        subset: Configuration of a dataset given by name. This and the other arguments are those of
            `open_split`.

    Returns:
        A pandas `DataFrame` with one row per predictor and target, which notebooks display with
        bars.

    Raises:
        PredictorError: A column is missing, a predictor or target is unknown, or an option for a
            named dataset conflicts with `rows`.

    Example:
        >>> from pqpp_datasets.load import load_benchmark
        >>> table = bench("mean_word_length", "mean_rr", load_benchmark("sample", split="test"))
        >>> table["n"].tolist(), table["config"].tolist()
        ([80], ['sample'])
        >>> mine = {"mine": lambda prompts: [len(prompt) for prompt in prompts]}
        >>> bench(mine, "mean_rr", "sample", split="test")["predictor"].tolist()
        ['mine']
    """
    folders = {"data_dir": data_dir, "image_dir": image_dir}
    options: dict[str, Any] = {"subset": subset, "split": split, "column": column, **folders}
    options = {name: value for name, value in options.items() if value is not None}
    dataset = rows if isinstance(rows, str) else None
    if rows is None or dataset is not None:
        opened = open_split(dataset, **options)
    elif options:
        raise PredictorError(f"`{next(iter(options))}` conflicts with `rows`; remove one of them")
    else:
        if not hasattr(rows, "features"):
            from datasets import Dataset

            frame = rows if hasattr(rows, "iloc") else rows.to_pandas()  # polars
            rows = Dataset.from_pandas(frame, preserve_index=False)
        opened = Split.from_rows(rows)
    comparison = load_comparison(opened, predictors, targets, dataset, image_dir)
    run = bench_split(comparison.split, comparison.predictors, comparison.targets)
    for line in [*comparison.notes, *run.compared.notes]:
        warnings.warn(line, stacklevel=2)
    return BenchTable([result.to_row() for result in run.results])


HUMAN = "human judgments"
NOTE = "Columns: metric [predicted target], as in the paper's Table 10; last row: people's ratings."


def parse_target(column: str, targets: Sequence[str] = TARGETS) -> str | None:
    """Return the target that a metric's name refers to; None if there is none.

    Args:
        column: A target's name, or the names of a model and a metric, like `sdxl_hpsv2`. Without
            `p10` or `rr`, the name refers to the ratings of the model's images.
        targets: The benchmark's targets.

    Example:
        >>> [parse_target(name) for name in ("glide_hpsv2", "blip2_clip_p10", "clip_rr_automatic")]
        ['glide_hbpp', 'blip2_p10', 'clip_rr']
        >>> parse_target("flux_hpsv2", ["flux_rating", "flux_p10"]), parse_target("seed")
        ('flux_rating', None)
    """
    if column in targets:
        return column
    name = column.lower()
    model_targets = [t for t in targets if name.startswith(t.rpartition("_")[0].lower() + "_")]
    endings = {target.rpartition("_")[2]: target for target in model_targets}
    words = name.replace("@", "").split("_")
    matches = [target for ending, target in endings.items() if ending in words]
    ratings = [t for t in endings.values() if (m := get_measure(t)) and m.task == "generation"]
    candidates = matches or ratings
    return candidates[0] if len(candidates) == 1 else None


def list_metric_columns(
    columns: Sequence[str], target_by_column: Mapping[str, str], targets: Sequence[str]
) -> list[protocol.Column]:
    """Return one column of the table for each metric in a user's file.

    Args:
        columns: The numeric columns of the file.
        target_by_column: Target by column, for metrics whose names do not identify it.
        targets: Only metrics of these targets.

    Raises:
        PredictorError: A named target does not exist, or no column is a metric.

    Example:
        >>> list_metric_columns(["sdxl_hpsv2", "seed"], {}, ["sdxl_hbpp"])[0].label
        'sdxl_hpsv2 [sdxl_hbpp]'
    """
    pairs = {column: parse_target(column, targets) for column in columns}
    known = [*targets, *(target for target in TARGETS if target not in targets)]
    pairs |= {name: resolve_targets(t, known)[0] for name, t in target_by_column.items()}
    cells = [
        protocol.Column(f"{column} [{target}]", target, column, is_metric=True)
        for column, target in pairs.items()
        if target is not None and target in targets
    ]
    if not cells:
        raise PredictorError(
            f"no column is a metric for {', '.join(targets)} (columns with numbers: "
            f"{', '.join(columns) or 'none'}); rename or add one, like sdxl_hpsv2"
        )
    return cells


def correlate_metrics(
    comparison: Comparison,
    path: str,
    target_by_column: Mapping[str, str],
    baseline: str | None = None,
    progress: bool = False,
) -> BenchRun:
    """Correlate predictions and human ratings with automatic metrics.

    Args:
        comparison: The predictors; only metrics of its targets are used.
        path: A table with `prompt_id` or `prompt` and one column per metric.
        target_by_column: The target of each column whose name does not identify the target.
        baseline: A predictor to test the others against.
    """
    split, table = comparison.split, read_table(path)
    columns = {name: table.values(name) for name in table.columns}
    kinds = {name: {*map(type, cells)} for name, cells in columns.items() if name not in KEYS}
    numbers = [name for name in kinds if kinds[name] <= {bool, int, float, type(None)}]
    cells = list_metric_columns(numbers, target_by_column, comparison.targets)
    columns |= {cell.target: table.numbers(cell.target) for cell in cells}
    keys = {name: split.rows[name][:] for name in KEYS if name in split.rows.column_names}
    metrics = join_by_prompt(columns, keys, [cell.target for cell in cells])
    run = correlate_columns(split, comparison.predictors, cells, metrics, progress=progress)
    if baseline:
        run = run.with_tests(baseline, progress)
    true = split.get_true_values(list(dict.fromkeys(cell.predicted for cell in cells)))
    ratings = protocol.Predictions(HUMAN, tuple(true), np.array(list(true.values()), float).T)
    agreement = protocol.evaluate_predictions([ratings], metrics, split, cells)
    return replace(run, results=[*run.results, *agreement])
