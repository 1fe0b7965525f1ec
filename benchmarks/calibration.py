"""How often intervals cover and tests err: the QPP measures on data of known kinds.

    python benchmarks/calibration.py --data-dir DATA > benchmarks/calibration.md

Needs PQPP v1.0's validation split in DATA. A cell is a rate over the number of data sets in the
heading. It is bold if Wilson's 95% interval of the rate is outside the target range, and in
brackets if there is no target. The kinds of data, with y as the true values:

- normal: x and y bivariate normal with correlation .5;
- lognormal: the exponentials of these, so a few values are far larger than all others;
- tied: these rounded, to five values each;
- heteroscedastic: the error of y grows with |x|;
- t3: the error of y is Student's t with 3 degrees of freedom, whose square has no variance;
- PQPP: rows of PQPP's validation split drawn with replacement; x is `static`'s mean_hbpp. The true
  value is that of the whole split.

In tests, each predictor is the normal true value plus a shared error plus its own noise, from one
of seven families: normal; lognormal; Student's t with 3 degrees of freedom; growing with |y|; gross
(five times as large in 15% of the queries); or normal, with values that are then skewed (the
exponential of .8 times them) or rounded to integers. Noise has mean 0 and variance 1 before it is
scaled. Like predictors have noise of the same family and size. Of unlike predictors, the first has
normal noise, and the second enough noise to be equally good by the measure; a dash means that no
amount achieves this.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import _influence, qpp_report
from pqpp_metrics.functional._pairs import PairOrder
from pqpp_metrics.functional._studentised import (
    LONG_TAILED,
    get_ends,
    get_mean_interval,
    get_p_value,
    get_rate_interval,
    get_standard_error,
)
from pqpp_metrics.functional._swapped import (
    LEAST_QUERIES,
    OF_SQUARES,
    PredictorComparison,
    explain_missing_p,
    get_rank_p_value,
    has_longer_tails,
    to_common_scale,
)
from pqpp_metrics.functional.qpp_report import OF_RANKS, QPP_MEASURES
from pqpp_metrics.functional.seeds import _combine_spreads, _compute_by_seed, _get_seed_variance

RUNS, LEVEL = 4_000, 0.05
RESAMPLES = 39
KINDS = ("normal", "lognormal", "tied", "heteroscedastic", "t3", "PQPP")
FAMILIES = ("normal", "lognormal", "t3", "growing", "gross", "skewed", "rounded")
SHARED, NOISE = (0.0, 0.3, 0.6), (0.3, 1.0, 2.0)
COVERAGE, LIKE_ERRORS, UNLIKE_ERRORS = (0.92, 0.98), (0.035, 0.065), (0.0, 0.08)
SIZES, MEAN_SIZES = (50, 200, 2_000), (15, 30, 60, 200)

_AT_ONCE = 40_000
"""Numbers of an array: what stays in the cache."""

Sample = tuple[NDArray[np.float64], ...]


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", required=True, help="folder with PQPP v1.0")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--kept", type=Path, default="calibration.jsonl", help="cells of tests")
    parts = {"intervals": print_intervals, "means": print_means, "seeds": print_seeds}
    known = [*parts, "tests"]
    parser.add_argument("--parts", nargs="+", choices=known, default=known)
    parser.add_argument("--kinds", nargs="+", default=KINDS, help="of data: all")
    options = parser.parse_args()
    rows = functools.cache(lambda: read_pqpp(options.data_dir))
    print("# How often intervals cover and tests err\n")
    print("    python benchmarks/calibration.py --data-dir DATA\n")
    print(__doc__.split("\n\n", 2)[2])
    print(f"numpy {version('numpy')}, scipy {version('scipy')}. Seeds: the cell's n.\n")
    for part in (one for one in options.parts if one in parts):
        parts[part](rows, options.runs, options.kinds)
    if "tests" in options.parts:
        print_tests(options.kept, options.runs // 2)
    print("[Measured once](calibration_recorded.md): earlier forms and other intervals.")


def read_pqpp(data_dir: str) -> Sample:
    """What `static` predicts of mean_hbpp on PQPP's validation split, and the truth."""
    from pqpp_datasets.load import load_benchmark
    from pqpp_models import Predictor

    rows = load_benchmark("pqpp-v1.0", data_dir=data_dir)["validation"]
    (x,) = Predictor.from_pretrained("static").predict(rows["prompt"], ["mean_hbpp"]).T
    return x, np.array(rows["mean_hbpp"])


def sample(
    kind: str, shape: tuple[int, int], random: np.random.Generator, rows: Callable[[], Sample]
) -> Sample:
    """Return predictions and true values of a kind, (runs, n) each."""
    if kind == "PQPP":
        x, y = rows()
        drawn = random.integers(0, len(y), shape)
        return x[drawn], y[drawn]
    x, noise = random.standard_normal((2, *shape))
    if kind == "t3":
        return x, x + random.standard_t(3, shape)
    y = 0.5 * x + np.sqrt(0.75) * noise
    if kind == "lognormal":
        return np.exp(x), np.exp(y)
    if kind == "tied":
        return np.clip(x.round(), -2, 2), np.clip(y.round(), -2, 2)
    return x, x + 1.5 * np.abs(x) * noise if kind == "heteroscedastic" else y


def compute_true(kind: str, rows: Callable[[], Sample]) -> dict[str, float]:
    """The measures of the whole population; of a kind without closed form, of 2 million pairs."""
    if kind == "PQPP":
        return _values(*rows())
    random = np.random.default_rng(0)
    parts = [
        _values(*(side[0] for side in sample(kind, (1, 100_000), random, rows))) for _ in range(20)
    ]
    values = {name: float(np.mean([part[name] for part in parts])) for name in QPP_MEASURES}
    ranks = {"kendall": 1 / 3, "spearman": 6 / np.pi * np.arcsin(0.25)}
    mean = np.exp(0.5)
    known: dict[str, dict[str, float]] = {
        "normal": ranks | {"pearson": 0.5, "rmse": 1.0},
        "lognormal": ranks
        | {"pearson": (mean - 1) / (np.e - 1), "rmse": np.sqrt(2 * np.e**2 - 2 * np.e * mean)},
        "heteroscedastic": {"pearson": 1 / np.sqrt(3.25), "rmse": 1.5},
        "t3": {"pearson": 0.5, "rmse": np.sqrt(3)},
    }
    return values | known.get(kind, {})


def _values(x, y) -> dict[str, float]:
    report = qpp_report(x, y, interval="none")
    return {name: report[one.__name__][one.__name__] for name, one in QPP_MEASURES.items()}


def print_intervals(rows: Callable[[], Sample], runs: int, kinds: Sequence[str]) -> None:
    """Print the coverage of nominal 95% intervals of the measures."""
    low, high = (f"{100 * end:.0f}" for end in COVERAGE)
    print(f"## Coverage of 95% intervals, in %, {runs:,} runs, aimed at {low} to {high}\n")
    _print_head("data", "n", *QPP_MEASURES)
    for kind in (one for one in KINDS if one in kinds):
        true = compute_true(kind, rows)
        for n in SIZES:
            found = check_coverage(kind, n, true, rows, runs)
            cells = [show(found[name].sum(), len(found[name]), COVERAGE) for name in QPP_MEASURES]
            print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)
    print()


def _print_head(*names: str) -> None:
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|", flush=True)


def _chunks(runs: int, size: int) -> Iterator[int]:
    """How many runs are computed at once, `size` numbers each."""
    step = max(1, _AT_ONCE // size)
    return (min(step, runs - start) for start in range(0, runs, step))


def check_coverage(kind, n, true, rows, runs) -> dict[str, NDArray[np.bool_]]:
    """Whether each run's interval holds the true value, by measure."""
    random, hits = np.random.default_rng(n), []
    for count in _chunks(runs, n):
        x, y = sample(kind, (count, n), random, rows)
        orders = PairOrder(x), PairOrder(y)
        agree = np.stack(
            [
                _influence.sum_agreements(PairOrder(a), PairOrder(b))
                for a, b in zip(x, y, strict=True)
            ]
        )
        measured = {
            "pearson": _influence.compute_pearson(x, y),
            "spearman": _influence.compute_spearman(*orders),
            "kendall": _influence.compute_kendall(agree, *orders),
            "smare": _influence.compute_smare(*orders),
            "rmse": _influence.compute_rmse(x - y),
        }
        chunk = {}
        for name, (value, influences) in measured.items():
            truth = true[name] if name in ("smare", "rmse") else np.arctanh(true[name])
            weight = LONG_TAILED if name == "rmse" else 0
            below, above = get_ends(influences, 1 - LEVEL, weight)
            chunk[name] = (value - below <= truth) & (truth <= value + above)
        hits.append(chunk)
    return {name: np.concatenate([chunk[name] for chunk in hits]) for name in QPP_MEASURES}


def show(count: int, total: int, band: tuple[float, float], is_judged: bool = True) -> str:
    """A rate in %, bold where its interval by Wilson misses the band, in brackets if not judged."""
    low, high = get_rate_interval(count, total, 0.95)
    text = f"{100 * count / total:.1f}"
    if not is_judged:
        return f"({text})"
    return text if low <= band[1] and high >= band[0] else f"**{text}**"


def _draw_reciprocal_ranks(random, shape):
    rank = random.geometric(0.35, shape)
    rank = np.where(random.random(shape) < 0.3, random.integers(5, 60, shape), rank)
    return np.where(random.random(shape) < 0.08, 0.0, 1 / rank)


MEANS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "t3": lambda random, shape: random.standard_t(3, shape),
    "P@10": lambda random, shape: random.binomial(10, random.beta(1, 1.5, shape)) / 10,
    "low P@10": lambda random, shape: random.binomial(10, random.beta(0.4, 3, shape)) / 10,
    "RR": _draw_reciprocal_ranks,
    "low RR": lambda random, shape: 1 / random.integers(1, 40, shape),
    "average precision": lambda random, shape: random.beta(0.5, 2, shape),
    "hits of .5": lambda random, shape: 1.0 * (random.random(shape) < 0.5),
    "hits of .8": lambda random, shape: 1.0 * (random.random(shape) < 0.8),
    "hits of .95": lambda random, shape: 1.0 * (random.random(shape) < 0.95),
}
"""Values whose mean is sought, by what they are like."""


def print_means(rows: Callable[[], Sample], runs: int, kinds: Sequence[str]) -> None:
    """Print the coverage of `mean_intervals`."""
    low, high = (f"{100 * end:.0f}" for end in COVERAGE)
    print(f"## Coverage of `mean_intervals`, in %, {runs:,} runs, aimed at {low} to {high}\n")
    _print_head("values", *(f"n = {n}" for n in MEAN_SIZES))
    for kind, draw in MEANS.items():
        true = draw(np.random.default_rng(0), 20_000_000).mean()
        true = {"normal": 0.0, "t3": 0.0}.get(kind, true)
        cells = []
        for n in MEAN_SIZES:
            values = draw(np.random.default_rng(n), (runs, n))
            intervals = [get_mean_interval(row, 0.95) for row in values]
            hits = np.array([low <= true <= high for low, high in intervals])
            cells.append(show(hits.sum(), len(hits), COVERAGE))
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    print()


Setting = tuple[float, float, str, str]
"""The size of the shared error and of the noise, and both families."""


def draw_predictions(family: str, y, shared, size: float, random: np.random.Generator):
    """What a predictor says of y, with an error that it shares and noise of its own."""
    normal = random.standard_normal(y.shape)
    noise = {
        "lognormal": lambda: (np.exp(normal) - math.sqrt(math.e)) / math.sqrt(math.e**2 - math.e),
        "t3": lambda: random.standard_t(3, y.shape) / math.sqrt(3),
        "growing": lambda: np.abs(y) * normal,
        "gross": lambda: np.where(random.random(y.shape) < 0.15, 5, 1) * normal / math.sqrt(4.6),
    }.get(family, lambda: normal)()
    x = y + shared + size * noise
    return {"skewed": lambda: np.exp(0.8 * x), "rounded": x.round}.get(family, lambda: x)()


def draw_two(setting: Setting, shape: tuple[int, int], random, amount: float) -> Sample:
    """Return predictions of both, the other's with noise of `amount`, and true values."""
    shared_size, size, family, other_family = setting
    y, shared = random.standard_normal((2, *shape))
    x = draw_predictions(family, y, shared_size * shared, size, random)
    return x, draw_predictions(other_family, y, shared_size * shared, amount, random), y


@functools.cache
def find_amount(setting: Setting, name: str) -> float:
    """The amount of the other's noise that makes both equal by a measure; NaN if none does."""
    _, size, family, other_family = setting
    if family == other_family or (name in ("pearson", "rmse") and other_family in FAMILIES[:5]):
        return size  # these depend on the variance alone

    def difference(amount: float) -> float:
        drawn = draw_two(setting, (1, 100_000), np.random.default_rng(0), amount)
        x, other, y = (side[0] for side in drawn)
        one, another = (QPP_MEASURES[name](side, y, interval="none") for side in (x, other))
        return one.statistic - another.statistic

    low, high = 0.02, 8.0
    at_low = difference(low)
    if at_low * difference(high) > 0:
        return math.nan
    for _ in range(11):
        middle = (low + high) / 2
        low, high = (middle, high) if difference(middle) * at_low > 0 else (low, middle)
    return (low + high) / 2


def list_test_cells() -> Iterator[tuple[Setting, str, int, int]]:
    """A setting, a measure, n and every how many-th of the runs.

    Each pair of families by each measure and n once, with the sizes of the shared error and of the
    noise in turn; at n = 20 of the measures of ranks, from n = 200 on of the others, and at
    n = 1,000 a fifth of the runs of a few pairs.
    """
    pairs = [(one, other) for other in FAMILIES for one in dict.fromkeys(("normal", other))]
    sizes = itertools.cycle(itertools.product(SHARED, NOISE))
    for n, fraction in {20: 1, 50: 1, 100: 1, 200: 1, 1_000: 5}.items():
        for one, other in pairs if n < 1_000 else pairs[:3]:
            for name in QPP_MEASURES:
                if (n >= 50 or name in OF_RANKS) and (n < 200 or name not in OF_RANKS):
                    yield (*next(sizes), one, other), name, n, fraction
    for n in (50, 100):  # the pair that a test for Pearson's r told apart most often
        yield (0.6, 1.0, "normal", "lognormal"), "pearson", n, 1


def count_rejections(setting: Setting, name: str, n: int, runs: int, amount: float) -> list[int]:
    """The number of runs, how many have no p-value, and how many tell both apart."""
    random, swapping, found = np.random.default_rng([n, 1]), np.random.default_rng(0), []
    for count in _chunks(runs, n * (RESAMPLES + 1)):
        x, other, y = draw_two(setting, (count, n), random, amount)
        swaps = swapping.random((count, RESAMPLES + 1, n)) < 0.5
        swaps[:, 0] = True
        sides = to_common_scale(name, x, other)
        tails = PredictorComparison.from_swaps(name, swaps, *sides, y).get_p_values()
        has_none = np.zeros(count, bool)
        if name in OF_SQUARES:
            has_none = has_longer_tails(name, *sides, y)
        rejects = np.array([get_rank_p_value(row) <= LEVEL for row in tails])
        found.append([count, has_none.sum(), (rejects & ~has_none).sum()])
    return np.sum(found, axis=0).tolist()


def print_tests(kept: Path, runs: int) -> None:
    """Print how often `paired_permutation` tells two apart; known cells are read from `kept`."""
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    known = {tuple(key): counts for key, counts in map(json.loads, lines)}

    print(f"""## False positives of `paired_permutation` at the level of 5%, {runs:,} runs

With {RESAMPLES} swaps; a fifth of the runs at n = 1,000. Cells alternate shared errors of 0, .3 and
.6 and noise of .3, 1 and 2. In % of the runs with a p-value; after the slash: the % of all runs
without one because of the errors' tails. Pearson's r, Spearman's and the RMSE have none below
{LEAST_QUERIES} queries; brackets show what the tails alone would give. Target: 3.5 to 6.5 for like
predictors; for unlike ones, at most 8.0 from n = 50.
""")
    _print_head("families", "n", *QPP_MEASURES)
    rows: dict[tuple[str, int], dict[str, str]] = {}
    for setting, name, n, fraction in list_test_cells():
        key = (*setting, name, n, runs // fraction)
        if key not in known:
            amount = find_amount(setting, name)
            is_none = math.isnan(amount)
            known[key] = [0] * 3 if is_none else count_rejections(setting, name, n, key[-1], amount)
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, known[key]]) + "\n")
        total, without, rejected = known[key]
        label = " / ".join(setting[2:])
        if name in rows.get((label, n), ()):
            label += f", {setting[0]:g}, {setting[1]:g}"
        text, is_like = "–", setting[2] == setting[3]
        if total > without:
            aim = LIKE_ERRORS if is_like else UNLIKE_ERRORS
            has_any = n >= LEAST_QUERIES or name not in OF_SQUARES
            text = show(rejected, total - without, aim, has_any and (is_like or n >= 50))
            text += f" / {100 * without / total:.0f}" if without else ""
        rows.setdefault((label, n), {})[name] = text
    for (label, n), cells in rows.items():
        print(f"| {label} | {n} | " + " | ".join(cells.get(x, "") for x in QPP_MEASURES) + " |")
    print()


SEEDS = {
    "seeds alike": (1.0, 0.5, 0.0, "normal"),
    "queries by seeds": (0.3, 1.0, 0.0, "normal"),
    "seeds differ a little": (1.0, 0.5, 0.1, "normal"),
    "unlike ways": (1.0, 0.5, 0.0, "lognormal"),
    "seeds differ": (0.5, 0.5, 0.3, "normal"),
}
"""A way's noise: its own and each seed's, how much the amounts of seeds differ, in logs, and the
family of the other way's noise."""


def compare_seed_tests(
    kind: str, name: str, n: int, seeds: int, runs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whether equally good ways are told apart over queries and seeds, and over queries alone.

    Over both it is NaN where `paired_seeds` has no p-value.
    """
    own, of_seed, differ, family = SEEDS[kind]
    random, nothing, found = np.random.default_rng(n), np.zeros((n, seeds)), []
    for _ in range(runs):
        y, sides = random.standard_normal(n), []
        for of_way in ("normal", family):
            noise = draw_predictions(of_way, nothing[:, :1], 0.0, own, random)
            noise = noise + draw_predictions(of_way, nothing, 0.0, of_seed, random)
            sides.append(y[:, None] + np.exp(differ * random.standard_normal(seeds)) * noise)
        measured = [_compute_by_seed(name, side.T, y, 0.0) for side in sides]
        (values, influences), (others, theirs) = measured
        of_difference = influences.mean(axis=0) - theirs.mean(axis=0)
        queries = get_standard_error(of_difference)
        whole, _ = _combine_spreads(queries, [_get_seed_variance(*side) for side in measured])
        difference = values.mean() - others.mean()
        told = [float(get_p_value(difference, of, weight=0) <= LEVEL) for of in (whole, queries)]
        if explain_missing_p(name, sides[0].T[:, None], sides[1].T[None], y, of_difference):
            told[0] = math.nan
        found.append(told)
    both, over_queries = np.array(found).T
    return both, over_queries


def print_seeds(rows: Callable[[], Sample], runs: int, kinds: Sequence[str]) -> None:
    """Print how often `paired_seeds` tells equally good ways to train apart."""
    runs = max(1, runs // 4)
    print(f"""## False positives of `paired_seeds` at the level of 5%, {runs:,} runs

In % of the runs with a p-value. After the slash: all runs, by the same test over queries alone,
which treats the seeds as all there are; in brackets: the % without a p-value. Unlike ways have
normal and lognormal noise. Target: at most {100 * LIKE_ERRORS[1]:.1f}.
""")
    _print_head("seeds", "n", *(f"{name}, {seeds} seeds" for name, seeds in SEED_CELLS))
    for kind in SEEDS:
        for n in (LEAST_QUERIES, 200):
            cells = []
            for name, seeds in SEED_CELLS:
                if name == "kendall" and kind == "unlike ways":
                    cells.append("–")  # of equal variance, and so not equally good
                    continue
                both, queries = compare_seed_tests(kind, name, n, seeds, runs)
                known = both[~np.isnan(both)]
                told = show(int(known.sum()), len(known), (0.0, LIKE_ERRORS[1]))
                without = f" ({100 - 100 * len(known) / runs:.0f})" if len(known) < runs else ""
                cells.append(f"{told} / {100 * queries.mean():.1f}{without}")
            print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)
    print()


SEED_CELLS = (("pearson", 3), ("pearson", 5), ("rmse", 5), ("kendall", 5))


if __name__ == "__main__":
    main()
