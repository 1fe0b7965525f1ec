"""Predictions and explanations of prompts as HTML, for the demo."""

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_datasets.target_columns import explain_target, get_measure, sort_targets
from pqpp_files.open_input import Input
from pqpp_files.read_table import read_table
from pqpp_files.render_page import BarCell, render_page, render_table
from pqpp_files.table_formats import find_column, is_header
from pqpp_files.write_table import format_table
from pqpp_models.bench.protocol import group_by_key
from pqpp_models.errors import PredictorError
from pqpp_models.explain.explanation import NOTE
from pqpp_models.predict import choose_main_targets, order_targets, predict_columns
from pqpp_models.predictor import REFERENCE, Predictor
from pqpp_models.targets import Z90, find_range
from pqpp_models.verdict.verdict import PromptVerdicts, predict_verdicts

MOST_PROMPTS, MOST_LISTED, SIDE_BY_SIDE, LONGEST = 1000, 100, 4, 1000
"""The maximum number of prompts in total, in a table and side by side, and of characters."""

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Bar:
    """A prediction of one target as a bar.

    Attributes:
        words: A description of the target.
        value: The predicted value, None if there is none.
        low: Lower end of the 90% interval, clipped to the target's range; None if unknown.
        high: Upper end of the interval.
        limits: The target's range, None if unknown.
    """

    target: str
    words: str
    value: float | None
    low: float | None
    high: float | None
    limits: tuple[float, float] | None

    def to_percent(self, value: float) -> float:
        """Return the position of a value within `limits`, in percent.

        >>> Bar("mean_hbpp", "a score", 0.5, 0.2, 0.8, (-1.0, 2.0)).to_percent(0.5)
        50.0
        """
        low, high = self.limits or (0.0, 1.0)
        return round(100 * (value - low) / (high - low), 2)


def read_pasted_text(text: str | None) -> dict[str, list[Any]]:
    r"""Parse typed or pasted prompts, and return the columns without blank prompts.

    The text is a table if its first line has a cell `prompt`, else one prompt per line.

    Raises:
        PredictorError: There are no prompts or too many, or a prompt is too long or not text.
        FileError: A table is damaged.

    >>> read_pasted_text(" a red cat\r\n\ntwo dogs ")
    {'prompt': ['a red cat', 'two dogs']}
    >>> read_pasted_text("id;prompt\n007;a red cat\n")
    {'id': ['007'], 'prompt': ['a red cat']}
    """
    lines = re.split(r"\r\n|\r|\n", text or "")
    if re.search("[\ud800-\udfff]", text or ""):
        raise PredictorError("the text contains an incomplete character; type it again")
    columns: dict[str, list[Any]] = {"prompt": [line.strip() for line in lines]}
    if is_header(lines[0]):
        pasted = Input("-.csv", standard=io.BytesIO("\n".join(lines).encode()))
        pasted.name = "the table"
        table = read_table(pasted)
        columns = {name: table.values(name) for name in table.columns}
        # An exact name, since a guessed one would be in the log.
        columns["prompt"] = table.texts(find_column(table.columns, "prompt") or "prompt")
    rows = [row for row, prompt in enumerate(columns["prompt"]) if prompt.strip()]
    if not rows:
        raise PredictorError("no prompt; type a prompt, or paste several, one per line")
    if len(rows) > MOST_PROMPTS:
        fix = "paste fewer, or run: pqpp predict --file prompts.txt --output predicted.csv"
        raise PredictorError(f"{len(rows):,} prompts exceed the limit of {MOST_PROMPTS:,}; {fix}")
    for row in rows:
        if (length := len(columns["prompt"][row])) > LONGEST:
            what = f"prompt {row + 1} has {length:,} characters"
            raise PredictorError(f"{what}; shorten it to {LONGEST:,}")
    return {name: [cells[row] for row in rows] for name, cells in columns.items()}


def describe_target(target: str) -> str:
    """Return the name and the description of a target.

    >>> describe_target("mean_rr"), describe_target("score")
    ('reciprocal rank of the first relevant image, mean over models (mean_rr)', 'score')
    """
    words = explain_target(target) if get_measure(target) else target
    return target if words == target else f"{words} ({target})"


class AnswerRenderer:
    """A renderer of predictions and explanations for one predictor.

    Args:
        predictor: A predictor of texts.

    Attributes:
        targets: The targets that can be explained; the first is the default.

    Raises:
        PredictorError: The predictor needs more than texts.
    """

    def __init__(self, predictor: Predictor) -> None:
        predictor.explain([])  # raises for an unsuitable predictor
        self.predictor = predictor
        self.targets = choose_main_targets(predictor)

    def render(self, text: str | None, target: str | None = None) -> str:
        """Render the predictions and explanations of prompts as HTML.

        Args:
            text: One prompt per line, or a table.
            target: The target to explain; default: the first of `targets`.

        Raises:
            PredictorError: See `read_pasted_text`, or the target is not predicted.
        """
        pasted = read_pasted_text(text)
        prompts = self.predictor.read_rows(pasted["prompt"])
        targets, is_sure = order_targets(self.predictor, None), self.predictor.has_uncertainty
        verdicts = PromptVerdicts()
        if REFERENCE in self.predictor.details:
            columns, verdicts = predict_verdicts(self.predictor, prompts, targets, is_sure)
        else:
            columns = predict_columns(self.predictor, prompts, targets, is_sure)
        extra = columns | (verdicts.as_columns() if verdicts else {})
        clashes = (set(pasted) & set(extra)) - {"prompt"}
        extra = {f"{name}_predicted" if name in clashes else name: extra[name] for name in extra}
        # The file is a data URL, so the server never writes it.
        csv = format_table("csv", {**pasted, **extra}).encode("utf-8")
        facts = {
            "csv": Markup("data:text/csv;charset=utf-8;base64,") + base64.b64encode(csv).decode(),
            "count": len(prompts),
            "domain_note": self.predictor.domain_note,
            "direction": self.predictor.direction if self.predictor.is_scalar else "",
        }
        name = "list.html"
        if len(prompts) <= SIDE_BY_SIDE:
            name = "cards.html"
            facts |= self._make_cards(prompts, columns, verdicts, target or self.targets[0])
        else:
            facts |= _make_table(columns, verdicts, self.targets)
        return render_page(Path(__file__).with_name(name), **facts)

    def _make_cards(
        self, prompts: Sequence[Any], columns: Columns, verdicts: PromptVerdicts, target: str
    ) -> dict[str, Any]:
        explained = self.predictor.explain(prompts, target)
        ignored = list(columns.get("ignored", [""] * len(prompts)))
        for row, verdict in enumerate(verdicts):
            if verdict.level == "unknown" and isinstance(prompts[row], Prompt):
                ignored[row] = prompts[row].ignored_text  # the verdict explains the missing value
        names = sort_targets([name for name in columns if get_measure(name) or name == "score"])
        cards = []
        for row, explanation in enumerate(explained):
            pairs = (((get_measure(n) or n), _make_bar(columns, n, row)) for n in names)
            card = {
                "prompt": explanation.prompt,
                "verdict": verdicts[row] if verdicts else None,
                "out_of_domain": bool(columns.get("out_of_domain", [False] * len(prompts))[row]),
                "ignored": ignored[row],
                "groups": [
                    {"title": getattr(key, "title", key), "bars": bars, "limits": bars[0].limits}
                    for key, bars in group_by_key(pairs).items()
                ],
                "words": explanation.as_html() if explanation.changes else "",
                "changes": [(one.phrase, one.change) for one in explanation.changes],
            }
            cards.append(card)
        measures = list(filter(None, map(get_measure, names)))
        limits = [measure.limits for measure in measures if measure.limits]
        return {
            "cards": cards,
            "explanations": dict.fromkeys((measure.title, measure.about) for measure in measures),
            "has_zero": any(low < 0 for low, _ in limits),
            "target": describe_target(target),
            "note": NOTE,
        }


def _make_bar(columns: Columns, name: str, row: int) -> Bar:
    value, limits = columns[name][row], find_range(name)
    deviation = columns.get(f"{name}_deviation", [None] * (row + 1))[row]
    words = explain_target(name) if get_measure(name) else ""
    if value is None or deviation is None:
        return Bar(name, words, value, None, None, limits)
    low, high = value - Z90 * deviation, value + Z90 * deviation
    if limits is not None:
        low, high = max(low, limits[0]), min(high, limits[1])
    return Bar(name, words, value, low, high, limits)


def _make_table(
    columns: Columns, verdicts: PromptVerdicts, targets: Sequence[str]
) -> dict[str, Any]:
    """Return the template data for a sortable table of the first rows."""
    count = min(MOST_LISTED, len(columns["prompt"]))
    flags = columns.get("out_of_domain", [False] * count)[:count]
    if verdicts:
        table = PromptVerdicts(verdicts[:count]).as_html(sortable=True)
    else:
        bar_rows = ([_make_bar(columns, target, row) for target in targets] for row in range(count))
        rows = [
            (
                f"{prompt} (far)" if is_far else prompt,
                *(BarCell.make(bar.value, bar.limits, "{:.3f}") for bar in bars),
            )
            for prompt, is_far, bars in zip(columns["prompt"], flags, bar_rows, strict=False)
        ]
        table = render_table(("prompt", *targets), rows, sortable=True)
    return {"table": table, "shown": count, "any_out_of_domain": any(flags) and not verdicts}
