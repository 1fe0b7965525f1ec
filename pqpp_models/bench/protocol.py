"""The paper's evaluation protocol: predictors x targets on a split, by Pearson and Kendall.

PQPP paper, section 3.3: the correlation of predicted and true performance over the prompts of a
split. Pearson's r is tested against chance by Student's t, as in the paper; Kendall's tau-b by its
own law, exact for few prompts, where Student's t tells far less. The paper's text lost what its
marks stand for; here † is p < .01 and ‡ is p < .001.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import qpp_report
from pqpp_models.bench.experiments import Cell
from pqpp_models.bench.held_out import fitted_among, unranked
from pqpp_models.bench.split import Split
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.targets import stand_in

MARKS = ((0.001, "‡"), (0.01, "†"))
MARKS_NOTE = (
    "† p < .01, ‡ p < .001, two-sided against no correlation: Pearson's r by Student's t, which "
    "assumes normal values, Kendall's tau by its own law"
)


@dataclass(frozen=True)
class Result:
    """One cell of the table: a predictor on a target of a split.

    Attributes:
        predictor: Its name.
        target: The column of true values.
        label: The heading of its column; the target's name in the main table.
        predicted: The target that the predictor was asked for; another one in a cross-model or
            cross-task table.
        stands_in: The predictor's own target that was taken for it, None where it has it.
        source: The source of the rows, None for all.
        config: The configuration of the benchmark.
        release: Its version, None if it tells none.
        split: The split.
        n: How many prompts have a true value and a prediction, and entered.
        pearson: Pearson's r, NaN where one side is constant.
        pearson_p: Its p by Student's t.
        pearson_ci_low: Lower bound of its 95 % confidence interval.
        pearson_ci_high: Upper bound.
        kendall: Kendall's tau-b, NaN where one side is constant.
        kendall_p: Its p as `kendall_qpp` has it, exact for few prompts.
        kendall_ci_low: Lower bound of its 95 % confidence interval.
        kendall_ci_high: Upper bound.
        generated: Whether the data are generated rather than judged by people.
        trained_on: The configuration of PQPP that the predictor was fitted to, if it is told.
        fitted_on: Its split, like `train + validation`, if that is told.
        fitted_rows: To how many of the n the predictor was fitted, None where it records none.
        ranked: Whether the predictor was fitted to no row of the table.
        stands_for: The release for which this build was taken, which was fitted to the rows.
        baseline: The predictor that this one was tested against, if any.
        pearson_baseline_p: p of no difference from it in Pearson's r, corrected over the table.
        pearson_baseline_ci_low: Lower bound of the 95 % interval of the difference in Pearson's r,
            by the same test and not corrected.
        pearson_baseline_ci_high: Upper bound.
        pearson_baseline_warning: What speaks against the test, empty for nothing.
        kendall_baseline_p: The same in Kendall's tau-b.
        kendall_baseline_ci_low: The same.
        kendall_baseline_ci_high: The same.
        kendall_baseline_warning: The same.
    """

    predictor: str
    target: str
    label: str
    predicted: str
    source: str | None
    config: str
    release: str | None
    split: str
    n: int
    pearson: float
    pearson_p: float
    pearson_ci_low: float
    pearson_ci_high: float
    kendall: float
    kendall_p: float
    kendall_ci_low: float
    kendall_ci_high: float
    generated: bool
    trained_on: str | None = None
    fitted_on: str | None = None
    fitted_rows: int | None = 0
    ranked: bool = True
    stands_for: str | None = None
    stands_in: str | None = None
    baseline: str | None = None
    pearson_baseline_p: float = math.nan
    pearson_baseline_ci_low: float = math.nan
    pearson_baseline_ci_high: float = math.nan
    pearson_baseline_warning: str = ""
    kendall_baseline_p: float = math.nan
    kendall_baseline_ci_low: float = math.nan
    kendall_baseline_ci_high: float = math.nan
    kendall_baseline_warning: str = ""


@dataclass(frozen=True)
class Predictions:
    """What a predictor said of the rows of a split; the material of tables and pictures.

    Attributes:
        predictor: Its name.
        targets: The columns of `values`.
        values: Array `(prompts, targets)`, NaN for a blank prompt.
        higher: What a higher value says of a prompt: `easier`, `harder` or `unknown`.
        trained_on: The configuration of PQPP that it was fitted to, if it is told.
        fitted_on: The split of it, if that is told.
        fitted: To which prompts it was fitted; none if left out.
        is_recorded: Whether it records that at all.
        stand_ins: Of `targets` those that it has not, each to its own target that was taken.
    """

    predictor: str
    targets: tuple[str, ...]
    values: NDArray[np.float64]
    higher: str = "easier"
    trained_on: str | None = None
    fitted_on: str | None = None
    fitted: NDArray[np.bool_] | None = None
    is_recorded: bool = True
    stand_ins: Mapping[str, str] = field(default_factory=dict)


def predict_all(
    predictors: Mapping[str, Predictor],
    rows: Any,
    targets: Sequence[str],
    progress: bool = False,
    nearest: bool = False,
) -> list[Predictions]:
    """Ask every predictor for all targets that it has among those wanted.

    Of prompts that a table of predictions lacks, nobody's predictions count.

    Args:
        predictors: Name to predictor.
        rows: As they take them.
        targets: What is wanted.
        progress: Show a progress bar on standard error.
        nearest: Whether one that has none of them is asked for what stands in, by `stand_in`.

    Raises:
        PredictorError: If a predictor has none of the targets.
    """
    from tqdm.auto import tqdm

    all_predictions: list[Predictions] = []
    lacking = np.zeros(len(rows), dtype=bool)
    bar = tqdm(predictors.items(), desc="predicting", unit="predictor", disable=not progress)
    for name, predictor in bar:
        inner = progress and len(rows) > predictor.chunk_size
        own: dict[str, str] = {}
        if predictor.one_score:  # which stands for any target
            mine = tuple(targets)
            values = np.repeat(predictor.predict(rows, progress=inner), len(mine), axis=1)
        else:
            own = {target: target for target in targets if target in predictor.targets}
            if nearest and not own:
                found = {target: stand_in(target, predictor.targets) for target in targets}
                own = {target: other for target, other in found.items() if other}
            mine = tuple(own)
            if not mine:
                raise PredictorError(
                    f"{name} predicts {', '.join(predictor.targets)}, none of "
                    f"{', '.join(targets)}; leave it out, or name other targets"
                )
            asked = tuple(dict.fromkeys(own.values()))
            values = predictor.predict(rows, asked, inner)
            values = values[:, [asked.index(other) for other in own.values()]]
            own = {target: other for target, other in own.items() if other != target}
        facts = (predictor.higher, predictor.trained_on, predictor.fitted_on)
        fitted = fitted_among(predictor, rows)
        all_predictions.append(
            Predictions(name, mine, values, *facts, fitted, fitted is not None, own)
        )
        if predictor.inputs == "table":
            lacking |= np.isnan(values).any(axis=1)
    return [
        replace(answers, values=np.where(lacking[:, None], math.nan, answers.values))
        for answers in all_predictions
    ]


def evaluate_predictions(
    predictions: Iterable[Predictions],
    references: Mapping[str, Sequence[float | None]],
    split: Split,
    cells: Sequence[Cell] | None = None,
    stands_for: Mapping[str, str] = MappingProxyType({}),
) -> list[Result]:
    """Correlate predictions with the true values; a prompt that lacks either is left out.

    Args:
        predictions: What the predictors said, aligned with the references.
        references: Target to one true value a prompt, None or NaN where there is none.
        split: What they are of.
        cells: Which prediction meets which truth; each target its own if left out.
        stands_for: A build to the release that it was taken for.

    Returns:
        A result for each predictor and cell, in the order given; a cell whose target a predictor
        does not have is left out. Fewer than two true values, or a constant side, give NaN.

    Example:
        >>> said = Predictions("n_words", ("mean_rr",), np.array([[3.0], [5.0], [4.0]]))
        >>> split = Split(None, "sample", "test")
        >>> result = evaluate_predictions([said], {"mean_rr": [1.0, 0.5, None]}, split)
        >>> result[0].n, round(result[0].pearson, 9)
        (2, -1.0)
    """
    results = [
        _result(prediction, cell, references, split, stands_for.get(prediction.predictor))
        for prediction in predictions
        for cell in cells or [Cell(target, target, target) for target in prediction.targets]
        if cell.predicted in prediction.targets
    ]
    out = unranked(results)
    return [replace(result, ranked=result.predictor not in out) for result in results]


def cell_values(
    predictions: Predictions,
    cell: Cell,
    true: Sequence[float | None],
    sources: Sequence[str] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return predicted and true values of the prompts that a cell compares.

    Args:
        predictions: What the predictor said.
        cell: The column of the table.
        true: One true value a prompt, None or NaN where there is none.
        sources: The source of each prompt; needed for a cell of one source.
    """
    reference = np.array(true, dtype=float)
    predicted = predictions.values[:, predictions.targets.index(cell.predicted)]
    entering = ~(np.isnan(reference) | np.isnan(predicted))
    if cell.source is not None:
        assert sources is not None
        entering &= np.array([source == cell.source for source in sources])
    return predicted[entering], reference[entering]


def _result(
    predictions: Predictions, cell: Cell, references, split: Split, stands_for: str | None
) -> Result:
    asked = cell, references[cell.reference], split.sources if cell.source is not None else None
    predicted, reference = cell_values(predictions, *asked)
    n, fitted = len(reference), 0 if predictions.is_recorded else None
    if predictions.is_recorded and predictions.fitted is not None:
        known = np.where(predictions.fitted[:, None], predictions.values, np.nan)
        fitted = len(cell_values(replace(predictions, values=known), *asked)[0])
    measures = ("pearson", "kendall")
    report = qpp_report(predicted, reference, measures=measures) if n > 1 else {}
    figures: dict[str, Any] = {}
    for name in measures:
        figures_of = report.get(f"{name}_qpp", {})
        figures[name] = figures_of.get(f"{name}_qpp", math.nan)
        for field_, key in (("p", "p_value"), ("ci_low", "ci_low"), ("ci_high", "ci_high")):
            figures[f"{name}_{field_}"] = figures_of.get(key, math.nan)
    return Result(
        predictor=predictions.predictor,
        target=cell.reference,
        label=cell.label,
        predicted=cell.predicted,
        source=cell.source,
        config=split.config,
        release=split.release,
        split=split.name,
        n=n,
        generated=split.generated,
        trained_on=predictions.trained_on,
        fitted_on=predictions.fitted_on,
        fitted_rows=fitted,
        stands_for=stands_for,
        stands_in=predictions.stand_ins.get(cell.predicted),
        **figures,
    )


def mark(p: float) -> str:
    """Return the mark of a p-value: ‡ below .001, † below .01, else nothing.

    Example:
        >>> mark(0.0005), mark(0.005), mark(0.05), mark(float("nan"))
        ('‡', '†', '', '')
    """
    return next((sign for limit, sign in MARKS if p < limit), "")


def mean_over_targets(results: Iterable[Result]) -> Iterator[tuple[str, float, float]]:
    """Yield each predictor with its mean Pearson and mean Kendall over the targets it was run on.

    A predictor with an undefined correlation among them has an undefined mean.
    """
    by_predictor: dict[str, list[Result]] = {}
    for result in results:
        by_predictor.setdefault(result.predictor, []).append(result)
    for name, rows in by_predictor.items():
        pearson, kendall = np.mean([(r.pearson, r.kendall) for r in rows], axis=0).tolist()
        yield name, pearson, kendall
