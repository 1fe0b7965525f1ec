"""What labels mean: the named scales, any range, and the user's own map."""

import json
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.formats import WORDS
from pqpp_datasets.own_benchmark.long_table import LongTable
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.tables import refuse_other_form
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.foreign.yaml_values import read_yaml
from pqpp_files.names import how_many

_RANGE = re.compile(r"(-?[0-9]*\.?[0-9]+)\.\.(-?[0-9]*\.?[0-9]+)")


@dataclass(frozen=True)
class Scale:
    """A scale of votes.

    Attributes:
        name: The option's name for it: `pqpp`, `yes-no`, `likert5`, `0-10`, `LOW..HIGH`, or the
            name of the file that maps labels.
        low: The lowest value.
        high: The highest value.
        level: Level of measurement, as in `krippendorff_alpha`: "nominal", "ordinal" or "interval".
        aggregate: The default rule for an image's votes, of `AGGREGATES`.
        words: Allowed words in lower case, and their values.
        numbers: Which numbers from `low` to `high` are allowed: "whole", "any" or "none".
        positives: The positive values; None for those above the middle of the range.
        missing: Marks of a missing vote, in lower case.
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
        key = to_key(label)
        if key in self.words:
            return float(self.words[key])
        try:
            value = float(key) if self.numbers != "none" and "_" not in key else math.nan
        except ValueError:
            return math.nan
        fits = self.low <= value <= self.high and (self.numbers == "any" or value.is_integer())
        return value if fits else math.nan

    def is_positive(self, values: np.ndarray) -> np.ndarray:
        """Return which values are positive; NaN is not.

        Example:
            >>> SCALES["likert5"].is_positive(np.array([3.0, 4.0])).tolist()
            [False, True]
        """
        if self.positives is not None:
            return np.isin(values, sorted(self.positives))
        return values > (self.low + self.high) / 2

    @property
    def allowed(self) -> str:
        """The allowed labels, in words."""
        kind = {"whole": "a whole number", "any": "a number"}.get(self.numbers)
        number = f"{kind} from {self.low:g} to {self.high:g}" if kind else ""
        words = "one of " + ", ".join(self.words) if self.words else ""
        return " or ".join(filter(None, (number, words)))


_WORDS: dict[str, dict[str, float]] = WORDS["scales"]
SCALES = {
    scale.name: scale
    for scale in (
        Scale("pqpp", -1, 2, "ordinal", "majority", _WORDS["pqpp"]),
        Scale("yes-no", 0, 1, "nominal", "positive", _WORDS["yes-no"]),
        Scale("likert5", 1, 5, "ordinal", "mean", _WORDS["likert5"], "whole"),
        Scale("0-10", 0, 10, "interval", "mean", {}, "any"),
    )
}


def to_key(label: str) -> str:
    """Normalise a label for look-up: lower case, stripped, 2.0 as 2.

    Example:
        >>> to_key(" High relevance "), to_key("-1.0")
        ('high relevance', '-1')
    """
    return label.strip().lower().removesuffix(".0")


def get_scale_by_name(name: str) -> Scale:
    """Return a scale by an option's name.

    Raises:
        BenchmarkError: The scale does not exist.

    Example:
        >>> get_scale_by_name("1..7").allowed
        'a number from 1 to 7'
    """
    if name in SCALES:
        return SCALES[name]
    ends = _RANGE.fullmatch(name)
    if not ends or not float(ends[1]) < float(ends[2]):
        known = f"give one of {', '.join(SCALES)}, or LOW..HIGH, like 1..7"
        raise BenchmarkError(f"`scale` {name}: {known}; map your own labels with `labels` FILE")
    return Scale(name, float(ends[1]), float(ends[2]), "interval", "mean", {}, "any")


def read_scale(path: str | Path) -> Scale:
    r"""Read a map of labels: a YAML file, or the labels themselves as JSON, like `{"good": 1}`.

    Its keys are `labels` (label to value) and, optionally, `positive` (a list of labels; else those
    above the middle), `missing` (marks of no vote) and `level` (nominal, ordinal or interval;
    else ordinal).

    Raises:
        BenchmarkError: The file does not exist or is invalid.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "map.yaml"
        >>> _ = path.write_text("labels: {bad: 0, fair: 1, good: 2}\npositive: [fair, good]\n")
        >>> scale = read_scale(path)
        >>> scale.parse_label("Fair"), scale.is_positive(np.array([0.0, 1.0])).tolist()
        (1.0, [False, True])
    """
    content: dict[str, Any]
    if str(path).startswith("{"):
        parsed = parse_json(str(path), "`labels`", BenchmarkError)
        content = {"labels": {label: str(value) for label, value in parsed.items()}}
    else:
        content = read_yaml(path, error=BenchmarkError, as_text=True)
    refuse_other_form(content, "labels", str(path), "correct it")
    words = {to_key(label): float(value) for label, value in content["labels"].items()}
    values = sorted(set(words.values()))
    if len(values) < 2:
        raise BenchmarkError(f"{path}: all labels have one value; expected two or more")
    positive = list(map(to_key, content.get("positive", ())))
    if unknown := [label for label in positive if label not in words]:
        raise BenchmarkError(f"{path}: positive has {unknown[0]!r:.60}, which is not in labels")
    return Scale(
        Path(path).name,
        values[0],
        values[-1],
        content.get("level", "ordinal"),
        "mean",
        words,
        positives=frozenset(words[label] for label in positive) or None,
        missing=frozenset(map(to_key, content.get("missing", ()))),
    )


def find_scale(table: LongTable, options: BuildOptions) -> Scale:
    """Return the scale of a table's labels, and record how it was found as a note.

    Raises:
        BenchmarkError: No scale has all labels, or several have them and none is named.
        BenchmarkError: Ready scores need a scale.
    """
    marks = frozenset(map(to_key, options.missing))
    if options.labels:
        scale = read_scale(options.labels)
        note = f"labels: mapped by {options.labels}"
    elif options.scale:
        scale = get_scale_by_name(options.scale)
        note = f"labels: on the scale {scale.name}"
    elif options.is_ready:
        remedy = "give `scale` LOW..HIGH, like 0..5"
        raise BenchmarkError(f"`columns` score=...: the range of scores is unknown; {remedy}")
    else:
        used = table.rows["label"].cat.remove_unused_categories().cat.categories
        labels = [label for label in used if to_key(label) not in {"", *marks}]
        scale = _guess_scale(table, labels)
        shown = ", ".join(sorted({label.strip() for label in labels})[:8])
        note = f"labels: inferred {scale.name}, the only scale with {shown}; `scale` overrides it"
    if options.is_ready:  # means of labels are numbers between them
        scale = replace(scale, numbers="any", words={})
    table.notes.insert(0, note)
    return replace(scale, missing=scale.missing | marks)


def _guess_scale(table: LongTable, labels: Sequence[str]) -> Scale:
    """Guess the scale from the distinct labels, if only one is possible.

    A scale is possible that has all the labels. `likert5` and `0-10`, which have many, are so only
    where their ends are used or they are written in words; the labels -1, 0 and 1 are also those of
    yes and no with -1 for no answer. Where one label alone is to blame, its row is named.
    """
    keys = {to_key(label) for label in labels}
    lacking = {
        scale.name: [label for label in labels if math.isnan(scale.parse_label(label))]
        for scale in SCALES.values()
    }
    names = [name for name, labels in lacking.items() if not labels]
    if "0-10" in names and not {"0", "10"} <= keys:
        names.remove("0-10")
    if keys == {"-1", "0", "1"}:
        names.append("yes-no with `missing`=-1")
    if names == ["likert5"] and not {"1", "5"} <= keys and keys <= {*"12345", "good", "bad"}:
        names.append(_suggest_range(keys))
    if len(names) == 1 and names[0] in SCALES:
        return SCALES[names[0]]
    shown = ", ".join(sorted(keys)[:8]) + (", ..." if len(keys) > 8 else "")
    if names:
        label_map = _format_map(labels, lambda label: "?")
        ways = f"`scale` {' or `scale` '.join(names)}".replace("`scale` LOW..HIGH", label_map)
        fits = " and ".join(names).replace("LOW..HIGH", "others")
        fault = f"{table.name}: the labels {shown} fit {fits}; say which by {ways}"
        raise BenchmarkError(*table.faults, fault)
    # The first that the scale with most of the labels does not have.
    odd = min(filter(None, lacking.values()), key=len)
    rows = np.flatnonzero(table.rows["label"].isin(odd))
    fault = f"and the labels {shown} fit none of {', '.join(SCALES)}"
    marks = shlex.quote(",".join(label.strip() for label in odd))
    remedy = "give `scale` LOW..HIGH"
    remedy += f", or `missing`={marks} if that is no vote" if len(odd) < 9 else ""
    if len(odd) > len(labels) / 2:  # else mistyped
        found = {label: re.search(r"-?[0-9]+([.][0-9]+)?", label) for label in labels}
        numbers = {label: float(one[0]) if one else "?" for label, one in found.items()}
        label_map = _format_map(labels, numbers.__getitem__)
        remedy = f"give `scale` {_suggest_range(keys)}, or say what each means: {label_map}"
    table.refuse("label", rows, f"{fault}; {remedy}")
    raise BenchmarkError(*table.faults)


def _suggest_range(labels: Iterable[str]) -> str:
    """Suggest the first common range that contains all labels."""
    for low, high in ((0, 1), (1, 3), (1, 5), (1, 7), (0, 10), (0, 100)):
        scale = get_scale_by_name(f"{low}..{high}")
        if not any(math.isnan(scale.parse_label(label)) for label in labels):
            return scale.name
    return "LOW..HIGH"


def _guess_side(text: str) -> float | str:
    """Guess the choice that a text means: 1, -1, 0 for a tie, else "?"."""
    words = WORDS["choices"] | WORDS["number forms"]["place"]
    sides = {words[word] for word in re.findall(r"[a-z0-9]+", text.lower()) if word in words}
    return 0 if 0 in sides else sides.pop() if len(sides) == 1 else "?"


def _format_map(labels: Iterable[str], meaning: Callable[[str], float | str]) -> str:
    """Format a map of labels for pasting."""
    found = {label.strip(): meaning(label) for label in labels}
    return f"`labels` {shlex.quote(json.dumps(found, ensure_ascii=False))}"


def parse_labels(table: LongTable, role: str, scale: Scale, blank: str) -> np.ndarray:
    """Return the value of each row, NaN for a missing vote; a note counts these.

    Args:
        table: A table with the labels.
        role: The column of labels.
        scale: The meaning of the labels.
        blank: How to treat an empty label: "refuse" or "drop".

    Raises:
        BenchmarkError: No vote is left. An invalid or empty label is recorded as a fault of the
            table.
    """
    texts, codes = table.rows[role].cat.categories, table.rows[role].cat.codes.to_numpy()
    keys = np.array([to_key(text) for text in texts], dtype=object)
    is_marked = np.array([key in scale.missing for key in keys])
    is_blank = (keys == "") & ~is_marked
    values = np.array([scale.parse_label(text) for text in texts])
    rows = table.find_rows(role, np.isnan(values) & ~is_marked & ~is_blank)
    if len(rows):
        mark = shlex.quote(table.rows[role].iloc[rows[0]].strip())
        remedy = f"or `missing`={mark} leaves such votes out"
        ways = "choose `scale` or `labels`"
        if role == "choice":
            spelled = _format_map(texts[~is_marked & ~is_blank], _guess_side)
            ways = f"say what each means, 1 for the first and -1 for the second: {spelled}"
        allowed = f"expected {scale.allowed} on the scale {scale.name}"
        table.refuse(role, rows, f"{allowed}; {ways}, {remedy}")
    values[is_marked | is_blank] = np.nan
    if blank == "refuse" and is_blank.any():
        table.require_filled(role, "fill it, or `blank` drop leaves such votes out")
    counts = np.bincount(codes, minlength=len(keys))
    blanks, marked = int(counts[is_blank].sum()), int(counts[is_marked].sum())
    notes = [f"{how_many(blanks, 'blank vote')} left out"] if blanks else []
    if marked:
        met = {key: n for key in sorted(scale.missing) if (n := int(counts[keys == key].sum()))}
        marks = [f"{key}: {n}" if n < marked else key for key, n in met.items()]
        notes.append(f"{how_many(marked, 'vote')} marked as missing ({', '.join(marks)}) left out")
    table.notes += notes
    if np.isnan(values[codes]).all() and not table.faults:
        noun = "vote" if role == "label" else role
        raise BenchmarkError(f"{table.name}: no {noun} is left ({'; '.join(notes)})")
    return values[codes]
