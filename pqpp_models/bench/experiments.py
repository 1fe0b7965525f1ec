"""The paper's experiments: which prediction meets which truth, on which rows.

PQPP paper, Tables 3 to 10. A cell of a table pairs the prediction for one target with the true
values of a target, not always the same one: a predictor fitted to SDXL's performance may be asked
about GLIDE's (cross-model), one fitted to retrieval about generation (cross-task).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Experiment:
    """A table of the paper.

    Attributes:
        title: What it shows, with the paper's numbers.
        cells: Gives its columns, for the targets and the sources of the rows at hand.
    """

    title: str
    cells: Callable[[Sequence[str], Sequence[str]], list[Cell]]


def experiment_cells(
    name: str, targets: Sequence[str], sources: Sequence[str], fitted_to: str = "mscoco"
) -> list[Cell]:
    """Return the columns of an experiment.

    Args:
        name: A key of `EXPERIMENTS`.
        targets: The reference targets wanted.
        sources: The sources that the rows have.
        fitted_to: The source that the predictors were fitted to, for the cross-dataset table.

    Raises:
        PredictorError: If no column is left for these targets.

    Example:
        >>> [cell.label for cell in experiment_cells("cross-model", ["glide_hbpp"], ["mscoco"])]
        ['sdxl→glide_hbpp']
    """
    cells = EXPERIMENTS[name].cells(targets, sources)
    if name == "cross-dataset":
        cells = [cell for cell in cells if cell.source != fitted_to]
        if not cells:
            raise PredictorError(
                f"these rows have no source beside {fitted_to}, to which the predictors were "
                "fitted; use a configuration with more sources, like pqpp"
            )
    if not cells:
        raise PredictorError(
            f"the table {name!r} has no column for {', '.join(targets)}; name other targets"
        )
    return cells


def _main(targets, sources) -> list[Cell]:
    return [Cell(target, target, target) for target in targets]


def _by_source(targets, sources) -> list[Cell]:
    return [Cell(f"{t} ({s})", t, t, s) for s in sources for t in targets]


def _across(pairs: Sequence[tuple[str, str]]):
    def cells(targets, sources) -> list[Cell]:
        return [
            Cell(f"{_short(predicted, reference)}→{reference}", predicted, reference)
            for predicted, reference in pairs
            if reference in targets
        ]

    return cells


def _short(predicted: str, reference: str) -> str:
    model, measure = predicted.rsplit("_", 1)
    return model if measure == reference.rsplit("_", 1)[1] else predicted


_CROSS_MODEL = (
    ("sdxl_hbpp", "glide_hbpp"),
    ("glide_hbpp", "sdxl_hbpp"),
    ("blip2_p10", "clip_p10"),
    ("blip2_rr", "clip_rr"),
    ("clip_p10", "blip2_p10"),
    ("clip_rr", "blip2_rr"),
)
_CROSS_TASK = (
    ("clip_p10", "glide_hbpp"),
    ("blip2_p10", "sdxl_hbpp"),
    ("glide_hbpp", "clip_p10"),
    ("glide_hbpp", "clip_rr"),
    ("sdxl_hbpp", "blip2_p10"),
    ("sdxl_hbpp", "blip2_rr"),
)
EXPERIMENTS = {
    "main": Experiment("main results (Tables 3 and 5)", _main),
    "cross-model": Experiment(
        "fitted to one model, tested on the other (Table 4)", _across(_CROSS_MODEL)
    ),
    "cross-task": Experiment(
        "fitted to one task, tested on the other (Table 8)", _across(_CROSS_TASK)
    ),
    "cross-dataset": Experiment(
        "fitted to one source of prompts, tested on the others (Tables 6 and 7)", _by_source
    ),
    "by-source": Experiment("by source of the prompts (Table 9)", _by_source),
}
