"""What the page says of prompts: numbers, bars, coloured words and neighbours, as HTML."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pqpp_datasets.target_columns import measure_of, sort_targets
from pqpp_files.errors import PqppError
from pqpp_files.render_page import render_page
from pqpp_files.visible import visible
from pqpp_files.write_table import table_text
from pqpp_models.errors import PredictorError
from pqpp_models.explain.explanation import NOTE
from pqpp_models.explain.neighbours import judged_here, with_neighbours
from pqpp_models.explain.page import coloured_words, scale_of
from pqpp_models.predict import main_targets, ordered_targets, predicted_columns
from pqpp_models.predictor import Predictor
from pqpp_models.targets import Z90, known_range

MOST_PROMPTS, SIDE_BY_SIDE, LONGEST = 1000, 4, 1000
"""Prompts of a list, prompts that are shown one beside the other, characters of a prompt."""
NEIGHBOURS, _ROWS = 3, 50


@dataclass(frozen=True)
class Bar:
    """A prediction of one target.

    Attributes:
        target: Its name.
        value: In its unit, None where nothing is predicted.
        low: The lower end of the 90 % interval, within the target's range; None if not known.
        high: Its upper end.
        limits: The target's range, None where its name does not tell.
    """

    target: str
    value: float | None
    low: float | None
    high: float | None
    limits: tuple[float, float] | None

    def share(self, value: float) -> float:
        """Return where a value lies in the range, in per cent.

        >>> Bar("mean_hbpp", 0.5, 0.2, 0.8, (-1.0, 2.0)).share(0.5)
        50.0
        """
        low, high = self.limits or (0.0, 1.0)
        return round(100 * (value - low) / (high - low), 2)


def read_lines(text: str | None) -> list[str]:
    r"""Return the prompts of a text, one on each line; blank lines are left out.

    Raises:
        PredictorError: There is none, one is too long or no text, or there are too many.

    >>> read_lines(" a red cat\r\n\ntwo dogs ")
    ['a red cat', 'two dogs']
    >>> read_lines("\n")
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: no prompt came; write one, or paste some, one on each line
    """
    lines = [(n, one.strip()) for n, one in enumerate(re.split(r"\r\n|\r|\n", text or ""), 1)]
    prompts = [one for _, one in lines if one]
    if not prompts:
        raise PredictorError("no prompt came; write one, or paste some, one on each line")
    if len(prompts) > MOST_PROMPTS:
        raise PredictorError(
            f"{len(prompts):,} prompts came, at most {MOST_PROMPTS:,} are taken at a time; paste "
            "fewer, or put them into a file and run: pqpp predict --file prompts.txt --output "
            "predicted.csv"
        )
    for number, one in lines:
        if len(one) > LONGEST:
            raise PredictorError(
                f"line {number} has {len(one):,} characters, a prompt may have {LONGEST:,}; "
                "shorten it, or break it into prompts of a line each"
            )
        if re.search("[\ud800-\udfff]", one):
            raise PredictorError(f"line {number} holds half a character; write it again")
    return prompts


class Answerer:
    """Answers for one predictor.

    Args:
        predictor: One of texts.
        data_dir: Where judged prompts lie, as for `load_benchmark`.

    Raises:
        PredictorError: The predictor needs more than texts.
    """

    def __init__(self, predictor: Predictor, data_dir: str | None = None) -> None:
        predictor.explain([])  # refused before anything is typed
        self.predictor, self.data_dir = predictor, data_dir
        self.judged = cache(self._judged)

    def explained(self) -> list[str]:
        """Return the targets whose words are explained, the first by default.

        >>> Answerer(Predictor.from_pretrained("static")).explained()
        ['alignment', 'mean_hbpp', 'mean_p10', 'mean_rr']
        """
        return list(main_targets(self.predictor))

    def columns(self, prompts: Sequence[str]) -> dict[str, Sequence[Any]]:
        """Return what `pqpp predict --uncertainty` gives for all targets.

        >>> list(Answerer(Predictor.from_pretrained("n_words")).columns(["a red cat"]))
        ['prompt', 'score']
        """
        targets = ordered_targets(self.predictor, None)
        is_sure = self.predictor.knows_uncertainty
        return predicted_columns(self.predictor, list(prompts), targets, is_sure)

    def html(self, text: str | None, target: str | None = None) -> str:
        """Return the answer as HTML, for one prompt a line of a text.

        Args:
            text: What was typed or pasted.
            target: What the words are explained for; the first of `explained` if left out.

        Raises:
            PredictorError: As `read_lines`, or the target is not predicted.
        """
        prompts = read_lines(text)
        columns = self.columns(prompts)
        facts = {
            "csv": _data_address(columns),
            "count": len(prompts),
            "far_means": self.predictor.far_means,
            "direction": self.predictor.direction if self.predictor.one_score else "",
        }
        name = "list.html"
        if len(prompts) <= SIDE_BY_SIDE:
            name = "cards.html"
            facts |= self._cards(prompts, columns, target or self.explained()[0])
        else:
            facts |= _listed(columns, self.explained())
        return render_page(Path(__file__).with_name(name), **facts)

    def _cards(
        self, prompts: Sequence[str], columns: Mapping[str, Sequence[Any]], target: str
    ) -> dict[str, Any]:
        """Return what the template of prompts side by side is filled with."""
        explained = self.predictor.explain(prompts, target)
        judged, without = self.judged(target)
        if judged is not None:
            explained = with_neighbours(self.predictor, explained, judged, NEIGHBOURS)
        scale = scale_of(explained)
        cards = [
            {
                "prompt": visible(one.prompt),
                "far": bool(columns.get("far", [False] * len(prompts))[row]),
                "groups": _groups(columns, row),
                "words": coloured_words(one, scale),
                "table": [(visible(w), v) for w, v in zip(one.words, one.values, strict=True)],
                "base": one.base,
                "prediction": one.prediction,
                "neighbours": [n._replace(prompt=visible(n.prompt)) for n in one.neighbours],
            }
            for row, one in enumerate(explained)
        ]
        source = "" if judged is None else judged.name
        measures = [measure_of(one) for one in sort_targets(filter(measure_of, columns))]
        limits = [one.limits for one in measures if one and one.limits]
        return {
            "cards": cards,
            "abouts": dict.fromkeys((one.title, one.about) for one in measures if one),
            "has_zero": any(low < 0 for low, _ in limits),
            "target": target,
            "note": NOTE,
            "source": source,
            "without": without,
            "sampled": any(one.permutations for one in explained),
        }

    def _judged(self, target: str) -> tuple[Any, str]:
        """Return the judged prompts of a target, or None and why there are none."""
        try:
            if not self.predictor.has_space:
                return None, ""
            return judged_here(self.predictor, target, self.data_dir), ""
        except PqppError as error:
            return None, str(error)


def _groups(columns: Mapping[str, Sequence[Any]], row: int) -> list[dict[str, Any]]:
    """Return the bars of a prompt by measure."""
    names = [one for one in columns if measure_of(one) or one == "score"]
    found: dict[str, list[Bar]] = {}
    for name in sort_targets(names):
        measure = measure_of(name)
        found.setdefault(measure.title if measure else name, []).append(_bar(columns, name, row))
    return [
        {"title": title, "bars": bars, "limits": bars[0].limits} for title, bars in found.items()
    ]


def _bar(columns: Mapping[str, Sequence[Any]], name: str, row: int) -> Bar:
    value, limits = columns[name][row], known_range(name)
    deviation = columns.get(f"{name}_deviation", [None] * (row + 1))[row]
    if value is None or deviation is None:
        return Bar(name, value, None, None, limits)
    low, high = value - Z90 * deviation, value + Z90 * deviation
    if limits is not None:
        low, high = max(low, limits[0]), min(high, limits[1])
    return Bar(name, value, low, high, limits)


def _listed(columns: Mapping[str, Sequence[Any]], targets: Sequence[str]) -> dict[str, Any]:
    """Return what the template of a list is filled with: its first rows, some targets."""
    shown = [one for one in targets if one in columns]
    count = min(_ROWS, len(columns["prompt"]))
    far = columns.get("far", [False] * count)
    rows = [
        (visible(columns["prompt"][row]), [_bar(columns, one, row) for one in shown], far[row])
        for row in range(count)
    ]
    return {"targets": shown, "rows": rows, "any_far": any(far)}


def _data_address(columns: Mapping[str, Sequence[Any]]) -> Markup:
    """Return the table as the address of a CSV file, which the server never writes."""
    text = "".join(table_text("csv", [columns])).encode("utf-8")
    return Markup("data:text/csv;charset=utf-8;base64,") + base64.b64encode(text).decode("ascii")
