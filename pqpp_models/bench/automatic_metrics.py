"""Automatic metrics instead of human judgments (PQPP paper, section 12 and Table 10).

The paper asks its predictors for a model's HBPP and correlates the answer with HPSv2 of that
model's images, and for P@10 and RR with those that CLIP's similarity gives. Which metric is right
for a target is the user's choice; how well it agrees with people stands in a row of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pqpp_datasets.target_columns import measure_of
from pqpp_files.read_table import read_table
from pqpp_models.bench.given import KEYS, values_by_prompt
from pqpp_models.bench.protocol import Cell, Predictions, evaluate_predictions
from pqpp_models.bench.run import BenchRun, run_cells
from pqpp_models.bench.split import Split
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.targets import TARGETS, resolve_targets

HUMAN = "human judgments"
NOTE = (
    "Columns are automatic metrics, as in the paper's Table 10: predictors were asked for the\n"
    "target in brackets; the last row is what people said. None of that table's figures could be\n"
    "had as text, so no published row stands beside."
)


def target_of(column: str, targets: Sequence[str] = TARGETS) -> str | None:
    """Return the target that a metric's name speaks of, None if it names none.

    Args:
        column: A target's name, or the model and then the metric, like `sdxl_hpsv2`. One without a
            word on retrieval (`p10`, `rr`) speaks of the judged images of its model.
        targets: The benchmark's.

    Example:
        >>> target_of("glide_hpsv2"), target_of("blip2_clip_p10"), target_of("clip_rr_automatic")
        ('glide_hbpp', 'blip2_p10', 'clip_rr')
        >>> target_of("flux_hpsv2", ["flux_rating", "flux_p10"]), target_of("seed")
        ('flux_rating', None)
    """
    if column in targets:
        return column
    name = column.lower()
    of_model = [t for t in targets if name.startswith(t.rpartition("_")[0].lower() + "_")]
    endings = {target.rpartition("_")[2]: target for target in of_model}
    words = name.replace("@", "").split("_")
    named = [target for ending, target in endings.items() if ending in words]
    judged = [t for t in endings.values() if (m := measure_of(t)) and m.task == "generation"]
    fitting = named or judged
    return fitting[0] if len(fitting) == 1 else None


def automatic_cells(
    columns: Sequence[str], named: Mapping[str, str], targets: Sequence[str]
) -> list[Cell]:
    """Return a column of the table for each metric.

    Args:
        columns: The columns of the user's file that hold numbers.
        named: Column to target, for metrics whose names don't tell.
        targets: Only metrics of these targets.

    Raises:
        PredictorError: A named target does not exist, or no column is a metric.

    Example:
        >>> automatic_cells(["sdxl_hpsv2", "seed"], {}, ["sdxl_hbpp"])[0].label
        'sdxl_hpsv2 [sdxl_hbpp]'
    """
    pairs = {column: target_of(column, targets) for column in columns}
    known = [*targets, *(target for target in TARGETS if target not in targets)]
    pairs |= {column: resolve_targets(target, known)[0] for column, target in named.items()}
    cells = [
        Cell(f"{column} [{target}]", target, column)
        for column, target in pairs.items()
        if target is not None and target in targets
    ]
    if not cells:
        raise PredictorError(
            f"no column among {', '.join(columns) or 'none'} is a metric of "
            f"{', '.join(targets)}; call it MODEL_METRIC, like sdxl_hpsv2, or name its target"
        )
    return cells


def run_automatic_metrics(
    split: Split,
    predictors: Mapping[str, Predictor],
    targets: Sequence[str],
    path: str,
    named: Mapping[str, str],
    baseline: str | None = None,
    progress: bool = False,
) -> BenchRun:
    """Correlate predictors, and people, with the metrics of a file.

    Args:
        split: The rows.
        predictors: Name to predictor.
        targets: Only metrics of these targets.
        path: A table with `prompt_id` or `prompt` and one column per metric.
        named: Column to target, for metrics whose names don't tell.
        baseline: Test every predictor against this one of them.
        progress: Show progress bars on standard error.
    """
    table = read_table(path)
    columns = {name: table.values(name) for name in table.columns}
    numbers = [
        name
        for name, cells in columns.items()
        if name not in KEYS and all(isinstance(cell, int | float | None) for cell in cells)
    ]
    cells = automatic_cells(numbers, named, targets)
    columns |= {cell.target: table.numbers(cell.target) for cell in cells}
    keys = {name: split.rows[name][:] for name in KEYS if name in split.rows.column_names}
    metrics = values_by_prompt(columns, keys, [cell.target for cell in cells])
    run = run_cells(split, predictors, cells, metrics, progress=progress)
    if baseline:
        run = run.tested(baseline, progress)
    true = split.true(list(dict.fromkeys(cell.predicted for cell in cells)))
    judged = Predictions(HUMAN, tuple(true), np.array(list(true.values()), float).T)
    of_people = evaluate_predictions([judged], metrics, split, cells)
    return replace(run, results=[*run.results, *of_people])
