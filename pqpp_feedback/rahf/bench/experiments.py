"""RichHF's benchmark: models and the paper's baselines on a split, as the paper's four tables."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pqpp_feedback.errors import FeedbackError, check_count
from pqpp_feedback.rahf.bench import evaluation
from pqpp_feedback.rahf.examples import Examples, counted, is_published, load_split
from pqpp_feedback.rahf.feedback import FeedbackModel
from pqpp_files.figures import Figures, figure_text
from pqpp_files.foreign.json_values import read_json


def bench_richhf(
    models: Sequence[str],
    split: str = "test",
    data_dir: str | None = None,
    pickapic_dir: str | None = None,
    clip: str | None = None,
    limit: int | None = None,
    batch_size: int = 16,
    with_published: bool = True,
) -> tuple[list[Figures], list[str]]:
    """Evaluate models on a split of RichHF.

    Args:
        models: Folders or repositories of RAHF models.
        split: `train`, `validation` or `test`.
        data_dir: Folder of the TFRecord files; downloaded if left out.
        pickapic_dir: Folder of a copy of Pick-a-Pic v1.
        clip: A CLIP-like model for the baseline that learns nothing: its similarity as the
            alignment score, its gradient as the misalignment heatmap.
        limit: Only the first rows.
        batch_size: Images at once.
        with_published: Whether the published figures stand beside.

    Returns:
        The paper's four tables, and what their rows come from.

    Raises:
        FeedbackError: Nothing is to be evaluated, a number is not above 0, or the data are not
            there.
    """
    if not models and clip is None:
        raise FeedbackError("no model was named; give a RAHF model's folder or repository")
    check_count("limit", 1 if limit is None else limit)
    check_count("batch_size", batch_size)
    table = load_split(split, data_dir, pickapic_dir, limit=limit)
    images = counted(len(table), is_published(split, data_dir))
    figures = {name: figures_of(name, table, batch_size) for name in models}
    if clip is not None:
        from pqpp_feedback.rahf.bench.baselines import clip_baselines

        figures |= clip_baselines(clip, table, batch_size)
    notes = [f"rows: richhf, {split} split, {images}"]
    notes += [f"published: {published()['source']}"] * with_published
    return tables(figures, with_published), notes


def figures_of(name: str, table: Any, batch_size: int = 16) -> dict[str, dict[str, float]]:
    """Evaluate a RAHF model on the rows of a split."""
    model = FeedbackModel.from_pretrained(name)
    examples = Examples(table, model.processor, model.model.config.heatmap_size)
    predicted = evaluation.predict_split(model, examples, batch_size)
    return evaluation.feedback_figures(predicted, evaluation.truth_of(examples))


def published() -> dict[str, Any]:
    """Return the published figures: their source, and each table with its columns and rows.

    Example:
        >>> published()["tables"]["keywords"]["columns"]
        ['precision', 'recall', 'f1']
    """
    return read_json(Path(__file__).with_name("published.json"))


def tables(
    figures_of_model: Mapping[str, Mapping[str, Mapping[str, float]]], with_published: bool = True
) -> list[Figures]:
    """Put measured figures beside the published ones.

    Args:
        figures_of_model: Name of a model to what `evaluation.feedback_figures` returned for it.
        with_published: Whether the published rows are wanted.
    """
    result = []
    for name, known in published()["tables"].items():
        columns, rows = known["columns"], []
        for row in known["rows"] if with_published else ():
            figures_of_row = zip(columns, row["values"], strict=True)
            rows.append({"model": f"{row['name']} (published)", **dict(figures_of_row)})
        for model, figures in figures_of_model.items():
            if name in figures:
                values = {column: figures[name].get(column, math.nan) for column in columns}
                finite = {column: None if v != v else v for column, v in values.items()}
                rows.append({"model": model, **finite})
        result.append(Figures(name, known["title"], ["model", *columns], rows, digits=5))
    return result


def paired(table: Figures) -> Figures:
    """Return a table whose two correlations of a score share a column, which keeps lines short.

    Example:
        >>> paired(tables({})[0]).rows[1]["alignment"]
        '.346 .340'
    """
    rows: list[dict[str, str]] = [{} for _ in table.rows]
    for column in table.columns:
        short = column.removesuffix("_plcc").removesuffix("_srcc")
        for cells, row in zip(rows, table.rows, strict=True):
            text = figure_text(row[column], table.digits)
            cells[short] = f"{cells.get(short, '')} {text}".strip()
    return Figures(table.name, table.title, list(rows[0]) if rows else [], rows)
