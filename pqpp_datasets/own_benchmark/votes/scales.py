"""What labels mean: the scales that are known by name, any range, and a map of one's own."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_datasets.errors import DataFileError, OptionError

AGGREGATES = ("majority", "mean", "median", "mos", "positive")
_RANGE = re.compile(r"(-?[0-9]*\.?[0-9]+)\.\.(-?[0-9]*\.?[0-9]+)")
_YES = dict.fromkeys(("yes", "true", "y", "t", "1"), 1.0)
_NO = dict.fromkeys(("no", "false", "n", "f", "0"), 0.0)


@dataclass(frozen=True)
class Scale:
    """A scale of votes.

    Attributes:
        name: As the option names it: `pqpp`, `yes-no`, `likert5`, `0-10`, `LOW..HIGH`, or the name
            of the file that maps labels.
        low: The lowest value.
        high: The highest value.
        level: Of measurement, as `krippendorff_alpha` has it: "nominal", "ordinal" or "interval".
        aggregate: What is made of an image's votes unless told otherwise, of `AGGREGATES`.
        words: What may be written, in lower case, and its value.
        numbers: Whether numbers from `low` to `high` may be written: "whole", "any" or "none".
        positives: The positive values; None: those above the middle of the range.
        missing: What stands for no vote, in lower case.
    """

    name: str
    low: float
    high: float
    level: str
    aggregate: str = "mean"
    words: Mapping[str, float] = field(default_factory=dict)
    numbers: str = "none"
    positives: frozenset[float] | None = None
    missing: frozenset[str] = frozenset()

    def value_of(self, label: str) -> float:
        """Return the value of a label, NaN where the scale has no such label.

        Example:
            >>> SCALES["yes-no"].value_of(" True "), SCALES["likert5"].value_of("4.0")
            (1.0, 4.0)
        """
        key = key_of(label)
        if key in self.words:
            return float(self.words[key])
        try:
            value = float(key) if self.numbers != "none" and "_" not in key else math.nan
        except ValueError:
            return math.nan
        fits = self.low <= value <= self.high and (self.numbers == "any" or value.is_integer())
        return value if fits else math.nan

    def is_positive(self, values: np.ndarray) -> np.ndarray:
        """Tell which values are positive; NaN is not.

        Example:
            >>> SCALES["likert5"].is_positive(np.array([3.0, 4.0])).tolist()
            [False, True]
        """
        if self.positives is not None:
            return np.isin(values, sorted(self.positives))
        return values > (self.low + self.high) / 2

    @property
    def allowed(self) -> str:
        """What may be written, in words."""
        numbers = {
            "whole": f"a whole number from {self.low:g} to {self.high:g}",
            "any": f"a number from {self.low:g} to {self.high:g}",
        }
        words = "one of " + ", ".join(self.words) if self.words else ""
        return " or ".join(filter(None, (numbers.get(self.numbers, ""), words)))


_PQPP_WORDS = {
    "2": 2,
    "1": 1,
    "0": 0,
    "-1": -1,
    "high relevance": 2,
    "low relevance": 1,
    "no relevance": 0,
    "unrealistic": -1,
}
_LIKERT_WORDS = {
    "strongly disagree": 1,
    "disagree": 2,
    "neither agree nor disagree": 3,
    "neutral": 3,
    "agree": 4,
    "strongly agree": 5,
}
SCALES = {
    scale.name: scale
    for scale in (
        Scale("pqpp", -1, 2, "ordinal", "majority", _PQPP_WORDS),
        Scale("yes-no", 0, 1, "nominal", "positive", {**_YES, **_NO}),
        Scale("likert5", 1, 5, "ordinal", "mean", _LIKERT_WORDS, "whole"),
        Scale("0-10", 0, 10, "interval", "mean", {}, "any"),
    )
}


def key_of(label: str) -> str:
    """Return a label as it is looked up: in lower case, without blanks around it, 2.0 as 2.

    Example:
        >>> key_of(" High relevance "), key_of("-1.0")
        ('high relevance', '-1')
    """
    return label.strip().lower().removesuffix(".0")


def named_scale(name: str) -> Scale:
    """Return a scale by the name that an option gives.

    Raises:
        OptionError: There is none.

    Example:
        >>> named_scale("1..7").allowed
        'a number from 1 to 7'
    """
    if name in SCALES:
        return SCALES[name]
    ends = _RANGE.fullmatch(name)
    if not ends or not float(ends[1]) < float(ends[2]):
        raise OptionError(
            f"--scale {name}: one of {', '.join(SCALES)} or LOW..HIGH, like 1..7, is allowed; "
            "--labels FILE maps labels of your own"
        )
    return Scale(name, float(ends[1]), float(ends[2]), "interval", "mean", {}, "any")


def scale_of_map(path: str | Path) -> Scale:
    r"""Read a map of labels from a YAML file.

    Its keys are `labels` (label to value) and, if wanted, `positive` (a list of labels; else those
    above the middle), `missing` (marks of no vote) and `level` (nominal, ordinal or interval;
    else ordinal).

    Raises:
        DataFileError: There is no such file, or it is not as it must be.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "map.yaml"
        >>> _ = path.write_text("labels: {bad: 0, fair: 1, good: 2}\npositive: [fair, good]\n")
        >>> scale = scale_of_map(path)
        >>> scale.value_of("Fair"), scale.is_positive(np.array([0.0, 1.0])).tolist()
        (1.0, [False, True])
    """
    import yaml

    try:
        found = yaml.load(Path(path).read_text("utf-8"), yaml.BaseLoader)  # all stays text
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataFileError(f"{path}: not readable as YAML ({error!s:.150}); correct it") from None
    what = "`labels`, label to value, is needed; `positive`, `missing` and `level` are allowed"
    known = {"labels", "positive", "missing", "level"}
    if not isinstance(found, dict) or not found.keys() <= known or not found.get("labels"):
        raise DataFileError(f"{path}: {str(found)!r:.60} came; {what}")
    words = _numbers_of(path, found["labels"])
    values = sorted(set(words.values()))
    if len(values) < 2:
        raise DataFileError(f"{path}: all labels have one value; two or more are needed")
    lists = {}
    for name in ("positive", "missing"):
        lists[name] = own = found.get(name, [])
        if not isinstance(own, list) or not all(isinstance(label, str) for label in own):
            raise DataFileError(f"{path}: {name} is {str(own)!r:.60}; give a list of labels")
    unknown = [label for label in lists["positive"] if key_of(label) not in words]
    if unknown:
        raise DataFileError(f"{path}: positive has {unknown[0]!r:.60}, which is not in labels")
    level = found.get("level", "ordinal")
    if level not in ("nominal", "ordinal", "interval"):
        raise DataFileError(f"{path}: level is {level!r:.60}; nominal, ordinal or interval")
    positives = frozenset(words[key_of(label)] for label in lists["positive"])
    return Scale(
        Path(path).name,
        values[0],
        values[-1],
        level,
        "mean",
        words,
        positives=positives or None,
        missing=frozenset(map(key_of, lists["missing"])),
    )


def _numbers_of(path: str | Path, labels: Any) -> dict[str, float]:
    try:
        words = {key_of(label): float(value) for label, value in labels.items()}
        if all(map(math.isfinite, words.values())):
            return words
    except (AttributeError, TypeError, ValueError):
        pass
    raise DataFileError(f"{path}: labels is {str(labels)!r:.60}; give each label a number")


def guessed_scale(
    path: str | Path, labels: Iterable[str], row_of: Callable[[str], str] | None = None
) -> Scale:
    """Guess the scale from the labels of a file, where only one is possible.

    A scale is possible that has all the labels. `likert5` and `0-10`, which have many, are so only
    where their ends are used or they are written in words; the labels -1, 0 and 1 are also those
    of yes and no with -1 for no answer.

    Args:
        path: Of the file, for the error.
        labels: The distinct labels, in order of first appearance.
        row_of: Says where a label stands first, for the error.

    Raises:
        DataFileError: None or several are possible. Where one label alone is to blame, its row is
            named.

    Example:
        >>> guessed_scale("votes.csv", ["True", "False"]).name
        'yes-no'
        >>> guessed_scale("votes.csv", ["1", "2"])
        Traceback (most recent call last):
        pqpp_datasets.errors.DataFileError: votes.csv: the labels 1, 2 fit pqpp and likert5; ...
    """
    labels = list(labels)
    keys = {key_of(label) for label in labels}
    fitting = [s for s in SCALES.values() if all(not math.isnan(s.value_of(k)) for k in keys)]
    fitting = [s for s in fitting if s.name != "0-10" or {"0", "10"} <= keys]
    names = [s.name for s in fitting]
    if keys == {"-1", "0", "1"}:
        names.append("yes-no with --missing=-1")
    if names == ["likert5"] and not {"1", "5"} <= keys and keys <= set("12345"):
        names.append("LOW..HIGH")
    if len(names) == 1:
        return fitting[0]
    shown = ", ".join(sorted(keys, key=_in_order)[:8]) + (", ..." if len(keys) > 8 else "")
    if names:
        raise DataFileError(
            f"{path}: the labels {shown} fit {' and '.join(names)}; say which by --scale"
        )
    where = f"{path}: the labels"
    if row_of is not None:
        where = f"{row_of(_odd_one(labels))}; the labels"
    raise DataFileError(
        f"{where} {shown} fit none of {', '.join(SCALES)}; give --scale LOW..HIGH, "
        "--labels FILE (label to value), or --missing MARK for what stands for no vote"
    )


def _odd_one(labels: Sequence[str]) -> str:
    """Return the first label that the scale with most of the labels does not have."""
    without = [[one for one in labels if math.isnan(s.value_of(one))] for s in SCALES.values()]
    return min(filter(None, without), key=len)[0]


def _in_order(label: str) -> tuple:
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)
