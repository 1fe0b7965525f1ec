"""The paper's experiments: which prediction meets which truth, on which rows.

PQPP paper, Tables 3 to 10. A cell of a table pairs the prediction for one target with the true
values of a target, not always the same one: a predictor fitted to SDXL's performance may be asked
about GLIDE's (cross-model), one fitted to retrieval about generation (cross-task).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pqpp_datasets.target_columns import TargetMeasure, is_mean, measure_of, sort_targets
from pqpp_models.errors import PredictorError


@dataclass(frozen=True)
class Cell:
    """A column of a table.

    Attributes:
        label: The column's heading; the target's own name in the main table.
        predicted: The target that the predictor is asked for.
        reference: The target whose true values it is compared with.
        source: Only rows of this source, or None for all.
    """

    label: str
    predicted: str
    reference: str
    source: str | None = None


def experiment_cells(
    name: str,
    targets: Sequence[str],
    sources: Sequence[str],
    fitted_to: str = "mscoco",
    predicted: Sequence[str] | None = None,
) -> list[Cell]:
    """Return the columns of an experiment.

    Args:
        name: `main`, `cross-model`, `cross-task`, `cross-dataset` or `by-source`.
        targets: The reference targets wanted.
        sources: The sources that the rows have.
        fitted_to: The source that the predictors were fitted to, for the cross-dataset table.
        predicted: What predictors may be asked for, for the cross-model and cross-task tables; the
            reference targets if left out.

    Raises:
        PredictorError: If no column is left for these targets.

    Example:
        >>> targets = ["glide_hbpp", "sdxl_hbpp"]
        >>> [cell.label for cell in experiment_cells("cross-model", targets, ["mscoco"])]
        ['sdxl→glide_hbpp', 'glide→sdxl_hbpp']
    """
    known = targets if predicted is None else predicted
    if name == "main":  # each target has its own column: Tables 3 and 5
        cells = [Cell(target, target, target) for target in targets]
    elif name == "cross-model":  # predictors of one model are asked about the others: Table 4
        cells = [
            Cell(f"{other.rsplit('_', 1)[0]}→{reference}", other, reference)
            for reference in targets
            for other in _models(known, measure_of(reference))
            if other != reference and not is_mean(reference)
        ]
    elif name == "cross-task":
        cells = _cross_task(targets, known)
    else:  # the sources of prompts apart: Tables 6, 7 and 9
        apart = [s for s in sources if name == "by-source" or s != fitted_to]
        cells = [Cell(f"{t} ({s})", t, t, s) for s in apart for t in targets]
    if not cells and name == "cross-dataset":
        raise PredictorError(
            f"these rows have no source beside {fitted_to}, to which the predictors were "
            "fitted; use a configuration with more sources, like pqpp"
        )
    if not cells:
        raise PredictorError(
            f"the table {name!r} has no column for {', '.join(targets)}; name other targets"
        )
    return cells


def _cross_task(targets: Sequence[str], predicted: Sequence[str]) -> list[Cell]:
    """Pair the models of both tasks by their places: Table 8.

    Of the other task its first measure counts.
    """
    cells = []
    for reference in targets:
        own = _models(predicted, measure := measure_of(reference))
        tasks = (measure_of(target) for target in sort_targets(predicted))
        others = (task for task in tasks if task and measure and task.task != measure.task)
        pairs = zip(own, _models(predicted, next(others, None)), strict=False)
        cells += [
            Cell(f"{source}→{goal}", source, goal) for goal, source in pairs if goal == reference
        ]
    return cells


def _models(predicted: Sequence[str], measure: TargetMeasure | None) -> list[str]:
    """Return the targets of a measure that are of a model, rather than of a mean."""
    of_measure = (target for target in predicted if measure and measure_of(target) == measure)
    return [target for target in of_measure if "_" in target and not is_mean(target)]
