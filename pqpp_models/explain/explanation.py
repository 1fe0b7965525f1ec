"""Explanations: how much a phrase raises or lowers the prediction of its prompt.

A change is the prediction of the prompt minus that of the prompt without the phrase; the rest is
still English (`pqpp_backbones.prompt.leaving_out`). Changes do not add up, and are not causes of
what images look like.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from pqpp_files.escape import escape_controls
from pqpp_models.targets import find_range

if TYPE_CHECKING:
    import pandas as pd

NOTE = "the prediction minus that of the prompt without the phrase"
"""The note next to changes."""

_RAISES, _LOWERS, _PAPER = (107, 174, 214), (253, 174, 97), (255, 255, 255)
_MIN_CHANGE, _STRONG_SHARE = 0.005, 0.2


class Change(NamedTuple):
    """A phrase of a prompt, and its effect on the prediction.

    Attributes:
        start: Index of its first character in the prompt as typed.
        end: Index after its last character.
        change: The prediction of the prompt minus that of the rest, in the target's unit; positive
            if the phrase raises it.
    """

    phrase: str
    start: int
    end: int
    change: float


@dataclass(frozen=True)
class Explanation:
    """The effect of each phrase of a prompt on its prediction.

    Attributes:
        prompt: The prompt as typed.
        prediction: The prediction; NaN if the prompt is blank or cannot be read.
        changes: One per phrase, in order. There are none for a single word, for a prompt that
            cannot be read, or for ignored text.
    """

    prompt: str
    target: str
    prediction: float
    changes: tuple[Change, ...] = ()

    def get_strength(self, change: float) -> float:
        """Return a change relative to a fifth of the target's range, clipped to -1 .. 1.

        If the range is unknown, a change is relative to the largest one in the prompt.

        >>> Explanation("a red cat", "alignment", 0.7).get_strength(-0.1)
        -0.5
        """
        limits = find_range(self.target)
        largest = max((abs(one.change) for one in self.changes), default=0.0)
        full_change = _STRONG_SHARE * (limits[1] - limits[0]) if limits else largest
        return max(-1.0, min(1.0, change / full_change)) if abs(change) >= _MIN_CHANGE else 0.0

    def iterate_pieces(self) -> Iterator[tuple[str, float | None]]:
        """Yield the pieces of the prompt, each with its change or None.

        >>> changes = (Change("red", 2, 5, 0.1),)
        >>> list(Explanation("a red cat", "alignment", 0.7, changes).iterate_pieces())
        [('a ', None), ('red', 0.1), (' cat', None)]
        """
        position = 0
        for _, start, end, change in self.changes:
            if position < start:
                yield self.prompt[position:start], None
            yield self.prompt[start:end], change
            position = end
        if position < len(self.prompt):
            yield self.prompt[position:], None

    def as_html(self) -> Markup:
        """Return the prompt as HTML: phrases that raise the prediction are blue, others orange.

        The signed change follows each phrase.

        >>> str(Explanation("a <b>", "alignment", 0.7).as_html())
        '<div class="words" dir="auto">a &lt;b&gt;</div>'
        """
        mark = Markup('<mark style="background:{};color:#111">{} <small>{:+z.2f}</small></mark>')
        parts = []
        for text, change in self.iterate_pieces():
            if change is None:
                parts.append(Markup("{}").format(escape_controls(text, "\n\t")))
                continue
            strength = self.get_strength(change)
            endpoints = zip(_PAPER, _RAISES if strength > 0 else _LOWERS, strict=True)
            channels = (round(n + abs(strength) * (e - n)) for n, e in endpoints)
            colour = "#" + "".join(f"{channel:02x}" for channel in channels)
            parts.append(mark.format(colour, escape_controls(text), change))
        return Markup('<div class="words" dir="auto">{}</div>').format(Markup("").join(parts))

    _repr_html_ = as_html

    def as_table(self) -> pd.DataFrame:
        """Return a table of the phrases with the columns `phrase`, `start`, `end` and `change`."""
        import pandas as pd

        return pd.DataFrame(self.changes, columns=list(Change._fields))

    def as_record(self) -> dict[str, Any]:
        """Return the explanation as a dict for JSON.

        >>> Explanation("a cat", "alignment", 0.7).as_record()
        {'target': 'alignment', 'changes': []}
        """
        return {"target": self.target, "changes": [one._asdict() for one in self.changes]}
