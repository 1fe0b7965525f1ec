"""Routing prompts between two models by predicted performance.

Source: the routing use case of PQPP (section 1), and the curve of RouteLLM (arXiv 2406.18665),
which `pqpp_metrics.functional.routing` computes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.target_columns import get_measure, is_mean
from pqpp_files.extras import require_extra
from pqpp_files.figures import ResultTable
from pqpp_metrics.functional import compare_routings, routing_curve, routing_gain
from pqpp_models.bench.protocol import Predictions, predict_all
from pqpp_models.bench.split import Split, replace_fitted_predictors
from pqpp_models.bench.tables import format_name, note_fitted_rows
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor

Floats = NDArray[np.float64]
RANDOM, ORACLE = "random", "oracle"


@dataclass(frozen=True)
class RoutingRow:
    """A row of the routing table.

    Attributes:
        rule: The rule that chooses the prompts for the stronger model.
        predictor: The predictor that the rule uses, or the rule's name if it uses none.
        figures: The output of `routing_gain`; also the `difference` from the best predictor's row
            and its `p_value`, which are None for the best row itself.
        fitted_rows: The number of prompts that the predictor was fitted to; None if unknown.
        stands_for: The predictor that this one replaces.
        fitted_on: The split that the predictor was fitted to, if known.
    """

    rule: str
    predictor: str
    figures: dict[str, Any]
    fitted_rows: int | None = 0
    stands_for: str | None = None
    fitted_on: str | None = None


@dataclass(frozen=True)
class RoutingTable:
    """Routing rules with their figures and quality curves.

    Attributes:
        weak: The target of the weaker model.
        strong: The target of the stronger model.
        means: The mean quality of the weaker and of the stronger model.
        curves: The shares and mean qualities of each rule's curve.
        notes: Notes on predictors that are replaced or unavailable.
    """

    weak: str
    strong: str
    means: tuple[float, float]
    rows: list[RoutingRow]
    curves: dict[str, tuple[Floats, Floats]]
    notes: list[str]

    @property
    def figures(self) -> ResultTable:
        """The rows for display: best gain first, predictors fitted to the prompts last."""
        rows = []
        ranked = sorted(self.rows, key=lambda row: -row.figures["routing_gain"])
        for row in sorted(ranked, key=lambda row: bool(row.fitted_rows)):
            figures = row.figures
            gain = figures["routing_gain"], figures["ci_low"], figures["ci_high"]
            rows.append(
                {
                    "rule": format_name(row.rule, row.fitted_rows),
                    "gain over random [95%]": gain,
                    "of oracle": figures["oracle_share"],
                    "vs. first": figures["difference"],
                    "p": figures["p_value"],
                    "at 25%": figures["qualities"][0],
                    "at 50%": figures["qualities"][1],
                    "share for 80%": figures["share_for_80"],
                }
            )
        return ResultTable("routing", "What each rule gains", list(rows[0]), rows)

    @property
    def description(self) -> str:
        """The caption of the table."""
        unit = get_measure(self.strong)
        return (
            f"{self.weak} mean {self.means[0]:.3f}, {self.strong} mean {self.means[1]:.3f}, "
            f"{self.rows[0].figures['n']} prompts; at 25% and 50%: mean "
            f"{unit.name if unit else 'quality'} if that share of prompts goes to {self.strong}; "
            "vs. first: difference from the first predictor, with the p-value of a paired bootstrap"
        )


def choose_pair(split: Split, targets: Sequence[str]) -> tuple[str, str]:
    """Choose the targets of the weaker and the stronger model.

    Args:
        split: The rows.
        targets: Two targets or more; of several, the first two with the same measure are used.

    Raises:
        PredictorError: The targets contain no such pair.
    """
    of_models = [target for target in targets if not is_mean(target) and target != "alignment"]
    measures = dict.fromkeys(get_measure(model) for model in of_models)
    groups = ([t for t in of_models if get_measure(t) == measure] for measure in measures)
    pair = of_models if len(targets) == 2 else next((g[:2] for g in groups if len(g) > 1), [])
    if len(pair) != 2:
        raise PredictorError(
            f"routing needs two targets such as glide_hbpp and sdxl_hbpp; got {', '.join(targets)}"
        )
    values = np.array([split.rows[name][:] for name in pair], dtype=float)
    totals = values[:, ~np.isnan(values).any(axis=0)].sum(axis=1)  # of prompts with both values
    weak, strong = sorted(pair, key=dict(zip(pair, totals, strict=True)).__getitem__)
    return weak, strong


def run_routing(
    split: Split,
    predictors: Mapping[str, Predictor],
    targets: Sequence[str],
    progress: bool = False,
) -> RoutingTable:
    """Compare rules that route prompts between two models, on rows with values of both.

    Args:
        predictors: Predictors by name; one with the same score for both models sends the hardest
            prompts to the stronger model first.
        targets: As for `choose_pair`.

    Raises:
        PredictorError: The targets are not of two models, or no row has values of both.
    """
    weak, strong = choose_pair(split, targets)
    values = {name: np.array(split.rows[name][:], dtype=float) for name in (weak, strong)}
    complete = np.flatnonzero(~np.isnan(values[weak]) & ~np.isnan(values[strong]))
    if not len(complete):
        raise PredictorError(f"no row has values of both {weak} and {strong}; choose other targets")
    rows = split.rows.select(complete.tolist())
    low, high = values[weak][complete], values[strong][complete]
    replaced = replace_fitted_predictors(predictors, rows, (weak, strong))
    rules = [
        (rule, scores, predictions)
        for predictions in predict_all(replaced.predictors, rows, (weak, strong), progress)
        for rule, scores in _make_rules(predictions, weak, strong)
    ]
    bounds = [
        (rule, scores, Predictions(rule, (), np.empty(0)))
        for rule, scores in ((ORACLE, high - low), (RANDOM, np.zeros(len(low))))
    ]
    rows, curves = [], {}
    for index, (rule, scores, predictions) in enumerate([*rules, *bounds]):
        comparison = compare_routings(scores, rules[0][1], low, high) if index and rules else {}
        compared = {name: comparison.get(name) for name in ("difference", "p_value")}
        figures = routing_gain(scores, low, high, (0.25, 0.5)) | compared
        fitted = None if predictions.fitted is None else int(predictions.fitted.sum())
        name = predictions.predictor
        stands_for = replaced.stands_for.get(name)
        rows.append(RoutingRow(rule, name, figures, fitted, stands_for, predictions.fitted_on))
        curve = routing_curve(scores, low, high)
        curves[rule] = (curve["shares"], curve["qualities"])
    notes = [*replaced.notes, *note_fitted_rows(rows[: len(rules)])]
    return RoutingTable(weak, strong, (float(low.mean()), float(high.mean())), rows, curves, notes)


def _make_rules(predictions: Predictions, weak: str, strong: str) -> Iterator[tuple[str, Floats]]:
    """Yield the name and scores of each rule of a predictor; prompts without text score highest."""

    def fill_missing(scores: Floats) -> Floats:
        known = scores[~np.isnan(scores)]
        return np.nan_to_num(scores, nan=float(known.max()) + 1 if len(known) else 0.0)

    name = predictions.predictor
    columns = dict(zip(predictions.targets, predictions.values.T, strict=True))
    is_pair = predictions.targets == (weak, strong)
    if is_pair and np.array_equal(columns[weak], columns[strong], equal_nan=True):
        sign = 1 if predictions.higher_is == "harder" else -1
        yield f"{name}, harder prompts", fill_missing(sign * columns[weak])
        return
    if weak in columns and strong in columns:
        yield f"{name}, predicted gain", fill_missing(columns[strong] - columns[weak])
    if weak in columns:
        yield f"{name}, low {weak}", fill_missing(-columns[weak])


def plot_routing(table: RoutingTable, path: Any) -> None:
    """Save a plot of quality against the share of the stronger model."""
    with require_extra("a plot", "plots"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    styles: dict[str, Any] = {RANDOM: {"color": "0.5", "linestyle": ":"}}
    styles[ORACLE] = {"color": "0", "linestyle": "--"}
    # Okabe and Ito's colours, which colour-blind people can distinguish.
    colours = iter(["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"] * 9)
    with rc_context({"text.parse_math": False}):  # names may contain dollar signs
        axes = figure.add_subplot()
        for rule, (shares, qualities) in table.curves.items():
            axes.plot(shares, qualities, label=rule, **styles.get(rule) or {"color": next(colours)})
        axes.set(
            xlabel=f"share of prompts that {table.strong.rsplit('_', 1)[0]} gets",
            ylabel=f"mean {getattr(get_measure(table.strong), 'name', 'quality')}",
            xlim=(0, 1),
        )
        axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150, metadata={})
