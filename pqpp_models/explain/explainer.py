"""Explaining many prompts, with the nearest judged ones."""

import logging
import sys
from collections.abc import Sequence
from typing import Any

from pqpp_files.errors import PqppError
from pqpp_files.visible import markdown_cell, visible
from pqpp_models.explain.explanation import NOTE
from pqpp_models.explain.neighbours import judged_here, with_neighbours
from pqpp_models.explain.page import scale_of

NEIGHBOURS = 3
_BAR = 12
_AT_ONCE = 64


class Explainer:
    """Explains what was predicted, for one run.

    Args:
        predictor: Of texts.
        targets: Of which the first is explained.
        neighbours: How many of the nearest judged prompts go with each prompt; as many as are usual
            if None, and then a note is logged where the judged prompts are not here.
        data_dir: Where judged prompts lie.

    Raises:
        PredictorError: The predictor needs more than texts.
    """

    def __init__(
        self,
        predictor: Any,
        targets: Sequence[str] | None = None,
        neighbours: int | None = None,
        data_dir: str | None = None,
    ) -> None:
        self.predictor = predictor
        predictor.explain([])  # refused before anything is predicted
        self.target = predictor.columns_for(None if predictor.one_score else targets)[0]
        self.count = NEIGHBOURS if neighbours is None else neighbours
        self.note = ""
        is_wanted = neighbours is not None and data_dir is not None
        self.judged = self._judged(data_dir, is_wanted) if self.count else None

    def _judged(self, data_dir: str | None, is_wanted: bool) -> Any:
        """Return the judged prompts, or None where they are not here, which is noted."""
        try:
            if not self.predictor.has_space:
                self.predictor.embed([])  # its own words
            return judged_here(self.predictor, self.target, data_dir)
        except PqppError as error:
            if is_wanted:
                raise
            self.note = f"without the nearest judged prompts: {error}"
            logging.getLogger(__name__).warning(self.note)
            return None

    def explain(self, prompts: Sequence[str]) -> list[Any]:
        """Return one explanation a prompt."""
        from tqdm import tqdm

        explanations: list[Any] = []
        starts = range(0, len(prompts), _AT_ONCE)
        is_silent = len(starts) < 2 or not sys.stderr.isatty()
        unit = f" x {_AT_ONCE} prompts"
        for start in tqdm(starts, "explaining", unit=unit, leave=None, disable=is_silent):
            explanations += self.predictor.explain(prompts[start : start + _AT_ONCE], self.target)
        if self.judged is None:
            return explanations
        return with_neighbours(self.predictor, explanations, self.judged, self.count)

    def column(self, prompts: Sequence[str]) -> dict[str, list]:
        """Return the column that files get."""
        explanations = self.explain(prompts)
        return {"explanation": [e.as_record() if e.words else None for e in explanations]}


def format_explanations(style: str, explanations: Sequence[Any]) -> str:
    """Return what a person reads below the predictions, as a `table` or in `markdown`."""
    scale = scale_of(explanations)
    parts = [_words_of(style, explanation, scale) for explanation in explanations]
    return "\n\n".join([*parts, f"adds: {NOTE}"])


def _words_of(style: str, explanation: Any, scale: float) -> str:
    from tabulate import tabulate

    is_markdown = style == "markdown"
    shown = markdown_cell if is_markdown else visible
    prompt = shown(" ".join(explanation.prompt.split()))
    if not explanation.words:
        return f"{prompt or '(blank)'}: no prediction"
    form = "github" if is_markdown else "simple"
    look: dict[str, Any] = {"tablefmt": form, "disable_numparse": True}
    sampled = any(explanation.errors)
    rows = []
    for word, value, error in zip(
        explanation.words, explanation.values, explanation.errors, strict=True
    ):
        adds = f"{value:+.3f} ± {error:.3f}" if sampled else f"{value:+.3f}"
        length = round(_BAR * min(1.0, abs(value) / scale)) if scale > 0 and value == value else 0
        rows.append((shown(" ".join(word.split())), adds, ("+" if value > 0 else "-") * length))
    header = ("word", "adds ± se" if sampled else "adds", "")
    table = tabulate(rows, header, colalign=("left", "right", "left"), **look)
    known = f"{explanation.target} {explanation.prediction:.3f} = {explanation.base:.3f}"
    text = f"{prompt}\n{known} without any word, and its words\n\n{table}"
    if explanation.ignored:
        text += f"\n\nnot read: {shown(explanation.ignored)}"
    if explanation.neighbours:
        near = [
            (shown(" ".join(n.prompt.split())), f"{n.value:.3f}", f"{n.similarity:.2f}")
            for n in explanation.neighbours
        ]
        titles = ("nearest judged prompts", "judged", "similarity")
        text += "\n\n" + tabulate(near, titles, colalign=("left", "right", "right"), **look)
    return text
