"""The evaluation protocol of the PQPP paper: Pearson's and Kendall's correlations on a split.

The quality of a predictor is the correlation of predicted and true performance over the prompts of
a split (PQPP paper, section 3.3). Pearson's r is tested against 0 by Student's t, as in the paper.
Kendall's tau-b is tested by its own distribution, which is exact for few prompts, where Student's t
has far less power. The paper does not define its marks; here † is p < .01 and ‡ is p < .001.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from pqpp_datasets.target_columns import TargetMeasure, get_measure, is_mean, sort_targets
from pqpp_files.foreign.json_values import read_json
from pqpp_metrics.functional import qpp_report
from pqpp_metrics.functional.resampling import paired_permutation
from pqpp_metrics.functional.significance import holm
from pqpp_models.bench.split import Split, find_fitted_rows
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import SCORE, Predictor
from pqpp_models.targets import find_stand_in

COEFFICIENTS = ("pearson", "kendall")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        label: The column's heading; the target's own name in the main table.
        predicted: The target that the predictor predicts.
        target: The target whose true values the predictions are compared with.
        source: The source of the rows to use; None for all rows.
        is_metric: Whether `target` is an automatic metric, not a target of the benchmark.
    """

    label: str
    predicted: str
    target: str
    source: str | None = None
    is_metric: bool = False


@dataclass(frozen=True)
class Result:
    """One cell of the table: the result of a predictor on a target of a split.

    Attributes:
        predictor: The predictor's name.
        target: The column of true values.
        label: The heading of its column; the target's name in the main table.
        predicted: The requested target; not `target` in a cross-model or cross-task table.
        stands_in: The target that was predicted instead; None if the predictor has `predicted`.
        source: The source of the rows, None for all.
        config: The configuration of the benchmark.
        release: The version of the benchmark, None if unknown.
        n: Number of prompts with a true value and a prediction.
        pearson: Pearson's r; NaN if the predictions or the true values are constant.
        pearson_p: The p-value of Pearson's r from Student's t.
        pearson_ci_low: Lower bound of the 95% confidence interval of Pearson's r.
        pearson_ci_high: Upper bound of that interval.
        kendall: Kendall's tau-b; NaN if the predictions or the true values are constant.
        kendall_p: The p-value of Kendall's tau-b from `kendall_qpp`, exact for few prompts.
        kendall_ci_low: Lower bound of the 95% confidence interval of Kendall's tau-b.
        kendall_ci_high: Upper bound of the same interval.
        generated: Whether the data are generated rather than rated by people.
        trained_on: The PQPP configuration that the predictor was fitted to, if known.
        fitted_on: The split of that configuration, like `train + validation`, if known.
        fitted_rows: How many of the `n` prompts the predictor was fitted to; None if unknown.
        ranked: Whether the result is ranked, that is, the predictor was fitted to no row of the
            table.
        stands_for: The predictor that this one replaces, since that one was fitted to the rows.
        baseline: The predictor that this one was tested against, if any.
        oriented: How the sign of the predictions was chosen: `as the predictor declares`, `by the
            sign on train` of a significant correlation, or `as given`. `, negated` is appended if
            the predictions were negated.
        baseline_difference: Kendall's tau-b with that sign minus the baseline's.
        baseline_p: The p-value of the difference, corrected for all tests in the table.
        baseline_ci_low: Lower bound of the 95% interval of the difference, by the same test,
            without correction.
        baseline_ci_high: Upper bound of the same interval.
        baseline_warning: A warning on the test, or empty.
        is_metric: Whether `target` is an automatic metric; not in result files.
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
    oriented: str = ""
    baseline_difference: float = math.nan
    baseline_p: float = math.nan
    baseline_ci_low: float = math.nan
    baseline_ci_high: float = math.nan
    baseline_warning: str = ""
    is_metric: bool = False

    def to_row(self) -> dict[str, Any]:
        """Return the columns of a results file, by name."""
        return {name: value for name, value in vars(self).items() if name != "is_metric"}


@dataclass(frozen=True)
class Predictions:
    """One predictor's predictions on the rows of a split.

    Attributes:
        predictor: The predictor's name.
        targets: The columns of `values`.
        values: Array `(prompts, targets)`, NaN for a prompt without text.
        higher_is: Whether prompts with higher values are `easier`, `harder` or `unknown`.
        trained_on: The PQPP configuration that the predictor was fitted to, if known.
        fitted_on: The split that the predictor was fitted to, if known.
        fitted: Whether the predictor was fitted to each prompt, one bool per prompt; False if to
            none; None if unknown.
        stand_ins: For each of `targets` that the predictor does not have, the target used instead.
    """

    predictor: str
    targets: tuple[str, ...]
    values: NDArray[np.float64]
    higher_is: str = "easier"
    trained_on: str | None = None
    fitted_on: str | None = None
    fitted: NDArray[np.bool_] | np.bool_ | None = np.False_
    stand_ins: Mapping[str, str] = field(default_factory=dict)


def predict_all(
    predictors: Mapping[str, Predictor],
    rows: Any,
    targets: Sequence[str],
    progress: bool = False,
    use_stand_ins: bool = False,
) -> list[Predictions]:
    """Predict the targets with each predictor.

    Prompts missing from a prediction table are excluded for all predictors.

    Args:
        use_stand_ins: Whether a predictor that lacks a target may predict another one, chosen by
            `find_stand_in`.

    Raises:
        PredictorError: A predictor has none of the targets.
    """
    all_predictions: list[Predictions] = []
    is_missing = np.zeros(len(rows), dtype=bool)
    bar = tqdm(predictors.items(), desc="predicting", unit="predictor", disable=not progress)
    for name, predictor in bar:
        inner = progress and len(rows) > predictor.chunk_size
        if predictor.is_scalar:  # its score is used for any target
            mapping = dict.fromkeys(targets, SCORE)
        elif use_stand_ins:
            pairs = ((target, find_stand_in(target, predictor.targets)) for target in targets)
            mapping = {target: other for target, other in pairs if other}
        else:
            mapping = {target: target for target in targets if target in predictor.targets}
        if not mapping:
            raise PredictorError(
                f"{name} predicts {', '.join(predictor.targets)}, not {', '.join(targets)}; "
                f"remove {name}, or choose other targets"
            )
        unique_targets = tuple(dict.fromkeys(mapping.values()))
        values = predictor.predict(rows, unique_targets, inner)
        values = values[:, [unique_targets.index(other) for other in mapping.values()]]
        stand_ins = {name: other for name, other in mapping.items() if other not in (name, SCORE)}
        facts = (predictor.higher_is, predictor.trained_on, predictor.fitted_on)
        fitted = find_fitted_rows(predictor, rows)
        all_predictions.append(Predictions(name, tuple(mapping), values, *facts, fitted, stand_ins))
        if predictor.inputs == "table":
            is_missing |= np.isnan(values).any(axis=1)
    for predictions in all_predictions:
        predictions.values[is_missing] = math.nan
    return all_predictions


def evaluate_predictions(
    predictions: Iterable[Predictions],
    references: Mapping[str, Sequence[float | None]],
    split: Split,
    cells: Sequence[Column] | None = None,
    stands_for: Mapping[str, str] = MappingProxyType({}),
) -> list[Result]:
    """Correlate predictions with true values, leaving out prompts for which either is missing.

    Args:
        predictions: Predictions for the prompts of `references`, in the same order.
        references: The true values by target, one per prompt; None or NaN if missing.
        cells: The columns to compare; by default, each target with itself.
        stands_for: The name of the replaced predictor, by the name of its substitute.

    Returns:
        One result per predictor and cell, ordered by predictor, then by cell; cells without a
        prediction are left out. Coefficients are NaN if there are fewer than two pairs, or if
        predictions or true values are constant.

    Example:
        >>> lengths = Predictions("n_words", ("mean_rr",), np.array([[3.0], [5.0], [4.0]]))
        >>> split = Split(None, "sample", "test")
        >>> result = evaluate_predictions([lengths], {"mean_rr": [1.0, 0.5, None]}, split)
        >>> result[0].n, round(result[0].pearson, 9)
        (2, -1.0)
    """
    results = [
        _make_result(prediction, cell, references, split, stands_for.get(prediction.predictor))
        for prediction in predictions
        for cell in cells or [Column(target, target, target) for target in prediction.targets]
        if cell.predicted in prediction.targets
    ]
    fitted = {result.predictor for result in results if result.fitted_rows}
    return [replace(result, ranked=result.predictor not in fitted) for result in results]


def pair_values(
    predictions: Predictions,
    cell: Column | Result,
    true: Sequence[float | None] | NDArray[np.float64],
    sources: Sequence[str] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the predicted and the true values of the prompts in a cell.

    Args:
        true: The true value of each prompt; None or NaN if missing.
        sources: The source of each prompt; needed if the cell is for one source.
    """
    reference = np.array(true, dtype=float)
    predicted = predictions.values[:, predictions.targets.index(cell.predicted)]
    is_used = ~(np.isnan(reference) | np.isnan(predicted))
    if cell.source is not None:
        assert sources is not None
        is_used &= np.array([source == cell.source for source in sources])
    return predicted[is_used], reference[is_used]


def _make_result(
    predictions: Predictions, cell: Column, references, split: Split, stands_for: str | None
) -> Result:
    true, sources = references[cell.target], split.sources
    predicted, reference = pair_values(predictions, cell, true, sources)
    n, fitted = len(reference), None
    if predictions.fitted is not None:
        is_fitted = np.reshape(predictions.fitted, (-1, 1))
        fitted_only = replace(predictions, values=np.where(is_fitted, predictions.values, np.nan))
        fitted = len(pair_values(fitted_only, cell, true, sources)[0])
    report = qpp_report(predicted, reference, measures=COEFFICIENTS) if n > 1 else {}
    figures: dict[str, Any] = {}
    for name in COEFFICIENTS:
        statistics: Mapping[str, Any] = report.get(f"{name}_qpp", {})
        figures[name] = statistics.get(f"{name}_qpp", math.nan)
        for field_, key in (("p", "p_value"), ("ci_low", "ci_low"), ("ci_high", "ci_high")):
            figures[f"{name}_{field_}"] = statistics.get(key, math.nan)
    return Result(
        predictor=predictions.predictor,
        **vars(cell),
        config=split.config,
        release=split.release,
        split=split.name,
        n=n,
        generated=split.is_generated,
        trained_on=predictions.trained_on,
        fitted_on=predictions.fitted_on,
        fitted_rows=fitted,
        stands_for=stands_for,
        stands_in=predictions.stand_ins.get(cell.predicted),
        **figures,
    )


def average_results(results: Iterable[Result]) -> Iterator[tuple[str, float, float]]:
    """Yield each predictor with its means of Pearson's r and Kendall's tau-b over its targets.

    A mean is NaN if one of the coefficients is NaN.
    """
    for name, rows in group_by_key((result.predictor, result) for result in results).items():
        pearson, kendall = np.mean([(r.pearson, r.kendall) for r in rows], axis=0).tolist()
        yield name, pearson, kendall


def group_by_key(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Group the values of (key, value) pairs by key.

    Example:
        >>> group_by_key([("a", 1), ("b", 2), ("a", 3)])
        {'a': [1, 3], 'b': [2]}
    """
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


PERMUTATIONS = 2_000


def compare_with_baseline(
    results: Sequence[Result],
    predictions: Sequence[Predictions],
    references: Mapping[str, Sequence[float | None]],
    baseline: str,
    sources: Sequence[str] | None = None,
    progress: bool = False,
    known_signs: Mapping[tuple[str, str], float] = MappingProxyType({}),
) -> list[Result]:
    """Test the results of all predictors against those of a baseline.

    Differences of Kendall's tau-b are tested with `paired_permutation`, with Holm's correction over
    the table. First, predictions are negated if higher ones mean harder prompts. The sign is the
    known sign, else the predictor's declared direction, else 1. Targets without a declared
    direction are higher for easier prompts.

    Args:
        predictions: The predictions from which the results were computed.
        references: The true values by target, one per prompt.
        baseline: The name of a predictor in the table.
        sources: The source of each prompt; needed for results on one source.
        known_signs: The sign of the correlation on other rows, by predictor and target.

    Returns:
        The results with `baseline`, `oriented` and the fields of the test. These fields are NaN or
        empty for the baseline itself, for predictors that were fitted to the rows, if the baseline
        has no result for the cell, and if a correlation is undefined.

    Raises:
        PredictorError: The baseline is not in the table, or was fitted to the rows.
    """
    by_name = {prediction.predictor: prediction for prediction in predictions}
    if baseline not in by_name:
        raise PredictorError(
            f"the baseline {baseline!r} is not one of the predictors {', '.join(by_name)}; add it"
        )
    fitted = max((row.fitted_rows or 0 for row in results if row.predictor == baseline), default=0)
    if fitted:
        raise PredictorError(
            f"the baseline {baseline!r} was fitted to {fitted} of these rows; choose another one"
        )
    signs = {
        (row.predictor, row.label): _get_sign(row, by_name[row.predictor].higher_is, known_signs)
        for row in results
    }
    tests: list[dict[str, Any]] = []
    for row in tqdm(results, desc="comparing", unit="cell", disable=not progress):
        pair = tested, other = by_name[row.predictor], by_name[baseline]
        test = {}
        if row.ranked and tested is not other and row.predicted in other.targets:
            columns = [one.values[:, one.targets.index(row.predicted)] for one in pair]
            true = np.array(references[row.target], dtype=float)
            true[np.isnan(columns).any(axis=0)] = math.nan  # compare prompts that both predict
            (values, reference), (base, _) = (pair_values(one, row, true, sources) for one in pair)
            if len(reference) >= 4:
                values = values * signs[row.predictor, row.label][0]
                base = base * signs[baseline, row.label][0]
                test = paired_permutation(values, base, reference, permutations=PERMUTATIONS)
        tests.append(test)
    adjusted = holm(np.array([test.get("p_value", math.nan) for test in tests]))["adjusted"]
    return [
        replace(
            row,
            baseline=baseline,
            oriented=f"{how}, negated" if sign < 0 else how,
            baseline_p=float(p),
            baseline_difference=test.get("paired_permutation", math.nan),
            **{f"baseline_{key}": test[key] for key in ("ci_low", "ci_high", "warning") if test},
        )
        for row, (sign, how), test, p in zip(results, signs.values(), tests, adjusted, strict=True)
    ]


def _get_sign(row: Result, higher_is: str, known_signs: Mapping[Any, float]) -> tuple[float, str]:
    """Return the sign with which higher predictions mean easier prompts, and how it was chosen."""
    if sign := known_signs.get((row.predictor, row.target)):
        return sign, "by the sign on train"
    if higher_is == "unknown":
        return 1.0, "as given"
    measure = get_measure(row.target)
    higher_target_is = measure.higher_is if measure else "easier"
    return (1.0 if higher_is == higher_target_is else -1.0), "as the predictor declares"


def list_experiment_columns(
    name: str,
    targets: Sequence[str],
    sources: Sequence[str],
    predicted: Sequence[str] | None = None,
) -> list[Column]:
    """Return the columns of an experiment.

    Args:
        name: `main`, `cross-model`, `cross-task`, `cross-dataset` or `by-source`.
        predicted: The targets that the predictors predict, for cross-model and cross-task tables;
            default: `targets`.

    Raises:
        PredictorError: No column is left for these targets.

    Example:
        >>> targets = ["glide_hbpp", "sdxl_hbpp"]
        >>> [cell.label for cell in list_experiment_columns("cross-model", targets, ["mscoco"])]
        ['sdxl→glide_hbpp', 'glide→sdxl_hbpp']
    """
    known = targets if predicted is None else predicted
    if name == "main":  # each target has its own column: Tables 3 and 5
        cells = [Column(target, target, target) for target in targets]
    elif name == "cross-model":  # predictions for one model, true values of another: Table 4
        cells = [
            Column(f"{other.rsplit('_', 1)[0]}→{reference}", other, reference)
            for reference in targets
            for other in _list_models(known, get_measure(reference))
            if other != reference and not is_mean(reference)
        ]
    elif name == "cross-task":
        # Models of both tasks are paired in order, with the other task's first measure: Table 8.
        cells = []
        for reference in targets:
            measure = get_measure(reference)
            measures = (get_measure(target) for target in sort_targets(known))
            others = (m for m in measures if m and measure and m.task != measure.task)
            models = _list_models(known, measure), _list_models(known, next(others, None))
            pairs = zip(*models, strict=False)
            cells += [Column(f"{s}→{goal}", s, goal) for goal, s in pairs if goal == reference]
    else:  # each source of prompts separately: Tables 6, 7 and 9
        sources = [s for s in sources if name == "by-source" or s != "mscoco"]
        cells = [Column(f"{t} ({s})", t, t, s) for s in sources for t in targets]
    if not cells and name == "cross-dataset":
        raise PredictorError(
            "no row has a source other than mscoco, to which predictors were fitted; use a dataset "
            "with other sources, such as pqpp"
        )
    if not cells:
        raise PredictorError(
            f"the table {name!r} has no column for {', '.join(targets)}; choose other targets"
        )
    return cells


def _list_models(predicted: Sequence[str], measure: TargetMeasure | None) -> list[str]:
    of_measure = (target for target in predicted if measure and get_measure(target) == measure)
    return [target for target in of_measure if "_" in target and not is_mean(target)]


_TITLES = {"finetuned_bert": "fine-tuned BERT", "finetuned_clip": "fine-tuned CLIP"}
_TITLES |= {"correlation_cnn": "correlation CNN"}


@dataclass(frozen=True)
class PublishedResult:
    """A published result: the correlations of one predictor on one target of a split.

    Attributes:
        predictor: The predictor's name in the published table.
        config: The release of the benchmark.
        n: The number of prompts in the split.
        pearson: Pearson's r.
        kendall: Kendall's tau.
    """

    predictor: str
    target: str
    config: str
    split: str
    n: int
    pearson: float
    kendall: float
    source: str

    @property
    def label(self) -> str:
        """The column heading: the target."""
        return self.target

    @property
    def title(self) -> str:
        """The displayed name of the predictor."""
        return _TITLES.get(self.predictor, self.predictor)


@functools.cache
def read_published() -> tuple[PublishedResult, ...]:
    """Read the published results of PQPP's tables, in order.

    Example:
        >>> first = read_published()[0]
        >>> first.predictor, first.target, first.pearson, first.split
        ('finetuned_bert', 'glide_hbpp', 0.566, 'test')
    """
    return tuple(
        PublishedResult(**row, **{name: value for name, value in group.items() if name != "rows"})
        for group in read_json(Path(__file__).with_name("published.json"))["groups"]
        for row in group["rows"]
    )


Figure = Result | PublishedResult
