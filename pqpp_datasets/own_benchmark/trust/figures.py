"""The agreement and reliability of votes, with intervals, in a study and in larger or smaller ones.

A vote is modelled as a sum of effects: of the prompt (with a model), the image, the annotator (with
the model), the annotator with the prompt, and a residual. Their variances are estimated by
Henderson's method 1 ("Estimation of Variance and Covariance Components", Biometrics 9, 1953), for
any assignment of annotators; if all annotators rated all images, it equals analysis of variance.
Negative variances become 0. The reliability is the prompts' share of the variance of a prompt's
mean vote. If all annotators rated (nearly) all prompts, their strictness does not change the order
of prompts and is left out. In this case, the reliability is ICC(3,k) of Shrout and Fleiss,
otherwise ICC(2,k). If most prompts have one image, its effect is not separated from that of the
prompt.

The ICC's interval is from a jackknife over prompts on the scale of log(1 - ICC); other intervals
are from the influences of prompts, on the scale of Fisher's z. The ICC's interval includes the
sampling error of the annotators' strictness, by the chi-square distribution (Zou and Donner,
"Construction of Confidence Limits about Effect Measures", Statistics in Medicine 27, 2008). In
simulations of 400 studies each, with 30 to 80 prompts and 3 to 5 annotators or a crowd of 40, of
equal or different strictness, 94 to 97% of the ICC's 95% intervals contained the true value.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtri, fdtri

from pqpp_datasets.own_benchmark.votes.votes import index_rows
from pqpp_files.figures import ResultTable
from pqpp_metrics.functional._studentised import get_margin
from pqpp_metrics.functional._votes import compute_disagreement, get_ac1, get_agreement_interval

EFFECTS = ("prompt", "image", "annotator", "annotator with prompt", "rest")
TARGET = 0.8
_STUDIES = {
    "TIA2 composition": (0.099, 0.258, 0.041, 0.375),
    "TIA2 counting": (0.323, 0.363, 0.028, 0.278),
}
"""Variances of prompt, image, annotator with prompt, and residual in published studies."""
_ANNOTATORS, _IMAGES = (2, 3, 5, 8, 12, 20), (1, 2, 4)
_PROMPTS = np.unique(np.geomspace(4, 100_000, 2000).astype(int))
_MAX_GROUPS = 20_000  # maximum number of jackknife groups
CONFIDENCE = 0.95
_LOG_FLOOR = 1e-3
_MIN_RATIO = 1.25  # minimum ratio of the numbers of levels of two effects to separate them
_MIN_PANEL_SHARE = 0.95  # minimum share of all pairs of an annotator and a prompt to be a panel
_STRICTNESS = EFFECTS.index("annotator")
Estimate = tuple[float, float, float]


@dataclass(frozen=True)
class Agreement:
    """The agreement of votes, and the sources of their variance.

    Attributes:
        figures: Value and 95% interval of each measure, by name; unknown values are left out.
        others: Value and interval of further reliabilities, such as that of a single vote, by name.
        variances: Variance of each of `EFFECTS`, float64, shape (groups + 1, 5): for all votes,
            then without each group of prompts; 0 for effects that cannot be separated.
        size: Harmonic means, over pairs of a prompt and a model, of the numbers of annotators,
            images and votes.
        prompts: Number of distinct pairs of a prompt and a model.
        degrees_of_freedom: Degrees of freedom of the annotators' variance: the number of distinct
            pairs of an annotator and a model, minus the number of models.
        is_panel: Whether all annotators of a model rated (nearly) all prompts of the model.
        is_shared: Whether prompts have votes of several annotators; otherwise reliability is
            undefined.
    """

    figures: Mapping[str, Estimate]
    others: Mapping[str, Estimate]
    variances: np.ndarray
    size: Estimate
    prompts: int
    degrees_of_freedom: int
    is_panel: bool
    is_shared: bool

    @property
    def needed_annotators(self) -> int | None:
        """Number of annotators per image for a reliability of `TARGET`; None if unreachable."""
        prompt, image, *per_annotator, rest = np.maximum(self.variances[0], 0.0)
        error = sum(per_annotator[int(self.is_panel) :]) + rest * self.size[0] / self.size[2]
        allowed = prompt * (1 - TARGET) / TARGET - image / self.size[1]
        return max(1, math.ceil(round(error / allowed, 9))) if allowed > 0 else None

    @property
    def summary_table(self) -> ResultTable:
        """The measures as a table."""
        names = ("figure", "value (95% interval)")
        rows = [dict(zip(names, row, strict=True)) for row in self.figures.items()]
        return ResultTable("agreement", "Agreement", names, rows)

    def plan_studies(self, width: float, study: str = "this study") -> tuple[ResultTable, str]:
        """Return the reliability of studies of other sizes, and the number of prompts needed.

        Row 1 is the study itself. The number of prompts per model is the number for which the
        reliability's interval has the given width (Feldt, "The Approximate Sampling Distribution of
        Kuder-Richardson Reliability Coefficient Twenty", Psychometrika 30, 1965).

        Args:
            width: Width of the 95% interval.
            study: What row 1 is, for the legend.

        Returns:
            The table and its legend.
        """
        rows, freedom = list[dict[str, Any]](), _PROMPTS - 1.0
        grid = itertools.product(_IMAGES if self.variances[0, 1] else (1,), _ANNOTATORS)
        sizes: set[Any] = {(images, n, n * images) for images, n in grid}
        if (n := self.needed_annotators or 1) > 1:
            sizes.add((self.size[1], n, n * self.size[2] / self.size[0]))
        for size in (self.size, *((n, images, votes) for images, n, votes in sorted(sizes))):
            size_columns = {"images": f"{size[1]:.3g}", "annotators": f"{size[0]:.3g}"}
            if rows and size_columns.items() <= rows[0].items():
                continue  # this study
            reliability = self.compute_reliability(size)
            rows.append({**size_columns, "reliability": reliability})
            ends = fdtri(freedom, freedom * (size[0] - 1), [[0.025], [0.975]])
            sufficient = _PROMPTS[(1 - reliability[0]) * (ends[1] - ends[0]) <= width]
            rows[-1][f"pairs for width {width:g}"] = int(sufficient[0]) if len(sufficient) else "-"
        legend = (
            f"Row 1 is {study}. Reliability is the ICC of a prompt's mean vote (95% interval) if "
            f"{'all' if self.is_panel else 'different'} annotators rate each prompt. The last "
            f"column is roughly how many pairs of a prompt and a model make a {width:g}-wide "
            f"interval (-: over {_PROMPTS[-1]:,}); divide by the number of models for prompts."
        )
        return ResultTable("plan", "Plan: reliability by study size", list(rows[0]), rows), legend

    def compute_reliability(self, size: Estimate, strictness: bool = False) -> Estimate:
        """Return the reliability of a prompt's mean vote, with its 95% interval.

        Args:
            size: Number of annotators, images and votes per prompt.
            strictness: Whether to include annotators' strictness if all of them rated all prompts.
        """
        weights = 1 / np.array([math.inf, size[1], size[0], size[0], size[2]])
        weights[_STRICTNESS] *= strictness or not self.is_panel
        variances = self.variances if strictness else np.maximum(self.variances, 0.0)
        tails = np.array([(1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2])
        change = df / chdtri(df, tails) - 1 if (df := self.degrees_of_freedom) else np.zeros(2)
        strict = variances[0, _STRICTNESS] * weights[_STRICTNESS] * change
        errors = np.append(variances @ weights, variances[0] @ weights + strict)
        prompt = np.append(self.variances[:, 0], [self.variances[0, 0]] * 2)
        with np.errstate(invalid="ignore", divide="ignore"):  # where all votes are equal
            # The prompts' variance is negative if votes are opposed.
            logs = np.log(np.maximum(prompt / errors + 1, _LOG_FLOOR))
            log, jackknife_logs = logs[0], logs[1:-2]
            margin = get_margin((len(jackknife_logs) - 1) * (log - jackknife_logs), CONFIDENCE)
            lower_margin, upper_margin = np.hypot(margin, logs[-2:] - log)
            value, low, high = 1 - np.exp([-log, lower_margin - log, -upper_margin - log])
        return tuple(np.maximum(0.0, [value, low, high]).tolist())  # NaN if all votes are equal


def plan_without_votes() -> tuple[list[ResultTable], list[str]]:
    """Return tables of the reliability that votes with the agreement of published studies have."""
    rows = list[dict[str, Any]]()
    for images, raters in itertools.product(_IMAGES, _ANNOTATORS):
        rows.append({"images": images, "annotators": raters})
        for study, (prompt, image, pair, rest) in _STUDIES.items():
            rows[-1][study] = prompt / (prompt + image / images + (pair + rest / images) / raters)
    legend = (
        "An assumption: the reliability (ICC) of a prompt's mean vote if votes agree as in these "
        "studies of 3 annotators, who rated every prompt. More images help more than more "
        "annotators. A pilot of 30 prompts measures yours: pqpp build VOTES --plan"
    )
    return [ResultTable("plan", "Plan: reliability, assumed", list(rows[0]), rows)], [legend]


def measure_agreement(
    prompt: np.ndarray,
    model: np.ndarray,
    item: np.ndarray,
    annotator: np.ndarray,
    value: np.ndarray,
    level: str,
) -> Agreement:
    """Measure the agreement of votes, with intervals over prompts.

    Args:
        prompt: Prompt of each vote, integers from 0, shape (votes,).
        model: Model of each vote, integers from 0.
        item: Image of each vote, integers from 0.
        annotator: Annotator of each vote, integers from 0; if unknown, a different number per vote.
        value: Value of each vote, float64.
        level: "nominal", "ordinal" or "interval".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> prompt, who = np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300)
        >>> value = rng.normal(size=300)[prompt] + rng.normal(size=1200)
        >>> figures = measure_agreement(prompt, 0 * prompt, prompt, who, value, "interval").figures
        >>> {name: round(x[0], 1) for name, x in figures.items()}
        {"Krippendorff's alpha, interval": 0.5, 'ICC of 4 votes': 0.8}
    """
    prompt, unit, item = index_rows(prompt), index_rows(prompt, model), index_rows(item)
    rows, base = np.arange(len(value)), index_rows(model)
    rater, cell = index_rows(base, annotator), index_rows(unit, annotator)
    columns = (unit, item, rater, cell, rows)
    units, images, raters, cells, votes = (int(codes.max()) + 1 for codes in columns)
    # Effects that nearly coincide with the residual or with the prompt are left out.
    sizes = (units, images), (int(base.max()) + 1, raters), (max(units, raters), cells)
    separable = [n * _MIN_RATIO < m < votes / _MIN_RATIO for n, m in sizes]
    levels = list(itertools.compress(columns, [True, *separable]))
    firsts = [np.unique(codes, return_index=True)[1] for codes in (cell, item, rows, unit, rater)]
    full_design = float(np.vdot(*(np.bincount(base[first]) for first in firsts[3:])))
    estimates = estimate_variances(value, base, levels, prompt % _MAX_GROUPS)
    variances = np.zeros((len(estimates), len(EFFECTS)))
    variances[:, [True, *separable, True]] = estimates
    n_annotators, n_images, n_votes = (  # harmonic means
        float(1 / np.mean(1 / np.bincount(unit[first]))) for first in firsts[:3]
    )
    figures = {f"Krippendorff's alpha, {level}": compute_alpha(prompt, item, value, level)}
    if level != "interval":
        counts = np.bincount(item)[item]
        is_complete = counts == np.bincount(counts[counts > 1], minlength=1).argmax()
        if is_complete.any():
            items = index_rows(item[is_complete])
            ratio, influences = compute_disagreement(items, value[is_complete], "nominal")
            figures["Fleiss' kappa"] = _add_interval(1 - ratio, influences, prompt[is_complete])
            ac1, item_values = get_ac1(item, value)
            figures["Gwet's AC1"] = _add_interval(ac1, item_values - ac1, prompt[firsts[1]])
    size = n_annotators, n_images, n_votes
    freedom, is_panel = raters - int(base.max()) - 1, cells >= _MIN_PANEL_SHARE * full_design
    agreement = Agreement({}, {}, variances, size, units, freedom, is_panel, units < cells)
    others: dict[str, Estimate] = {}
    if units < cells:
        mean, single = f"ICC of {n_votes:.3g} votes", "ICC of a vote"
        figures[mean], others[single] = map(agreement.compute_reliability, (size, (1, 1, 1)))
        for key, n in ((mean, size), (single, (1, 1, 1))) if is_panel else ():
            others[f"{key}, strictness counted"] = agreement.compute_reliability(n, strictness=True)
    finite = {name: figure for name, figure in figures.items() if math.isfinite(figure[0])}
    return replace(agreement, figures=finite, others=others)


def compute_alpha(prompt: np.ndarray, item: np.ndarray, value: np.ndarray, level: str) -> Estimate:
    """Return Krippendorff's alpha of votes and its 95% interval; NaN if no image has two votes.

    Args:
        prompt: Prompt of each vote, integers from 0, shape (votes,).
        item: Image of each vote, integers from 0.
        value: Value of each vote, float64.
        level: "nominal", "ordinal" or "interval".

    Example:
        >>> item, value = np.array([0, 0, 1, 1, 2]), np.array([1.0, 1.0, 2.0, 1.0, 2.0])
        >>> round(compute_alpha(item, item, value, "nominal")[0], 4)
        0.0
    """
    is_shared = np.bincount(item)[item] > 1
    if not is_shared.any():
        return math.nan, math.nan, math.nan
    ratio, influences = compute_disagreement(index_rows(item[is_shared]), value[is_shared], level)
    return _add_interval(
        1 - ratio * (len(influences) - 1) / len(influences), influences, prompt[is_shared]
    )


def mirror_choices(item: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return choices between two images in both orders of the images.

    Args:
        item: Pair of images of each choice, integers from 0.
        value: 1 for the first image, -1 for the second, 0 for a tie.

    Example:
        >>> [column.tolist() for column in mirror_choices(np.array([0, 1]), np.array([1, 0]))]
        [[0, 1, 2, 3], [1, 0, -1, 0]]
    """
    return np.append(item, item + item.max(initial=0) + 1), np.append(value, -value)


def _add_interval(value: float, influences: Any, prompt: np.ndarray) -> Estimate:
    """Return a value and its 95% interval, given the influences of votes or images on it."""
    return value, *get_agreement_interval(value, influences, index_rows(prompt), CONFIDENCE)


def estimate_variances(
    value: np.ndarray,
    base: np.ndarray,
    levels: Sequence[np.ndarray],
    group: np.ndarray,
) -> np.ndarray:
    """Estimate the variances of additive effects and of the residual.

    Args:
        value: The values, float64, shape (values,).
        base: Fixed group of each value, whose mean is removed; integers from 0 without gaps.
        levels: For each effect, the level of each value, as integers like `base`; all values of a
            level are in the same fixed group.
        group: Jackknife group of each value, as integers like `base`.

    Returns:
        float64, shape (1 + groups, effects + 1): for all values, then without each group; estimates
        can be negative.

    Example:
        >>> table = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8.0]])
        >>> item, rater = np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)
        >>> variances = estimate_variances(table.ravel(), 0 * item, [item, rater], item)
        >>> variances[0].round(4).tolist()
        [3.1944, 4.5556, 1.5556]
    """
    value = value - value.mean()
    columns, groups = (base, *levels), int(group.max()) + 1
    expected = np.empty((len(columns) + 1, groups + 1, len(columns)))
    squares = np.empty(expected.shape[:2])
    cells = [_index_pairs(codes, group) for codes in columns]
    is_nested = [len(code) == len(np.bincount(code)) for _, code, _ in cells]
    for row, (codes, (cell, code, fold_of_cell)) in enumerate(zip(columns, cells, strict=True)):
        counts = np.bincount(codes)
        remaining = counts[code] - np.bincount(cell)

        def sum_squares(total, rest, n=counts, code=code, fold=fold_of_cell, n_rest=remaining):
            means = np.divide(rest, n_rest, where=n_rest > 0, out=np.zeros(len(n_rest)))
            change = np.bincount(fold, means - (total / n)[code], groups)
            return np.sum(total / n) + np.append(0.0, change)

        total = np.bincount(codes, value)
        squares[row] = sum_squares(total**2, (total[code] - np.bincount(cell, value)) ** 2)
        expected[row, :, -1] = sum_squares(counts, remaining)
        for column, other in enumerate(levels):
            pair, code_of_pair, _ = _index_pairs(codes, other)
            part, pair_of_part = pair, np.arange(len(code_of_pair))
            if not is_nested[row] and not is_nested[column + 1]:
                part, pair_of_part, _ = _index_pairs(pair, group)
            cell_of_part = np.empty(len(pair_of_part), np.int64)
            cell_of_part[part] = cell
            count = np.bincount(pair)
            whole = np.bincount(code_of_pair, count * count)
            rest = count[pair_of_part] - np.bincount(part)
            removed = np.bincount(cell_of_part, count[pair_of_part] ** 2 - rest * rest)
            expected[row, :, column] = sum_squares(whole, whole[code] - removed)
    expected[-1] = len(value) - np.append(0, np.bincount(group))[:, None]
    squares[-1] = value @ value - np.append(0, np.bincount(group, value * value))
    inverse = np.linalg.pinv(np.moveaxis(expected[1:] - expected[0], 0, 1), rcond=1e-12)
    return np.einsum("gij,jg->gi", inverse, squares[1:] - squares[0])


def _index_pairs(codes: np.ndarray, by: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the index of each row's pair of values, and both values of each distinct pair."""
    width = int(by.max()) + 1
    number, keys = pd.factorize(codes * np.int64(width) + by)
    return number, keys // width, keys % width
