"""How often intervals cover and tests err: the QPP measures on data of known kinds.

    python benchmarks/calibration.py --data-dir DATA > benchmarks/calibration.md

Needs PQPP v1.0's validation split in DATA. A cell is a rate over RUNS data sets, with the 95 %
interval of Clopper and Pearson. It fails where that interval lies outside of the band; data with
long tails are printed, not judged, under n = 200. The kinds, each with y for the truth:

- normal: x and y bivariate normal with correlation .5;
- lognormal: the exponentials of these, so a few values are far larger than all others;
- tied: these rounded, to five values each;
- heteroscedastic: the error of y grows with |x|;
- PQPP: rows of PQPP's validation split drawn with replacement, x what `static` predicts of
  mean_hbpp. The true value is that of the whole split.

For tests both predictors are equally good: the truth (for PQPP: the prediction) with noise of the
same kind. Of the unlike pairs the other predictor is equally good by other means, as much as makes
the measure of the population equal: its noise grows with the truth; its values are skewed; or it
mixes what `static` predicts of mean_p10 with the truth.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional import (
    dependent_correlations,
    paired_bootstrap,
    paired_permutation,
    qpp_report,
)
from pqpp_metrics.functional._influence import INTERVALS
from pqpp_metrics.functional.qpp_report import QPP_MEASURES
from pqpp_metrics.functional.resampling import LEAST_OF_BOOTSTRAP

RUNS, LEVEL = 4_000, 0.05
KINDS = ("normal", "lognormal", "tied", "heteroscedastic", "PQPP")
LONG_TAILS = ("lognormal",)
COVERAGE, ERRORS = (0.92, 0.97), (0.035, 0.065)
CLASSIC = tuple(
    (name, test) for name in ("pearson", "spearman") for test in ("williams", "steiger")
)
SIZES, TEST_SIZES = (50, 200, 2_000), (20, 50, 200)
UNLIKE = ("unequal noise", "skewed", "PQPP, unlike")
RESAMPLES = 39
"""Swaps or resamples of a test: 2 of 40, the data among them, are the most extreme 5 %."""

FEW_QUERIES = """\
`paired_bootstrap` before it refused fewer than 30 queries, recorded once: 800 runs, 399 resamples,
predictors with 1.5 (normal) or as much (lognormal, tied) noise as truth, seeds the cell's n:

| data | n | pearson | spearman | kendall | smare | rmse |
|---|---|---|---|---|---|---|
| normal | 10 | 7.8 | 2.6 | 2.5 | 2.0 | 11.6 |
| lognormal | 10 | 5.8 | 2.6 | 2.2 | 1.6 | 16.9 |
| tied | 10 | 7.4 | 6.4 | 6.6 | 2.5 | 9.4 |
| normal | 20 | 8.9 | 6.1 | 4.9 | 2.6 | 6.9 |
| lognormal | 20 | 4.5 | 5.4 | 4.1 | 2.6 | 10.9 |
| tied | 20 | 8.1 | 6.6 | 6.5 | 3.8 | 6.1 |
| normal | 30 | 6.2 | 4.6 | 3.8 | 2.8 | 7.9 |
| lognormal | 30 | 5.6 | 4.0 | 3.5 | 2.4 | 11.0 |
| tied | 30 | 6.4 | 4.6 | 5.1 | 2.8 | 6.6 |
"""

Sample = tuple[NDArray[np.float64], ...]


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", required=True, help="folder with PQPP v1.0")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--part", choices=("all", "intervals", "tests"), default="all")
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, *UNLIKE], help="of data: all")
    options = parser.parse_args()
    rows = functools.cache(lambda: pqpp_rows(options.data_dir))
    print("# How often intervals cover and tests err\n")
    print("    python benchmarks/calibration.py --data-dir DATA\n")
    print(__doc__.split("\n\n", 2)[2].replace("RUNS", f"{options.runs:,}"))
    print(f"numpy {version('numpy')}, scipy {version('scipy')}. Seeds: the cell's n.\n")
    if options.part != "tests":
        print_intervals(rows, options.runs, options.kinds)
    if options.part != "intervals":
        print_tests(rows, options.runs, options.kinds)


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


def pair(kind: str, n: int, random: np.random.Generator, rows: Callable[[], Sample]) -> Sample:
    """Return n predictions and true values of a kind."""
    if kind == "PQPP":
        x, _, y = rows()
        drawn = random.integers(0, len(y), n)
        return x[drawn], y[drawn]
    x, noise = random.standard_normal((2, n))
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
    parts = [_values(*pair(kind, 100_000, random, rows)) for _ in range(20)]
    found = {name: float(np.mean([part[name] for part in parts])) for name in QPP_MEASURES}
    ranks = {"kendall": 1 / 3, "spearman": 6 / np.pi * np.arcsin(0.25)}
    mean = np.exp(0.5)
    known = {
        "normal": ranks | {"pearson": 0.5, "rmse": 1.0},
        "lognormal": ranks
        | {
            "pearson": (mean - 1) / (np.e - 1),
            "rmse": np.sqrt(2 * np.e**2 - 2 * np.e * mean),
        },
        "tied": {},
        "heteroscedastic": {"pearson": 1 / np.sqrt(3.25), "rmse": 1.5},
    }
    return found | known[kind]


def _values(x, y) -> dict[str, float]:
    report = qpp_report(x, y, interval="classic")
    return {name: report[one.__name__][one.__name__] for name, one in QPP_MEASURES.items()}


def print_intervals(rows: Callable[[], Sample], runs: int, kinds: Sequence[str]) -> None:
    """Print the coverage of nominal 95 % intervals, the default ones beside the classic ones."""
    low, high = (f"{100 * end:.0f}" for end in COVERAGE)
    print(f"## Coverage of 95 % intervals, in %, aimed at {low} to {high}\n")
    print(
        "A cell holds the default interval's coverage and, after the stroke, the classic one's.\n"
    )
    print("| data | n | " + " | ".join(QPP_MEASURES) + " |\n|---|---|" + "---|" * len(QPP_MEASURES))
    for kind in (one for one in KINDS if one in kinds):
        true = true_values(kind, rows)
        for n in SIZES:
            found = covered(kind, n, true, rows, runs)
            judged = not (kind in LONG_TAILS and n < 200)
            cells = [
                f"{cell(found[name, 'influence'], COVERAGE, judged)} / "
                f"{100 * found[name, 'classic'].mean():.1f}"
                for name in QPP_MEASURES
            ]
            print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)
    print()


def covered(kind, n, true, rows, runs) -> dict[tuple[str, str], NDArray[np.bool_]]:
    """Whether each interval of each run holds the true value, by measure and kind of interval."""
    random = np.random.default_rng(n)
    hits = {(name, one): np.zeros(runs, bool) for name in QPP_MEASURES for one in INTERVALS}
    for run in range(runs):
        sample = pair(kind, n, random, rows)
        for interval in INTERVALS:
            report = qpp_report(*sample, interval=interval)
            for name, measure in QPP_MEASURES.items():
                found = report[measure.__name__]
                inside = found["ci_low"] <= true[name] <= found["ci_high"]
                hits[name, interval][run] = inside
    return hits


def cell(hits: NDArray[np.bool_], band: tuple[float, float], judged: bool = True) -> str:
    """A rate in %, bold where its binomial interval misses the band, in brackets if not judged."""
    from scipy.stats import binomtest

    count = int(hits.sum())
    low, high = binomtest(count, len(hits)).proportion_ci(0.95)
    text = f"{100 * count / len(hits):.1f}"
    if not judged:
        return f"({text})"
    return text if low <= band[1] and high >= band[0] else f"**{text}**"


def two_predictors(kind: str, n: int, random, rows, amount: float = 0.0) -> Sample:
    """Return n predictions of each of two predictors, and true values.

    Args:
        amount: Of what makes unlike predictors of a kind equally good.
    """
    if kind.startswith("PQPP"):
        one, another, true = rows()
        drawn = random.integers(0, len(true), n)
        x, other, y = one[drawn], another[drawn], true[drawn]
        if kind == "PQPP, unlike":
            return x, (1 - amount) * other + amount * y, y
        noise = random.standard_normal((2, n)) * one.std()
        return x + noise[0], x + noise[1], y
    y, first, second = random.standard_normal((3, n))
    if kind == "unequal noise":
        return y + 1.5 * first, y + amount * np.abs(y) * second, y
    if kind == "skewed":
        return y + 1.5 * first, np.exp(0.8 * y + amount * second), y
    if kind == "heteroscedastic":
        first, second = 1.5 * np.abs(y) * first, 1.5 * np.abs(y) * second
    three = y + first, y + second, y
    if kind == "lognormal":
        return tuple(np.exp(values) for values in three)
    return tuple(values.round() for values in three) if kind == "tied" else three


def equal_amount(kind: str, name: str, rows) -> float:
    """The amount that makes unlike predictors equal by a measure; NaN if none does."""
    low, high = (0.0, 1.0) if kind == "PQPP, unlike" else (0.05, 6.0)

    def difference(amount: float) -> float:
        if kind == "PQPP, unlike":  # the whole split, no draw
            x, other, y = rows()
            other = (1 - amount) * other + amount * y
        else:
            x, other, y = two_predictors(kind, 200_000, np.random.default_rng(0), rows, amount)
        values = [QPP_MEASURES[name](side, y, interval="classic") for side in (x, other)]
        return values[0][QPP_MEASURES[name].__name__] - values[1][QPP_MEASURES[name].__name__]

    at_low = difference(low)
    if at_low * difference(high) > 0:
        return math.nan
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (middle, high) if difference(middle) * at_low > 0 else (low, middle)
    return (low + high) / 2


def print_tests(rows: Callable[[], Sample], runs: int, kinds: Sequence[str]) -> None:
    """Print how often the tests tell equally good predictors apart."""
    low, high = (f"{100 * end:.1f}" for end in ERRORS)
    print(f"## False positives of tests at the level of 5 %, in %, aimed at {low} to {high}\n")
    print(
        f"By {RESAMPLES} swaps. `paired_permutation` / `paired_bootstrap`, a quarter of the runs:\n"
    )
    head = "| data | n | " + " | ".join(QPP_MEASURES) + " |\n|---|---|" + "---|" * len(QPP_MEASURES)
    print(head, flush=True)
    classic = []
    for kind in (one for one in (*KINDS, *UNLIKE) if one in kinds):
        amounts = {
            name: equal_amount(kind, name, rows) if kind in UNLIKE else 0 for name in QPP_MEASURES
        }
        for n in TEST_SIZES:
            found = rejected(kind, n, amounts, rows, runs)
            judged = not (kind in LONG_TAILS and n < 200)
            cells = [
                "–"
                if math.isnan(amounts[name])
                else f"{cell(found[name, 'permutation'], ERRORS, judged)} / "
                + bootstrap_cell(found[name, "bootstrap"][: runs // 4], n)
                for name in QPP_MEASURES
            ]
            print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)
            classic.append(
                f"| {kind} | {n} | "
                + " | ".join(f"{100 * found[one].mean():.1f}" for one in CLASSIC)
                + " |"
            )
    print("\n`dependent_correlations`, which assumes normal values, beside them:\n")
    print(
        "| data | n | "
        + " | ".join(" ".join(one) for one in CLASSIC)
        + " |\n|---|---|---|---|---|---|"
    )
    print("\n".join(classic) + "\n" + FEW_QUERIES, end="")


def bootstrap_cell(hits: NDArray[np.bool_], n: int) -> str:
    """A rate in %; a dash where there are too few queries."""
    return "–" if n < LEAST_OF_BOOTSTRAP else f"{100 * hits.mean():.1f}"


def rejected(kind, n, amounts, rows, runs) -> dict[tuple[str, str], NDArray[np.bool_]]:
    """Whether each test of each run says that the predictors differ."""
    random = np.random.default_rng(n)
    tests = [(name, one) for name in QPP_MEASURES for one in ("permutation", "bootstrap")]
    hits = {key: np.zeros(runs, bool) for key in (*tests, *CLASSIC)}
    for run in range(runs):
        state = random.bit_generator.state
        for name, amount in amounts.items():
            if math.isnan(amount):
                continue
            random.bit_generator.state = state  # the same draws for every measure
            three = two_predictors(kind, n, random, rows, amount)
            swaps = paired_permutation(*three, name, RESAMPLES, run)
            hits[name, "permutation"][run] = swaps["p_value"] <= LEVEL
            if n >= LEAST_OF_BOOTSTRAP and run < runs // 4:
                draws = paired_bootstrap(*three, name, RESAMPLES, seed=run)
                hits[name, "bootstrap"][run] = draws["p_value"] <= LEVEL
            for key in CLASSIC:
                if key[0] == name:
                    found = dependent_correlations(*three, test=key[1], correlation=name)
                    hits[key][run] = found["p_value"] <= LEVEL
    return hits


if __name__ == "__main__":
    main()
