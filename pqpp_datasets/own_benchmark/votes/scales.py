"""The meaning of labels: named scales, ranges, and maps that the user writes."""

import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.formats import WORDS
from pqpp_datasets.own_benchmark.long_table import LongTable
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.tables import validate_json
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.foreign.yaml_values import read_yaml
from pqpp_files.names import pluralize

_RANGE = re.compile(r"(-?[0-9]*\.?[0-9]+)\.\.(-?[0-9]*\.?[0-9]+)")


@dataclass(frozen=True)
class Scale:
    """A scale of votes.

    Attributes:
        name: Value of the option `scale`: `pqpp`, `yes-no`, `likert5`, `0-10` or `LOW..HIGH`; or
            the name of the file that maps labels.
        level: Level of measurement, as in `krippendorff_alpha`: "nominal", "ordinal" or "interval".
        aggregate: Default rule of `AGGREGATES` for the votes on an image.
        words: The value of each allowed word; words are in lower case.
        numbers: Which numbers from `low` to `high` are allowed: "whole", "any" or "none".
        positives: Positive values; None for values above the middle of the range.
        missing: Labels of missing votes, in lower case.
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

    def parse_label(self, label: str) -> float:
        """Parse a label; NaN if it is not on the scale.

        Example:
            >>> SCALES["yes-no"].parse_label(" True "), SCALES["likert5"].parse_label("4.0")
            (1.0, 4.0)
        """
        key = fold_label(label)
        if key in self.words:
            return float(self.words[key])
        try:
            value = float(key) if self.numbers != "none" and "_" not in key else math.nan
        except ValueError:
            return math.nan
        fits = self.low <= value <= self.high and (self.numbers == "any" or value.is_integer())
        return value if fits else math.nan

    def is_positive(self, values: np.ndarray) -> np.ndarray:
        """Return whether each value is positive; NaN is not.

        Example:
            >>> SCALES["likert5"].is_positive(np.array([3.0, 4.0])).tolist()
            [False, True]
        """
        if self.positives is not None:
            return np.isin(values, sorted(self.positives))
        return values > (self.low + self.high) / 2

    @property
    def allowed_labels(self) -> str:
        """The allowed labels, in words."""
        noun = {"whole": "a whole number", "any": "a number"}.get(self.numbers)
        number = f"{noun} from {self.low:g} to {self.high:g}" if noun else ""
        words = "one of " + ", ".join(self.words) if self.words else ""
        return " or ".join(filter(None, (number, words)))


_SCALE_WORDS: dict[str, dict[str, float]] = WORDS["scales"]
SCALES = {
    scale.name: scale
    for scale in (
        Scale("pqpp", -1, 2, "ordinal", "majority", _SCALE_WORDS["pqpp"]),
        Scale("yes-no", 0, 1, "nominal", "positive", _SCALE_WORDS["yes-no"]),
        Scale("likert5", 1, 5, "ordinal", "mean", _SCALE_WORDS["likert5"], "whole"),
        Scale("0-10", 0, 10, "interval", "mean", {}, "any"),
    )
}


def fold_label(label: str) -> str:
    """Normalise a label for comparison: lower case, no surrounding whitespace, 2 for 2.0 and +2.

    Example:
        >>> fold_label(" High relevance "), fold_label("-1.0"), fold_label("+1")
        ('high relevance', '-1', '1')
    """
    return re.sub(r"^[+](?=[0-9])", "", label.strip().lower()).removesuffix(".0")


def get_scale_by_name(name: str) -> Scale:
    """Return a scale by the value of the option `scale`.

    Raises:
        BenchmarkError: The scale does not exist.

    Example:
        >>> get_scale_by_name("1..7").allowed_labels
        'a number from 1 to 7'
    """
    if name in SCALES:
        return SCALES[name]
    match = _RANGE.fullmatch(name)
    if not match or not float(match[1]) < float(match[2]):
        allowed = f"`scale` must be one of {', '.join(SCALES)} or a range such as 1..7"
        raise BenchmarkError(f"{allowed}; got {name!r:.60} (for other labels, set `labels`)")
    return Scale(name, float(match[1]), float(match[2]), "interval", "mean", {}, "any")


def read_label_map(path: str | Path) -> Scale:
    r"""Read a scale from a YAML file, or from a JSON string such as `{"good": 1}`.

    Keys of the file: `labels` (values by label) and, optionally, `positive` (list of labels;
    default: values above the middle), `missing` (labels of missing votes) and `level` (nominal,
    ordinal or interval; default: ordinal).

    Raises:
        BenchmarkError: The file is missing or invalid.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "map.yaml"
        >>> _ = path.write_text("labels: {bad: 0, fair: 1, good: 2}\npositive: [fair, good]\n")
        >>> scale = read_label_map(path)
        >>> scale.parse_label("Fair"), scale.is_positive(np.array([0.0, 1.0])).tolist()
        (1.0, [False, True])
    """
    content: dict[str, Any]
    if str(path).startswith("{"):
        parsed = parse_json(str(path), "`labels`", BenchmarkError)
        content = {"labels": {label: str(value) for label, value in parsed.items()}}
    else:
        content = read_yaml(path, error=BenchmarkError, as_text=True)
    validate_json(content, "labels", str(path), "correct it")
    words = {fold_label(label): float(value) for label, value in content["labels"].items()}
    values = sorted(set(words.values()))
    if len(values) < 2:
        raise BenchmarkError(f"{path}: expected labels with two or more values, got {len(values)}")
    positive = list(map(fold_label, content.get("positive", ())))
    if unknown := [label for label in positive if label not in words]:
        raise BenchmarkError(f"{path}, positive: {unknown[0]!r:.60} is not in `labels`")
    return Scale(
        Path(path).name,
        values[0],
        values[-1],
        content.get("level", "ordinal"),
        "mean",
        words,
        positives=frozenset(words[label] for label in positive) or None,
        missing=frozenset(map(fold_label, content.get("missing", ()))),
    )


def find_scale(table: LongTable, options: BuildOptions) -> Scale:
    """Return the scale of a table's labels, and add a note on how it was found.

    Raises:
        BenchmarkError: No scale or several scales fit the labels, or judgments are scores of images
            and `scale` is not set.
    """
    missing = frozenset(map(fold_label, options.missing))
    if options.labels:
        scale = read_label_map(options.labels)
        note = f"labels: mapped by {options.labels}"
    elif options.scale:
        scale = get_scale_by_name(options.scale)
        note = f"labels: on the scale {scale.name}"
    elif options.has_scores:
        remedy = "set `scale` to LOW..HIGH, such as 0..5"
        raise BenchmarkError(f"{table.name}: the range of scores is unknown; {remedy}")
    else:
        texts = table.rows["label"].cat.remove_unused_categories().cat.categories
        labels = [text for text in texts if fold_label(text) not in {"", *missing}]
        # `parse_labels` refuses a table without labels.
        scale = _guess_scale(table, labels) if labels else SCALES["pqpp"]
        sample = ", ".join(sorted({label.strip() for label in labels})[:8])
        note = f"labels: inferred {scale.name}, the only scale with {sample}; `scale` overrides it"
    if options.has_scores:  # scores can be any number in the range
        scale = replace(scale, numbers="any", words={})
    table.notes.insert(0, note)
    return replace(scale, missing=scale.missing | missing)


def _guess_scale(table: LongTable, labels: Sequence[str]) -> Scale:
    """Return the only named scale that contains all labels."""
    # `likert5` and `0-10` fit only if their ends or words are used; -1, 0 and 1 can also be yes-no
    # with -1 for a missing vote.
    keys = {fold_label(label) for label in labels}
    unknown = {
        scale.name: [label for label in labels if math.isnan(scale.parse_label(label))]
        for scale in SCALES.values()
    }
    names = [name for name, labels in unknown.items() if not labels]
    if "0-10" in names and not {"0", "10"} <= keys:
        names.remove("0-10")
    if keys == {"-1", "0", "1"}:
        names.append("yes-no with `missing`=-1")
    if names == ["likert5"] and not {"1", "5"} <= keys and keys <= {*"12345", "good", "bad"}:
        names.append(_suggest_range({*keys, "6"} if "5" in keys else keys))
    if len(names) == 1 and names[0] in SCALES:
        return SCALES[names[0]]
    examples = ", ".join(sorted(keys)[:8]) + (", ..." if len(keys) > 8 else "")
    if names:
        label_map = _format_label_map(dict.fromkeys(labels, "?"))
        remedy = f"`scale` {' or `scale` '.join(names)}".replace("`scale` LOW..HIGH", label_map)
        fitting = " and ".join(names).replace("LOW..HIGH", "others")
        fault = f"{table.name}: labels {examples} fit {fitting}; set {remedy}"
        raise BenchmarkError(*table.faults, fault)
    # Labels that are not on the best-fitting scale.
    invalid = min(filter(None, unknown.values()), key=len)
    rows = np.flatnonzero(table.rows["label"].isin(invalid))
    fault = f"and labels {examples} fit none of {', '.join(SCALES)}"
    remedy = "set `scale` LOW..HIGH"
    if len(invalid) < 9 and not any("," in label for label in invalid):
        missing = shlex.quote(",".join(label.strip() for label in invalid))
        remedy += f", or set `missing`={missing} if that is not a vote"
    if len(invalid) > len(labels) / 2:  # not just typing errors
        matches = {label: re.search(r"-?[0-9]+([.][0-9]+)?", label) for label in labels}
        numbers = {label: float(match[0]) if match else "?" for label, match in matches.items()}
        label_map = _format_label_map(numbers)
        remedy = f"set `scale` {_suggest_range(keys)}, or the value of each label: {label_map}"
    table.report_cells("label", rows, f"{fault}; {remedy}")
    raise BenchmarkError(*table.faults)


def _suggest_range(labels: Iterable[str]) -> str:
    """Return the first commonly used range that contains all labels, else "LOW..HIGH"."""
    for low, high in ((0, 1), (1, 3), (1, 4), (1, 5), (1, 7), (0, 10), (0, 100)):
        scale = get_scale_by_name(f"{low}..{high}")
        if not any(math.isnan(scale.parse_label(label)) for label in labels):
            return scale.name
    return "LOW..HIGH"


def _guess_choice(text: str) -> float | str:
    """Guess the choice that a label means: 1 or -1, or 0 for a tie; "?" if it is unclear."""
    words = WORDS["choices"] | WORDS["number forms"]["place"] | {"-1": -1}
    found = re.findall(r"(?:(?<![a-z0-9])-)?[a-z0-9]+", text.lower())
    sides = {words[word] for word in found if word in words}
    return 0 if 0 in sides else sides.pop() if len(sides) == 1 else "?"


def _format_label_map(values: Mapping[str, float | str]) -> str:
    """Return the option `labels` with a JSON map of labels, for the user to copy."""
    label_map = {label.strip(): value for label, value in values.items()}
    return f"`labels` {shlex.quote(json.dumps(label_map, ensure_ascii=False))}"


def parse_labels(table: LongTable, role: str, scale: Scale, blank: str) -> np.ndarray:
    """Return the value of each row's label, float64, NaN for a missing vote.

    A note counts the missing votes. Invalid labels become error lines, and so do empty labels if
    they are refused.

    Args:
        table: A table with the labels.
        role: The role of the labels.
        scale: The scale of the labels.
        blank: What to do with empty labels: "refuse" or "drop".

    Raises:
        BenchmarkError: No vote is left.
    """
    texts, codes = table.rows[role].cat.categories, table.rows[role].cat.codes.to_numpy()
    keys = np.array([fold_label(text) for text in texts], dtype=object)
    is_missing = np.array([key in scale.missing for key in keys], bool)
    is_blank = (keys == "") & ~is_missing
    values = np.array([scale.parse_label(text) for text in texts], float)
    rows = table.find_rows(role, np.isnan(values) & ~is_missing & ~is_blank)
    if len(rows):
        label = shlex.quote(table.rows[role].iloc[rows[0]].strip())
        remedy = "set `scale` or `labels`"
        if role == "choice":
            labels = texts[~is_missing & ~is_blank]
            label_map = _format_label_map({text: _guess_choice(text) for text in labels})
            remedy = f"set their values, 1 for the first image and -1 for the second: {label_map}"
        allowed = f"expected {scale.allowed_labels} on the scale {scale.name}"
        remedy += f", or set `missing`={label} to drop such votes"
        table.report_cells(role, rows, f"{allowed}; {remedy}")
    values[is_missing | is_blank] = np.nan
    if blank == "refuse" and is_blank.any():
        table.report_blanks(role, "fill in the cell, or set `blank` to drop")
    counts = np.bincount(codes, minlength=len(keys))
    blanks, marked = int(counts[is_blank].sum()), int(counts[is_missing].sum())
    notes = [f"{pluralize(blanks, 'blank vote')} left out"] if blanks else []
    if marked:
        totals = {key: int(counts[keys == key].sum()) for key in sorted(scale.missing)}
        marks = [f"{key}: {n}" if n < marked else key for key, n in totals.items() if n]
        notes.append(f"{pluralize(marked, 'vote')} marked as missing ({', '.join(marks)}) left out")
    table.notes += notes
    if np.isnan(values[codes]).all() and not table.faults:
        noun = "vote" if role == "label" else role
        raise BenchmarkError("; ".join([f"{table.name}: no {noun}s", *notes, f"add {noun}s"]))
    return values[codes]
