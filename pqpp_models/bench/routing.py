"""What predictors are worth to a router: quality against the share of the stronger model.

Source: the second use of PQPP (section 1), choosing the generator; the curve of RouteLLM
(arXiv 2406.18665). The arithmetic is `pqpp_metrics.functional.routing`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.target_columns import is_mean, measure_of
from pqpp_files.extras import needing
from pqpp_files.figures import Figures
from pqpp_metrics.functional import compare_routings, routing_curve, routing_gain
from pqpp_models.bench.held_out import fitted_notes, held_out_builds, marked
from pqpp_models.bench.protocol import Predictions, predict_all
from pqpp_models.bench.split import Split
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor

Floats = NDArray[np.float64]
RANDOM, ORACLE = "random", "oracle"
SHARES = (0.25, 0.5)


@dataclass(frozen=True)
class Routing:
    """A row of the table.

    Attributes:
        rule: By what prompts are sent to the stronger model.
        predictor: Whose predictions the rule takes; the rule's own name where it takes none.
        gain: Area over random routing, in units of the targets; `ci_low` and `ci_high` at 95 %.
        oracle_share: Of what an oracle gains.
        better: The gain less that of the first row of the predictors; None for that row.
        p_value: Of that difference, by a paired bootstrap.
        at_25: Mean quality where a quarter goes to the stronger model.
        at_50: The same for half.
        share_for_80: The least share that brings 80 % of what it gains for all.
        n: Prompts.
        fitted_rows: To how many of them the predictor was fitted; None where that is not recorded.
        stands_for: The release that a build was taken for.
        fitted_on: The split that the predictor was fitted on, where that is told.
    """

    rule: str
    predictor: str
    gain: float
    ci_low: float
    ci_high: float
    oracle_share: float
    better: float | None
    p_value: float | None
    at_25: float
    at_50: float
    share_for_80: float
    n: int
    fitted_rows: int | None = 0
    stands_for: str | None = None
    fitted_on: str | None = None

    @property
    def shown(self) -> str:
        """The rule, with a mark where the predictor was fitted to some of the prompts."""
        return marked(self.rule, self.fitted_rows)


@dataclass(frozen=True)
class RoutingTable:
    """The rows, and the curves that they come from.

    Attributes:
        weak: The target of the weaker model.
        strong: The target of the stronger one.
        means: Of the two.
        rows: The table.
        curves: Rule to shares and mean qualities.
        notes: Lines on builds that were taken, or could not be had.
    """

    weak: str
    strong: str
    means: tuple[float, float]
    rows: list[Routing]
    curves: dict[str, tuple[Floats, Floats]]
    notes: list[str]

    @property
    def figures(self) -> Figures:
        """The rows for people: the best gain first, what was fitted to the prompts last."""
        rows = [
            {
                "rule": row.shown,
                "gain over random [95 %]": (row.gain, row.ci_low, row.ci_high),
                "of oracle": row.oracle_share,
                "- first": row.better,
                "p": row.p_value,
                "at 25 %": row.at_25,
                "at 50 %": row.at_50,
                "share for 80 %": row.share_for_80,
            }
            for row in sorted(self.rows, key=lambda row: (bool(row.fitted_rows), -row.gain))
        ]
        return Figures("routing", "What each rule gains", list(rows[0]), rows)

    @property
    def in_words(self) -> str:
        """What the figures are of."""
        unit = measure_of(self.strong)
        return (
            f"{self.weak} mean {self.means[0]:.3f}, {self.strong} mean {self.means[1]:.3f}, "
            f"{self.rows[0].n} prompts; at 25 and 50 % stands the mean "
            f"{unit.name if unit else 'quality'} where that share goes to {self.strong}; p by "
            "paired bootstrap against the table's first predictor"
        )


def pair_of(split: Split, targets: Sequence[str]) -> tuple[str, str]:
    """Return the targets of the weaker and the stronger of two models.

    Args:
        split: The rows.
        targets: Two targets; of more the first two models of one measure are taken.

    Raises:
        PredictorError: There are no two.
    """
    of_models = [target for target in targets if not is_mean(target) and target != "alignment"]
    measures = dict.fromkeys(measure_of(model) for model in of_models)
    groups = ([t for t in of_models if measure_of(t) == measure] for measure in measures)
    pair = of_models if len(targets) == 2 else next((g[:2] for g in groups if len(g) > 1), [])
    if len(pair) != 2:
        raise PredictorError(
            f"routing needs two models, there are {', '.join(targets)}; name two targets"
        )
    means = {name: np.nanmean(np.array(split.rows[name][:], dtype=float)) for name in pair}
    weak, strong = sorted(pair, key=means.__getitem__)
    return weak, strong


def run_routing(
    split: Split,
    predictors: Mapping[str, Predictor],
    targets: Sequence[str],
    progress: bool = False,
) -> RoutingTable:
    """Compare routings of prompts between two models, on rows where both were judged.

    Args:
        split: The rows.
        predictors: Name to predictor; one that predicts a single score routes by how hard it says
            that prompts are.
        targets: As for `pair_of`.
        progress: Show a bar on standard error.

    Raises:
        PredictorError: There are no two models, or none of the rows has both.
    """
    weak, strong = pair_of(split, targets)
    values = {name: np.array(split.rows[name][:], dtype=float) for name in (weak, strong)}
    kept = np.flatnonzero(~np.isnan(values[weak]) & ~np.isnan(values[strong]))
    if not len(kept):
        raise PredictorError(f"no row has both {weak} and {strong}; name other targets")
    rows = split.rows.select(kept.tolist())
    low, high = values[weak][kept], values[strong][kept]
    builds = held_out_builds(predictors, rows, (weak, strong))
    rules = [
        (predictions, rule, scores)
        for predictions in predict_all(builds.predictors, rows, (weak, strong), progress)
        for rule, scores in _rules(predictions, weak, strong)
    ]
    first = rules[0][2] if rules else None
    routings = [
        _row(rule, scores, low, high, first if place else None, predictions, builds.stands_for)
        for place, (predictions, rule, scores) in enumerate(rules)
    ]
    notes = [*builds.notes, *fitted_notes(routings)]
    bounds = {ORACLE: high - low, RANDOM: np.zeros(len(low))}
    routings += [_row(rule, scores, low, high, first) for rule, scores in bounds.items()]
    curves = {}
    for rule, scores in [*((rule, scores) for _, rule, scores in rules), *bounds.items()]:
        curve = routing_curve(scores, low, high)
        curves[rule] = (curve["shares"], curve["qualities"])
    means = (float(low.mean()), float(high.mean()))
    return RoutingTable(weak, strong, means, routings, curves, notes)


def _rules(said: Predictions, weak: str, strong: str) -> Iterator[tuple[str, Floats]]:
    """Give the rules that a predictor's answers allow, with each prompt's need of the strong one.

    A prompt without a prediction, a blank one, goes to the strong model.
    """
    columns = {name: said.values[:, at] for at, name in enumerate(said.targets)}
    if said.targets == (weak, strong) and np.array_equal(
        columns[weak], columns[strong], equal_nan=True
    ):
        sign = 1 if said.higher == "harder" else -1
        yield f"{said.predictor}, harder prompts", _filled(sign * columns[weak])
        return
    if weak in columns and strong in columns:
        yield f"{said.predictor}, predicted gain", _filled(columns[strong] - columns[weak])
    if weak in columns:
        yield f"{said.predictor}, low {weak}", _filled(-columns[weak])


def _filled(scores: Floats) -> Floats:
    known = scores[~np.isnan(scores)]
    return np.nan_to_num(scores, nan=float(known.max()) + 1 if len(known) else 0.0)


def _row(
    rule: str,
    scores: Floats,
    weak: Floats,
    strong: Floats,
    first: Floats | None,
    said: Predictions | None = None,
    stands_for: Mapping[str, str] = MappingProxyType({}),
) -> Routing:
    gain = routing_gain(scores, weak, strong, SHARES)
    other = compare_routings(scores, first, weak, strong) if first is not None else {}
    record: dict[str, Any] = {}
    if said is not None:
        fitted = None if said.fitted is None else int(said.fitted.sum())
        record = {"fitted_rows": fitted, "fitted_on": said.fitted_on}
        record["stands_for"] = stands_for.get(said.predictor)
    return Routing(
        rule,
        said.predictor if said else rule,
        *(gain[name] for name in ("routing_gain", "ci_low", "ci_high", "oracle_share")),
        *(other.get(name) for name in ("difference", "p_value")),
        *gain["qualities"],
        *(gain[name] for name in ("share_for_80", "n")),
        **record,
    )


def plot_routing(table: RoutingTable, path: Any) -> None:
    """Draw quality against the share of the stronger model, a line a rule, into an image file."""
    with needing("a plot", "plots"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    styles: dict[str, dict[str, Any]]
    styles = {RANDOM: {"color": "0.5", "linestyle": ":"}, ORACLE: {"color": "0", "linestyle": "--"}}
    # Okabe and Ito's colours, which the colour-blind tell apart.
    colours = iter(["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"] * 9)
    for rule, (shares, qualities) in table.curves.items():
        axes.plot(shares, qualities, label=rule, **styles.get(rule) or {"color": next(colours)})
    axes.set(
        xlabel=f"share of prompts that {table.strong.rsplit('_', 1)[0]} gets",
        ylabel=f"mean {getattr(measure_of(table.strong), 'name', 'quality')}",
        xlim=(0, 1),
    )
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150, metadata={})
