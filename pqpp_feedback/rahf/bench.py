"""Evaluate models on a split of RichHF, in the paper's four tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.rahf.examples import (
    Examples,
    format_image_count,
    is_published,
    load_split,
    make_heatmap,
)
from pqpp_feedback.rahf.feedback import Feedback, FeedbackModel
from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_files.figures import ResultTable
from pqpp_files.foreign.json_values import read_json
from pqpp_files.table_formats import cut_batches


def bench_richhf(
    models: Sequence[str],
    split: str = "test",
    data_dir: str | None = None,
    pickapic_dir: str | None = None,
    limit: int | None = None,
    batch_size: int = 16,
    with_published: bool = True,
) -> tuple[list[ResultTable], list[str]]:
    """Evaluate models on a split of RichHF.

    Args:
        models: Folders or repositories of RAHF models.
        split: `train`, `validation` or `test`.
        data_dir: Folder of the TFRecord files; default: download.
        pickapic_dir: Folder of a copy of Pick-a-Pic v1.
        limit: Use only this many rows.
        with_published: Whether to add the published results.

    Returns:
        The paper's four tables, and notes on the sources of their rows.

    Raises:
        FeedbackError: There is nothing to evaluate, or the data are missing.
    """
    if not models:
        raise FeedbackError("there is no model to evaluate; set `models` to a RAHF model")
    table = load_split(split, data_dir, pickapic_dir, limit=limit)
    images = format_image_count(len(table), is_published(split, data_dir))
    results = {}
    for name in models:
        model = FeedbackModel.from_pretrained(name)
        examples = Examples(table, model.processor, model.model.config.heatmap_size)
        predictions = predict_rows(model, examples, range(len(examples)), batch_size)
        results[name] = evaluate(collect_predictions([predictions]), collect_ground_truth(examples))
    notes = [f"rows: richhf, {split} split, {images}"]
    if with_published:
        notes.append(f"published: {read_published()['source']}")
    return make_result_tables(results, with_published), notes


def read_published() -> dict[str, Any]:
    """Return the published results: their source, and each table's columns and rows.

    Example:
        >>> read_published()["tables"]["keywords"]["columns"]
        ['precision', 'recall', 'f1']
    """
    return read_json(Path(__file__).with_name("published.json"))


def make_result_tables(
    results: Mapping[str, Mapping[str, Mapping[str, float]]], with_published: bool = True
) -> list[ResultTable]:
    """Combine measured results with the published ones.

    Args:
        results: The output of `evaluate` by model name.
        with_published: Whether to add the published rows.
    """
    result = []
    for name, published in read_published()["tables"].items():
        columns, rows = published["columns"], []
        for row in published["rows"] if with_published else ():
            published_values = zip(columns, row["values"], strict=True)
            rows.append({"model": f"{row['name']} (published)", **dict(published_values)})
        for model, figures in results.items():
            values = {column: figures[name][column] for column in columns}
            finite = {column: None if v != v else v for column, v in values.items()}
            rows.append({"model": model, **finite})
        result.append(ResultTable(name, published["title"], ["model", *columns], rows, digits=5))
    return result


HEATMAP_COLUMNS = ("mse_all", "mse_empty", "cc", "kld", "sim", "nss", "auc_judd")


@dataclass(frozen=True)
class SplitFeedback:
    """Feedback on the images of a split, predicted or from people, each with one row per image.

    Attributes:
        scores: The four scores, in the order of `SCORES`.
        implausibility: The implausibility heatmaps, each value in 0 .. 1.
        misalignment: The misalignment heatmaps.
        labels: A label for each word of each prompt, 0 if misaligned; None if people's labels do
            not fit the words of the prompt.
    """

    scores: NDArray[np.float64]
    implausibility: NDArray[np.float32]
    misalignment: NDArray[np.float32]
    labels: Sequence[Sequence[int] | None]


def evaluate(predicted: SplitFeedback, truth: SplitFeedback) -> dict[str, dict[str, float]]:
    """Return the metrics of the paper's four tables.

    Heatmaps follow the authors' conventions (`richhf`); keyword metrics are over the words of all
    images, with misaligned words as positives.

    Returns:
        A dict of dicts: `scores` has `<score>_plcc` and `<score>_srcc`; `implausibility_heatmap`
        and `misalignment_heatmap` have `HEATMAP_COLUMNS`; `keywords` has precision, recall and F1
        in percent.
    """
    from pqpp_metrics.functional.saliency import richhf_heatmap

    tables = {"scores": evaluate_scores(predicted.scores, truth.scores)}
    for name in HEATMAPS:
        maps = getattr(predicted, name), getattr(truth, name)
        figures = richhf_heatmap(*maps, convention="richhf")
        tables[f"{name}_heatmap"] = {column: figures[column] for column in HEATMAP_COLUMNS}
    return tables | {"keywords": evaluate_words(predicted.labels, truth.labels)}


def evaluate_scores(predicted: NDArray[np.float64], true: NDArray[np.float64]) -> dict[str, float]:
    """Return the PLCC and SRCC of each predicted score; NaN for a constant score."""
    from pqpp_metrics.functional.qpp_report import qpp_values

    values = qpp_values(predicted, true, ("pearson", "spearman"))
    figures: dict[str, float] = {}
    for score, plcc, srcc in zip(SCORES, values["pearson"], values["spearman"], strict=True):
        figures |= {f"{score}_plcc": float(plcc), f"{score}_srcc": float(srcc)}
    return figures


def evaluate_words(
    predicted: Sequence[Sequence[int] | None], true: Sequence[Sequence[int] | None]
) -> dict[str, float]:
    """Return precision, recall and F1 in percent, with misaligned words as positives.

    Without any labels, they are NaN.

    Example:
        >>> evaluate_words([[0, 0]], [[0, 1]])["precision"]
        50.0
    """
    from pqpp_metrics.functional.keywords import keyword_f1

    labelled = [pair for pair in zip(predicted, true, strict=True) if None not in pair]
    names = {"precision": "precision", "recall": "recall", "f1": "keyword_f1"}
    if not labelled:
        return dict.fromkeys(names, np.nan)
    f1 = keyword_f1(*([pair[side] for pair in labelled] for side in (0, 1)))
    return {column: 100 * float(f1[name]) for column, name in names.items()}


def predict_rows(
    model: FeedbackModel, examples: Examples, rows: Sequence[int], batch_size: int = 32
) -> dict[int, Feedback]:
    """Predict feedback on some rows of a split, without augmentation; return it by row."""
    feedback: dict[int, Feedback] = {}
    for batch in cut_batches(rows, batch_size):
        images = [examples.get_images(row)[0] for row in batch]
        prompts = [examples.prompts[row] for row in batch]
        feedback |= zip(batch, model.predict(images, prompts, batch_size), strict=True)
    return feedback


def collect_predictions(parts: Sequence[Mapping[int, Feedback]]) -> SplitFeedback:
    """Collect the results of `predict_rows`, from one process or several, in order of the rows."""
    by_row = {row: entry for part in parts for row, entry in part.items()}
    ordered = [by_row[row] for row in sorted(by_row)]
    return SplitFeedback(
        scores=np.array([list(entry.scores.values()) for entry in ordered]),
        **{name: np.stack([entry.heatmaps[name] for entry in ordered]) for name in HEATMAPS},
        labels=[[int(not mark) for mark in entry.misaligned] for entry in ordered],
    )


def collect_ground_truth(examples: Examples) -> SplitFeedback:
    """Return people's feedback on a split, with heatmaps at the examples' size."""
    rows, size = range(len(examples)), examples.heatmap_size
    maps = np.array([[make_heatmap(m, size) for m in examples.get_images(row)[1:]] for row in rows])
    scores = examples.scores.astype(np.float64)
    return SplitFeedback(scores, maps[:, 0], maps[:, 1], examples.labels)


def summarise_metrics(measured: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the metrics that are monitored during training, each roughly 0 to 1.

    `mean`, by which the best epoch is chosen, averages the scores' PLCC, the heatmaps' CC and the
    keywords' F1 with equal weight; undefined metrics count as 0.
    """
    plcc = {name: value for name, value in measured["scores"].items() if name.endswith("_plcc")}
    heatmaps = {
        f"{name}_{column}": measured[f"{name}_heatmap"][column]
        for name in HEATMAPS
        for column in ("cc", "auc_judd", "mse_all")
    }
    keywords = {f"keyword_{name}": value / 100 for name, value in measured["keywords"].items()}
    figures = {**plcc, **heatmaps, **keywords}
    figures = {name: float(np.nan_to_num(value)) for name, value in figures.items()}
    groups = list(plcc), [f"{name}_cc" for name in HEATMAPS], ["keyword_f1"]
    means = [np.mean([figures[name] for name in names]) for names in groups]
    return {"mean": float(np.mean(means)), **figures}
