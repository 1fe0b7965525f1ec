"""Agreement and reliability with intervals, and what a study of another size would reach.

Votes on images of one prompt may err together, and so may those of one person. So a vote is taken
for a sum: of its prompt (with a model), its image, its annotator (with the model), of what the
annotator thinks of this prompt, and of a rest. Their variances follow from sums of squares as
Henderson has it ("Estimation of Variance and Covariance Components", Biometrics 9, 1953, method 1),
whoever judged what; where all judged all they are those of the analysis of variance. Intervals are
by leaving out each prompt with all its votes, on the scale of Fisher's z.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pqpp_files.figures import Figures

PARTS = ("prompt", "image", "annotator", "annotator with prompt", "rest")
_ANNOTATORS, _IMAGES = (2, 3, 5, 8, 12, 20), (1, 2, 4)
_WIDTHS = (0.2, 0.1)
_PROMPTS = np.unique(np.geomspace(4, 100_000, 2000).astype(int))
_WORK = 2_000_000  # votes that are counted, over all prompts left out
_LEAST_GROUPS = 20
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Agreement:
    """How far votes agree, and where their differences come from.

    Attributes:
        figures: What is measured to its value and 95 % interval.
        parts: The variance of each of `PARTS`, float64 (groups + 1, 5): of all votes, and with each
            group of prompts left out; 0 for those that the votes cannot tell apart from another.
        is_panel: Whether all annotators of a model judged all its prompts.
        is_shared: Whether prompts have votes of several annotators; else nothing can be planned.
    """

    figures: Mapping[str, tuple[float, float, float]]
    parts: np.ndarray
    is_panel: bool
    is_shared: bool

    @property
    def table(self) -> Figures:
        """The figures, for people."""
        rows = [{"figure": name, "value (95 % interval)": x} for name, x in self.figures.items()]
        return Figures("agreement", "Agreement and reliability", [*rows[0]] if rows else [], rows)

    @property
    def plan(self) -> Figures:
        """What reliability studies of other sizes would reach, and with how many prompts.

        The prompts are those of one model with which the reliability's interval (Feldt, "The
        Approximate Sampling Distribution of Kuder-Richardson Reliability Coefficient Twenty",
        Psychometrika 30, 1965) gets so narrow.
        """
        parts = np.maximum(self.parts, 0.0)
        if self.is_panel:  # who is strict is so with all prompts
            parts[:, PARTS.index("annotator")] = 0.0
        rows: list[dict[str, Any]] = []
        for images, people in itertools.product(_IMAGES if self.parts[0, 1] else (1,), _ANNOTATORS):
            found = _interval(_reliability(parts, people, images, people * images))
            rows.append({"images": images, "annotators": people, "reliability": found})
            rows[-1] |= {f"prompts, {w:g} wide": _prompts_for(w, found[0], people) for w in _WIDTHS}
        who = "each of whom judges every prompt" if self.is_panel else "others for each prompt"
        title = f"Reliability of a prompt's mean vote with a model, by annotators ({who})"
        return Figures("plan", title, list(rows[0]), rows)


def agreement_of(
    prompt: np.ndarray,
    model: np.ndarray,
    item: np.ndarray,
    annotator: np.ndarray,
    value: np.ndarray,
    level: str,
) -> Agreement:
    """Measure how far votes agree, with intervals over prompts.

    Args:
        prompt: The prompt of each vote, whole numbers from 0.
        model: The model, likewise.
        item: The image, likewise.
        annotator: Likewise; without ids a number for each vote.
        value: float64 (votes,).
        level: "nominal", "ordinal" or "interval".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> prompt, who = np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300)
        >>> value = rng.normal(size=300)[prompt] + rng.normal(size=1200)
        >>> found = agreement_of(prompt, 0 * prompt, prompt, who, value, "interval").figures
        >>> {name: round(x[0], 1) for name, x in found.items()}
        {"Krippendorff's alpha, interval": 0.5, 'ICC of a vote': 0.5, 'ICC of 4 votes': 0.8}
    """
    from pqpp_metrics.functional._votes import ac1_of

    prompt, unit, item = _numbered(prompt), _numbered(prompt, model), _numbered(item)
    rows, base = np.arange(len(value)), _numbered(model)
    who, cell = _numbered(base, annotator), _numbered(unit, annotator)
    units, images, people, cells, votes = (int(c.max()) + 1 for c in (unit, item, who, cell, rows))
    # What each vote has to itself is its rest, and what each prompt has is the prompt's.
    apart = np.array([True, units < images < votes, base.max() + 1 < people < votes, False, True])
    apart[PARTS.index("annotator with prompt")] = cells not in (units, people, votes)
    levels = [codes for codes, kept in zip((unit, item, who, cell), apart, strict=False) if kept]
    name = f"Krippendorff's alpha, {level}"
    measures = {name: lambda part: alpha(item[part], value[part], level)}
    if level != "interval":
        number = np.bincount(item)[item]
        alike = number == np.bincount(number[number > 1], minlength=1).argmax()
        measures["Fleiss' kappa"] = lambda part: fleiss(item[part & alike], value[part & alike])[0]
        measures["Gwet's AC1"] = lambda part: ac1_of(_numbered(item[part]), value[part])[0]
    groups = min(int(prompt.max()) + 1, max(_WORK // votes, _LEAST_GROUPS))
    drawn = np.zeros((groups + (groups > 1), len(PARTS) + len(measures)))
    with np.errstate(invalid="ignore", divide="ignore"):
        for left, row in enumerate(drawn, -1):
            part = prompt % groups != left
            row[apart.nonzero()] = variance_parts(
                value[part], base[part], [c[part] for c in levels]
            )
            row[len(PARTS) :] = [measure(part) for measure in measures.values()]
    parts, columns = drawn[:, : len(PARTS)], drawn[:, len(PARTS) :].T
    figures = {name: _interval(x) for name, x in zip(measures, columns, strict=True)}
    firsts = [np.unique(codes, return_index=True)[1] for codes in (cell, item, rows)]
    size = [float(1 / np.mean(1 / np.bincount(unit[first]))) for first in firsts]
    if units < cells:
        figures["ICC of a vote"] = _interval(_reliability(parts, 1, 1, 1))
        figures[f"ICC of {size[2]:.3g} votes"] = _interval(_reliability(parts, *size))
    known = {name: found for name, found in figures.items() if math.isfinite(found[0])}
    crossed = (np.bincount(base[np.unique(codes, return_index=True)[1]]) for codes in (unit, who))
    return Agreement(known, parts, cells == np.vdot(*crossed), units < cells)


def alpha(item: np.ndarray, value: np.ndarray, level: str) -> float:
    """Return Krippendorff's alpha of votes, NaN where no image has two.

    Args:
        item: The image of each vote, whole numbers from 0.
        value: float64 (votes,).
        level: "nominal", "ordinal" or "interval".

    Example:
        >>> item, value = np.array([0, 0, 1, 1, 2]), np.array([1.0, 1.0, 2.0, 1.0, 2.0])
        >>> round(alpha(item, value, "nominal"), 4)
        0.0
    """
    from pqpp_metrics.functional._votes import alpha_of

    kept = np.flatnonzero(np.bincount(item)[item] > 1)
    if not len(kept):
        return math.nan
    place = np.cumsum(np.bincount(item[kept]) > 0) - 1
    return alpha_of(place[item[kept]], value[kept], level)


def fleiss(item: np.ndarray, value: np.ndarray) -> tuple[float, int]:
    """Return Fleiss' kappa over the images with the commonest number of votes, and their number.

    NaN and 0 where no image has two votes.
    """
    from pqpp_metrics.functional.agreement import fleiss_kappa

    number = np.bincount(item)
    several = number[number > 1]
    if not len(several):
        return math.nan, 0
    votes = int(np.bincount(several).argmax())
    rows = np.flatnonzero(number[item] == votes)
    rows = rows[np.argsort(item[rows], kind="stable")]
    return float(fleiss_kappa(value[rows].reshape(-1, votes))), len(rows) // votes


def variance_parts(value: np.ndarray, base: np.ndarray, levels: Sequence[np.ndarray]) -> np.ndarray:
    """Return the variance of each effect, and of the rest, of values that are their sum.

    Args:
        value: float64 (values,).
        base: What has a mean of its own that is no effect; whole numbers from 0 (values,).
        levels: Of each effect, likewise; each level has one base.

    Returns:
        float64 (effects + 1,); a part may be below 0 by chance.

    Example:
        >>> table = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8.0]])
        >>> item, rater = np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)
        >>> variance_parts(table.ravel(), 0 * item, [item, rater]).round(4).tolist()
        [3.1944, 4.5556, 1.5556]
    """
    value = value - value.mean()
    expected, squares = [], []
    for codes in (base, *levels):
        number = np.bincount(codes)
        squares.append(np.sum(np.bincount(codes, value)[number > 0] ** 2 / number[number > 0]))
        row = []
        for other in levels:
            width = int(other.max()) + 1
            cells, counts = np.unique(codes * width + other, return_counts=True)
            row.append(float((counts * counts / number[cells // width]).sum()))
        expected.append([*row, float(np.count_nonzero(number))])
    expected.append([float(len(value))] * (len(levels) + 1))  # each value by itself
    over_base = np.array(expected[1:]) - expected[0]
    return np.linalg.lstsq(over_base, np.array([*squares[1:], value @ value]) - squares[0])[0]


def _numbered(*columns: np.ndarray) -> np.ndarray:
    """Number what differs in any column, from 0 without a gap."""
    code = columns[0].astype(np.int64)
    for column in columns[1:]:
        code = code * (int(column.max()) + 1) + column
    return np.unique(code, return_inverse=True)[1]


def _reliability(parts: np.ndarray, annotators: float, images: float, votes: float) -> np.ndarray:
    """Return what share the prompts have in the variance of means of so many votes."""
    with np.errstate(invalid="ignore"):  # where all votes are equal
        return parts[:, 0] / (parts / [1, images, annotators, annotators, votes]).sum(axis=1)


def _interval(column: np.ndarray) -> tuple[float, float, float]:
    """Return a figure, of all and with each group of prompts left out, with its interval."""
    from pqpp_metrics.functional._influence import correlation_interval, fisher_z

    z, value = fisher_z(column), float(column[0])
    influences = (len(column) - 2) * (z[0] - z[1:])
    low, high = correlation_interval(value, influences, CONFIDENCE)
    return value, max(-1.0, low), min(1.0, high)  # of too few prompts, all that is possible


def _prompts_for(width: float, reliability: float, annotators: int) -> int | None:
    from scipy.special import fdtri

    freedom = _PROMPTS - 1.0
    low, high = (fdtri(freedom, freedom * (annotators - 1), tail) for tail in (0.025, 0.975))
    narrow = (1 - reliability) * (high - low) <= width
    return int(_PROMPTS[narrow.argmax()]) if narrow.any() else None
