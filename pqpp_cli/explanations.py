"""What `--explain` adds to predictions: tables below each prompt, a column in files, a page."""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

NEIGHBOURS = 3
_BAR = 12
_AT_ONCE = 64


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add `--explain` and `--neighbours`."""
    parser.add_argument(
        "--explain",
        action="store_true",
        help="also say what each word adds to the prediction of the first target; in files, a "
        "column `explanation`. These are contributions to the prediction, not causes",
    )
    parser.add_argument(
        "--neighbours",
        type=int,
        metavar="K",
        help="with --explain: also show the K nearest prompts that people judged, where the "
        f"training data are here and the predictor has a space (default: {NEIGHBOURS}; 0: none)",
    )


class Explainer:
    """Explains what was predicted, for one run of a command.

    Args:
        predictor: Of texts.
        options: With `targets`, `neighbours` and `data_dir`.

    Raises:
        PredictorError: The predictor needs more than texts.
    """

    def __init__(self, predictor: Any, options: argparse.Namespace) -> None:
        self.predictor = predictor
        predictor.explain([])  # refused before anything is predicted
        asked = None if predictor.one_score else options.targets
        self.target = predictor.columns_for(asked)[0]
        self.count = NEIGHBOURS if options.neighbours is None else options.neighbours
        self.judged, self.note = self._judged(options)
        self.done, self.seconds = 0, 0.0

    def _judged(self, options: argparse.Namespace) -> tuple[Any, str]:
        """Return the judged prompts, or None and the reason, which is said once."""
        from pqpp_files.errors import PqppError
        from pqpp_models.alignment.judged import judged_prompts

        if not self.count:
            return None, ""
        try:
            if not self.predictor.has_space:
                self.predictor.embed([])  # its own words
            return judged_prompts(self.predictor, self.target, options.data_dir), ""
        except PqppError as error:
            if options.neighbours is not None and options.data_dir:
                raise
            note = f"without the nearest judged prompts: {error}"
            print(f"pqpp: note: {note}", file=sys.stderr)
            return None, note

    def explain(self, prompts: Sequence[str]) -> list[Any]:
        """Return one explanation a prompt."""
        from pqpp_models.explain.neighbours import with_neighbours

        started = time.perf_counter()
        found: list[Any] = []
        for start in self._starts(len(prompts)):
            found += self.predictor.explain(prompts[start : start + _AT_ONCE], self.target)
        self.seconds += time.perf_counter() - started
        self.done += len(found)
        if self.judged is None:
            return found
        return with_neighbours(self.predictor, found, self.judged, self.count)

    def _starts(self, count: int) -> Iterable[int]:
        """Return where blocks of prompts begin, with a bar where there are many and one looks."""
        starts = range(0, count, _AT_ONCE)
        if len(starts) < 2 or not sys.stderr.isatty():
            return starts
        from tqdm import tqdm

        return tqdm(starts, desc="explaining", unit=f" x {_AT_ONCE} prompts", leave=None)

    def column(self, prompts: Sequence[str]) -> dict[str, list]:
        """Return the column that files get."""
        found = self.explain(prompts)
        return {"explanation": [one.as_record() if one.words else None for one in found]}

    def told(self) -> str:
        """Return in a line how long it took."""
        prompts = f"{self.done} prompt{'' if self.done == 1 else 's'}"
        return f"pqpp: note: explained {prompts} in {self.seconds:.2f} s"


def format_explanations(style: str, found: Sequence[Any]) -> str:
    """Return what a person reads below the predictions, as a `table` or in `markdown`."""
    from pqpp_models.explain.explanation import NOTE
    from pqpp_models.explain.page import scale_of

    scale = scale_of(found)
    parts = [_one(style, one, scale) for one in found]
    return "\n\n".join([*parts, f"adds: {NOTE}"])


def _one(style: str, one: Any, scale: float) -> str:
    from tabulate import tabulate

    from pqpp_files.visible import markdown_cell, visible

    is_markdown = style == "markdown"
    shown = markdown_cell if is_markdown else visible
    prompt = shown(" ".join(one.prompt.split()))
    if not one.words:
        return f"{prompt or '(blank)'}: no prediction"
    look: dict[str, Any] = {
        "tablefmt": "github" if is_markdown else "simple",
        "disable_numparse": True,
    }
    sampled = any(one.errors)
    rows = []
    for word, value, error in zip(one.words, one.values, one.errors, strict=True):
        adds = f"{value:+.3f} ± {error:.3f}" if sampled else f"{value:+.3f}"
        length = round(_BAR * min(1.0, abs(value) / scale)) if scale > 0 and value == value else 0
        rows.append((shown(" ".join(word.split())), adds, ("+" if value > 0 else "-") * length))
    header = ("word", "adds ± se" if sampled else "adds", "")
    table = tabulate(rows, header, colalign=("left", "right", "left"), **look)
    known = f"{one.target} {one.prediction:.3f} = {one.base:.3f} without any word, and its words"
    text = f"{prompt}\n{known}\n\n{table}"
    if one.neighbours:
        near = [
            (shown(" ".join(n.prompt.split())), f"{n.value:.3f}", f"{n.similarity:.2f}")
            for n in one.neighbours
        ]
        titles = ("nearest judged prompts", "judged", "similarity")
        text += "\n\n" + tabulate(near, titles, colalign=("left", "right", "right"), **look)
    return text
