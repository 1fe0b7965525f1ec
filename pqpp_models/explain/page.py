"""Explanations as HTML: each word on a colour that says what it adds, blue more, orange less.

Blue and orange are told apart by people with any common kind of colour blindness, and each word has
its number with a sign below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_files.render_page import render_page
from pqpp_files.visible import visible
from pqpp_models.explain.explanation import NOTE, Explanation

if TYPE_CHECKING:
    from markupsafe import Markup

_MORE, _NONE, _LESS = (107, 174, 214), (255, 255, 255), (253, 174, 97)

STYLE = (
    ".words{line-height:2.6}.words span{display:inline-block;text-align:center;line-height:1.2;"
    "padding:.1rem .25rem;margin:0 .1rem;border-radius:3px;color:#111;white-space:pre-wrap}"
    ".words small{display:block;font-size:.7em}"
)
"""What the template of a page with `coloured_words` has in its style."""


def scale_of(explanations: Iterable[Explanation]) -> float:
    """Return the largest contribution without its sign, which gets the full colour; 0 of none.

    It is 0 too where all of them are shown as 0.000: such words get no bar and no colour.

    >>> scale_of([])
    0.0
    """
    values = (abs(value) for explanation in explanations for value in explanation.values)
    largest = max((value for value in values if value == value), default=0.0)
    return largest if largest >= 0.0005 else 0.0


def colour_of(value: float, scale: float) -> str:
    """Return the colour of a contribution, white for none.

    >>> colour_of(0.5, 0.5), colour_of(-0.5, 0.5), colour_of(0.0, 0.5)
    ('#6baed6', '#fdae61', '#ffffff')
    """
    share = min(1.0, abs(value) / scale) if scale > 0 and value == value else 0.0
    end = _MORE if value > 0 else _LESS
    mixed = (round(n + share * (e - n)) for n, e in zip(_NONE, end, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def coloured_words(explanation: Explanation, scale: float) -> Markup:
    """Return the words of a prompt on their colours, escaped; a blank prompt as a dash.

    Args:
        explanation: The explanation.
        scale: The contribution that gets the full colour.
    """
    from markupsafe import Markup

    span = Markup('<span dir="auto" title="{}" style="background:{}">{}<small>{}</small></span>')
    parts = [
        span.format(
            f"{value:+.4f} ± {error:.4f}" if error else f"{value:+.4f}",
            colour_of(value, scale),
            visible(" ".join(word.split())),
            f"{value:+.3f}",
        )
        for word, value, error in zip(
            explanation.words, explanation.values, explanation.errors, strict=True
        )
    ]
    return Markup('<div class="words">{}</div>').format(Markup(" ").join(parts) or "–")


def render_explanations(
    explanations: Sequence[Explanation], predictor: str, direction: str = "", note: str = ""
) -> str:
    """Return a self-contained HTML page with coloured prompts and their nearest judged ones.

    Args:
        explanations: Of one target.
        predictor: Its name.
        direction: What a higher prediction means, in words, where that has to be said.
        note: Something more to say, like why there are no neighbours.
    """
    scale = scale_of(explanations)
    steps = [scale * step / 4 for step in range(-4, 5)] if scale else []
    return render_page(
        Path(__file__).with_name("page.html"),
        predictor=visible(predictor),
        target=explanations[0].target if explanations else "",
        style=STYLE,
        caution=NOTE,
        notes=[visible(line) for line in (direction, note) if line],
        legend=[(f"{value:+.3f}", colour_of(value, scale)) for value in steps],
        sampled=any(explanation.permutations for explanation in explanations),
        rows=[
            {
                "blank": not explanation.words,
                "words": coloured_words(explanation, scale),
                "ignored": visible(explanation.ignored),
                "prediction": explanation.prediction,
                "base": explanation.base,
                "neighbours": [
                    (visible(n.prompt), n.value, n.similarity) for n in explanation.neighbours
                ],
            }
            for explanation in explanations
        ],
    )
