"""How often intervals cover and tests err: the QPP measures on data of known kinds.

    python benchmarks/calibration.py --data-dir DATA > benchmarks/calibration.md

Needs PQPP v1.0's validation split in DATA. A cell is a rate over as many data sets as its heading
says; it is bold where Wilson's 95 % interval of that rate lies outside of what is aimed at, and in
brackets where nothing is. The kinds, each with y for the truth:

- normal: x and y bivariate normal with correlation .5;
- lognormal: the exponentials of these, so a few values are far larger than all others;
- tied: these rounded, to five values each;
- heteroscedastic: the error of y grows with |x|;
- t3: the error of y is Student's t with 3 degrees of freedom, whose square has no variance;
- PQPP: rows of PQPP's validation split drawn with replacement, x what `static` predicts of
  mean_hbpp. The true value is that of the whole split.

For tests both predictors are equally good: the truth (for PQPP: the prediction) with noise of the
same kind. Of the unlike pairs the first predictor is the truth with as much normal noise, and the
other is as good by the measure of the column, by other means: with lognormal noise; noise of
Student's t with 3 degrees of freedom; noise that grows with |y|; noise that is five times as large
in 15 % of the queries (gross errors); skewed values; or, of PQPP, a mixture of what `static`
predicts of mean_p10 with the truth. A dash stands where none is as good.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import _influence, qpp_report
from pqpp_metrics.functional._pairs import PairOrder
from pqpp_metrics.functional._studentised import (
    LARGE_SHARE,
    LONG_TAILED,
    ends,
    mean_interval,
    rate_interval,
    spread_of,
    two_tails,
)
from pqpp_metrics.functional._swapped import ComparedPredictors, prepared, share_as_small
from pqpp_metrics.functional.qpp_report import QPP_MEASURES
from pqpp_metrics.functional.seeds import _of_draws, _of_seeds, _together

RUNS, LEVEL = 4_000, 0.05
RESAMPLES = 39
KINDS = ("normal", "lognormal", "tied", "heteroscedastic", "t3", "PQPP")
UNLIKE = ("lognormal noise", "t3 noise", "growing noise", "gross errors", "skewed", "PQPP, unlike")
COVERAGE, LIKE_ERRORS, UNLIKE_ERRORS = (0.92, 0.98), (0.035, 0.065), (0.0, 0.08)
FREE = ("rmse",)
"""Measures without a limit for unlike pairs: where one has long tails, no test told them well."""

SIZES, TEST_SIZES, MEAN_SIZES = (50, 200, 2_000), (20, 50, 200), (15, 30, 60, 200)

_AT_ONCE = 40_000
"""Numbers of an array: what stays in the cache."""

Sample = tuple[NDArray[np.float64], ...]


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", required=True, help="folder with PQPP v1.0")
    parser.add_argument("--runs", type=int, default=RUNS)
    parts = {"intervals": print_intervals, "means": print_means, "tests": print_tests}
    parts |= {"power": print_power, "seeds": print_seeds}
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, *UNLIKE], help="of data: all")
    options = parser.parse_args()
    rows = functools.cache(lambda: pqpp_rows(options.data_dir))
    print("# How often intervals cover and tests err\n")
    print("    python benchmarks/calibration.py --data-dir DATA\n")
    print(__doc__.split("\n\n", 2)[2])
    print(f"numpy {version('numpy')}, scipy {version('scipy')}. Seeds: the cell's n.\n")
    for part in options.parts:
        parts[part](rows, options.runs, options.kinds)
    print("[Measured once](calibration_recorded.md): earlier forms and other intervals.")


def pqpp_rows(data_dir: str) -> Sample:
    """What `static` says of mean_hbpp on PQPP's validation split, what of mean_p10, and the truth.

    The second is brought to the mean and spread of the first.
    """
    from pqpp_datasets.load import load_benchmark
    from pqpp_models import Predictor

    rows = load_benchmark("pqpp-v1.0", data_dir=data_dir)["validation"]
    targets = ["mean_hbpp", "mean_p10"]
    x, other = Predictor.from_pretrained("static").predict(rows["prompt"], targets).T
    other = (other - other.mean()) / other.std() * x.std() + x.mean()
    return x, other, np.array(rows["mean_hbpp"])


def pair(
    kind: str, shape: tuple[int, int], random: np.random.Generator, rows: Callable[[], Sample]
) -> Sample:
    """Return predictions and true values of a kind, (runs, n) each."""
    if kind == "PQPP":
        x, _, y = rows()
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


def true_values(kind: str, rows: Callable[[], Sample]) -> dict[str, float]:
    """The measures of the whole population; of a kind without closed form, of 2 million pairs."""
    if kind == "PQPP":
        return _values(rows()[0], rows()[2])
    random = np.random.default_rng(0)
    parts = [
        _values(*(side[0] for side in pair(kind, (1, 100_000), random, rows))) for _ in range(20)
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
    """Print the coverage of nominal 95 % intervals of the measures."""
    low, high = (f"{100 * end:.0f}" for end in COVERAGE)
    print(f"## Coverage of 95 % intervals, in %, {runs:,} runs, aimed at {low} to {high}\n")
    _print_head("data", "n", *QPP_MEASURES)
    for kind in (one for one in KINDS if one in kinds):
        true = true_values(kind, rows)
        for n in SIZES:
            found = covered(kind, n, true, rows, runs)
            cells = [cell(found[name], COVERAGE) for name in QPP_MEASURES]
            print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)
    print()


def _print_head(*names: str) -> None:
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|", flush=True)


def _chunks(runs: int, size: int) -> Iterator[int]:
    """How many runs are computed at once, `size` numbers each."""
    step = max(1, _AT_ONCE // size)
    return (min(step, runs - start) for start in range(0, runs, step))


def covered(kind, n, true, rows, runs) -> dict[str, NDArray[np.bool_]]:
    """Whether each run's interval holds the true value, by measure."""
    random, hits = np.random.default_rng(n), []
    for count in _chunks(runs, n):
        x, y = pair(kind, (count, n), random, rows)
        orders = PairOrder(x), PairOrder(y)
        agree = np.stack(
            [
                _influence.order_agreements(PairOrder(a), PairOrder(b))
                for a, b in zip(x, y, strict=True)
            ]
        )
        measured = {
            "pearson": _influence.of_pearson(x, y),
            "spearman": _influence.of_spearman(*orders),
            "kendall": _influence.of_kendall(agree, *orders),
            "smare": _influence.of_smare(*orders),
            "rmse": _influence.of_rmse(x - y),
        }
        chunk = {}
        for name, (value, influences) in measured.items():
            truth = true[name] if name in ("smare", "rmse") else np.arctanh(true[name])
            weight = LONG_TAILED if name == "rmse" else 0
            below, above = ends(LEVEL, spread_of(influences), weight)
            chunk[name] = (value - below <= truth) & (truth <= value + above)
        hits.append(chunk)
    return {name: np.concatenate([chunk[name] for chunk in hits]) for name in QPP_MEASURES}


def cell(hits: NDArray[np.bool_], band: tuple[float, float], is_judged: bool = True) -> str:
    """A rate in %, bold where its interval by Wilson misses the band, in brackets if not judged."""
    count = int(hits.sum())
    low, high = rate_interval(count, len(hits), 0.95)
    text = f"{100 * count / len(hits):.1f}"
    if not is_judged:
        return f"({text})"
    return text if low <= band[1] and high >= band[0] else f"**{text}**"


def _reciprocal_ranks(random, shape):
    rank = random.geometric(0.35, shape)
    rank = np.where(random.random(shape) < 0.3, random.integers(5, 60, shape), rank)
    return np.where(random.random(shape) < 0.08, 0.0, 1 / rank)


MEANS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "t3": lambda random, shape: random.standard_t(3, shape),
    "P@10": lambda random, shape: random.binomial(10, random.beta(1, 1.5, shape)) / 10,
    "low P@10": lambda random, shape: random.binomial(10, random.beta(0.4, 3, shape)) / 10,
    "RR": _reciprocal_ranks,
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
            intervals = [mean_interval(row, 0.95) for row in values]
            hits = np.array([low <= true <= high for low, high in intervals])
            cells.append(cell(hits, COVERAGE))
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    print()


def noise(kind: str, y: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Noise of a kind, of mean 0 (that of t3 and growing noise: of median 0) and the shape of y."""
    normal = random.standard_normal(y.shape)
    if kind.startswith("lognormal"):
        return np.exp(normal) - math.exp(0.5)
    if kind.startswith("t3"):
        return random.standard_t(3, y.shape)
    if kind in ("growing noise", "heteroscedastic"):
        return np.abs(y) * normal
    if kind == "gross errors":
        return np.where(random.random(y.shape) < 0.15, 5.0, 1.0) * normal
    return normal


def two_predictors(
    kind: str, shape: tuple[int, int], random, rows, amount: float = 1.0, first: float = 1.0
) -> Sample:
    """Return predictions of each of two predictors, and true values, (runs, n) each.

    Args:
        amount: Of the other predictor's noise, by which unlike predictors are equally good.
        first: Of the first predictor's noise.
    """
    if kind.startswith("PQPP"):
        one, another, true = rows()
        drawn = random.integers(0, len(true), shape)
        x, other, y = one[drawn], another[drawn], true[drawn]
        if kind == "PQPP, unlike":
            return x, (1 - amount) * other + amount * y, y
        noises = random.standard_normal((2, *shape)) * one.std()
        return x + first * noises[0], x + amount * noises[1], y
    y = random.standard_normal(shape)
    if kind == "skewed":
        x = y + first * random.standard_normal(shape)
        return x, np.exp(0.8 * y + amount * random.standard_normal(shape)), y
    own = noise("normal" if kind in UNLIKE else kind, y, random)
    if kind == "lognormal":
        own, other = random.standard_normal((2, *shape))
        return np.exp(y + first * own), np.exp(y + amount * other), np.exp(y)
    three = y + first * own, y + amount * noise(kind, y, random), y
    return tuple(values.round() for values in three) if kind == "tied" else three


def equal_amount(kind: str, name: str, rows) -> float:
    """The amount that makes unlike predictors equal by a measure; NaN if none does."""
    if kind not in UNLIKE:
        return 1.0
    low, high = (0.0, 1.0) if kind == "PQPP, unlike" else (0.05, 6.0)
    measure = QPP_MEASURES[name]

    def difference(amount: float) -> float:
        if kind == "PQPP, unlike":  # the whole split, no draw
            x, other, y = rows()
            other = (1 - amount) * other + amount * y
        else:
            random = np.random.default_rng(0)
            drawn = two_predictors(kind, (1, 100_000), random, rows, amount)
            x, other, y = (side[0] for side in drawn)
        values = [measure(side, y, interval="none")[measure.__name__] for side in (x, other)]
        return values[0] - values[1]

    at_low = difference(low)
    if at_low * difference(high) > 0:
        return math.nan
    for _ in range(13):
        middle = (low + high) / 2
        low, high = (middle, high) if difference(middle) * at_low > 0 else (low, middle)
    return (low + high) / 2


def print_tests(rows: Callable[[], Sample], runs: int, kinds: Sequence[str]) -> None:
    """Print how often `paired_permutation` tells equally good predictors apart, and warns."""
    bands = [f"{100 * end:.1f}" for end in (*LIKE_ERRORS, UNLIKE_ERRORS[1])]
    print(f"## False positives of `paired_permutation` at the level of 5 %, in %, {runs:,} runs\n")
    print(
        f"By {RESAMPLES} swaps. Aimed at {bands[0]} to {bands[1]} for like predictors; at most "
        f"{bands[2]} for unlike\nones from n = 50 on, but for the RMSE.\n"
    )
    _print_head("data", "n", *QPP_MEASURES)
    warnings = []
    for kind in (one for one in (*KINDS, *UNLIKE) if one in kinds):
        amounts = {name: equal_amount(kind, name, rows) for name in QPP_MEASURES}
        for n in TEST_SIZES:
            cells, shares = [], []
            for name, amount in amounts.items():
                hits = warned = np.array([], bool)
                if not math.isnan(amount):
                    hits, warned = rejected(kind, n, name, rows, runs, amount)
                is_judged = kind in KINDS or (n >= 50 and name not in FREE)
                band = LIKE_ERRORS if kind in KINDS else UNLIKE_ERRORS
                cells.append(cell(hits, band, is_judged) if len(hits) else "–")
                shares.append(_warnings(hits, warned))
            print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)
            warnings.append(f"| {kind} | {n} | " + " | ".join(shares) + " |")
    print(f"""
## Warnings of `paired_permutation`, {runs:,} runs

The share of these runs in which one query carries more than {LARGE_SHARE:.0%} of the variance,
which the result's `warning` says, and after the stroke the false positives of the other runs; in %.
A warning says what the difference hangs on, not that p is wrong: where values have long tails, runs
that happen to hold none of their ends warn of nothing and err most often.
""")
    _print_head("data", "n", *QPP_MEASURES)
    print("\n".join(warnings), "\n")


def _warnings(hits, warned):
    """The share of runs that are warned of, and how often the others err, in %."""
    if not len(hits):
        return "–"
    rest = hits[~warned]
    errors = f"{100 * rest.mean():.1f}" if len(rest) >= 100 else "–"
    return f"{100 * warned.mean():.1f} / {errors}"


def rejected(
    kind, n, name, rows, runs, amount=1.0, first=1.0
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the test of each run says that the predictors differ, and whether it warns."""
    random, swapping, hits, warned = np.random.default_rng(n), np.random.default_rng(0), [], []
    for count in _chunks(runs, n * (RESAMPLES + 1)):
        x, other, y = two_predictors(kind, (count, n), random, rows, amount, first)
        swaps = swapping.random((count, RESAMPLES + 1, n)) < 0.5
        swaps[:, 0] = True
        compared = ComparedPredictors.after_swaps(name, swaps, *prepared(name, x, other), y)
        hits += [share_as_small(row) <= LEVEL for row in compared.tails()]
        warned.append(compared.spread.largest_share[:, 0] > LARGE_SHARE)
    return np.array(hits), np.concatenate(warned)


POWER = {"normal": (1.0, 1.5), "lognormal": (0.5, 1.0), "t3 noise": (1.0, 1.5), "tied": (1.0, 1.5)}
"""Kind to the noise of the first, better predictor and of the other."""


def print_power(rows: Callable[[], Sample], runs: int, kinds: Sequence[str]) -> None:
    """Print how often `paired_permutation` tells a better predictor apart."""
    runs = max(1, runs // 4)
    print(f"## Power of `paired_permutation` at the level of 5 %, in %, {runs:,} runs\n")
    print("The noise of both predictors stands behind the kind.\n")
    _print_head("data", "n", *QPP_MEASURES)
    for kind, (first, amount) in POWER.items():
        for n in TEST_SIZES:
            drawn = (rejected(kind, n, name, rows, runs, amount, first) for name in QPP_MEASURES)
            cells = [f"{100 * hits.mean():.1f}" for hits, _ in drawn]
            label = f"{kind} {first:g} / {amount:g}"
            print(f"| {label} | {n} | " + " | ".join(cells) + " |", flush=True)
    print()


SEEDS = {
    "seeds alike": (1.0, 0.5, 0.0),
    "queries by seeds": (0.3, 1.0, 0.0),
    "seeds differ a little": (1.0, 0.5, 0.1),
    "seeds differ": (0.5, 0.5, 0.3),
}
"""A way's noise: its own and each seed's, and how much the amounts of seeds differ, in logs."""


def told_apart_by_seeds(
    kind: str, name: str, n: int, seeds: int, runs: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether equally good ways are told apart over queries and seeds, and over queries alone."""
    own, of_seed, differ = SEEDS[kind]
    random, found = np.random.default_rng(n), []
    for _ in range(runs):
        y, sides = random.standard_normal(n), []
        for _ in range(2):
            noise = own * random.standard_normal((n, 1)) + of_seed * random.standard_normal(
                (n, seeds)
            )
            sides.append(y[:, None] + np.exp(differ * random.standard_normal(seeds)) * noise)
        measured = [_of_seeds(name, side.T, y, 0.0) for side in sides]
        (values, influences), (others, theirs) = measured
        queries = spread_of(influences.mean(axis=0) - theirs.mean(axis=0))
        whole, _ = _together(queries, [_of_draws(*side) for side in measured])
        difference = values.mean() - others.mean()
        found.append([two_tails(difference, of, weight=0) <= LEVEL for of in (whole, queries)])
    both, over_queries = np.array(found).T
    return both, over_queries


def print_seeds(rows: Callable[[], Sample], runs: int, kinds: Sequence[str]) -> None:
    """Print how often `paired_seeds` tells equally good ways to train apart."""
    runs = max(1, runs // 4)
    print(f"## False positives of `paired_seeds` at the level of 5 %, in %, {runs:,} runs\n")
    print(
        "After the stroke those of the same test over queries alone, which takes the seeds for all "
        f"there\nare. Aimed at no more than {100 * LIKE_ERRORS[1]:.1f}.\n"
    )
    _print_head("seeds", "n", *(f"{name}, {seeds} seeds" for name, seeds in SEED_CELLS))
    for kind in SEEDS:
        for n in TEST_SIZES[1:]:
            cells = []
            for name, seeds in SEED_CELLS:
                both, queries = told_apart_by_seeds(kind, name, n, seeds, runs)
                told = cell(both, (0.0, LIKE_ERRORS[1]))
                cells.append(f"{told} / {100 * queries.mean():.1f}")
            print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)
    print()


SEED_CELLS = (("pearson", 3), ("pearson", 5), ("pearson", 10), ("kendall", 5))


if __name__ == "__main__":
    main()
