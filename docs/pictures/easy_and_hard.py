"""Draw README's picture: easy and hard prompts, and which words make them so.

python docs/pictures/easy_and_hard.py docs/pictures/easy_and_hard.png
"""

import sys

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import pqpp

PROMPTS = (
    "a dog on a beach",
    "a man riding a wave on a surfboard",
    "a bowl of fruit on a wooden table",
    "a green bench left of a blue elephant",
    "three cats and a clock under a bridge",
    "a street sign that says NO PARKING",
    "a horse without legs",
    "two men in suits juggle seven oranges",
)
BLUE, ORANGE, INK, QUIET = "#0072B2", "#D55E00", "#1a1a1a", "#6b6b6b"
LEAST, MOST = 0.03, 0.2  # a word that adds less is not coloured; from the second on, fully


def draw(path: str) -> None:
    """Draw the picture into a file."""
    predictor = pqpp.Predictor.from_pretrained("static")
    found = sorted(predictor.explain(PROMPTS, "alignment"), key=lambda one: -one.prediction)
    figure = Figure(figsize=(8.4, 3.5), dpi=160)
    canvas = FigureCanvasAgg(figure)
    words = figure.add_axes((0.01, 0.03, 0.5, 0.85))
    bars = figure.add_axes((0.53, 0.03, 0.45, 0.85))
    for axes in (words, bars):
        axes.set(ylim=(len(found) - 0.5, -0.5))
        axes.axis("off")
    words.set(xlim=(0, 1))
    bars.set(xlim=(0, 1))
    head = {"color": QUIET, "fontsize": 9, "va": "bottom"}
    words.text(0, -0.6, "what raises and what lowers the prediction", **head)
    bars.text(0, -0.6, "share of people who would say the image fits", **head)
    for row, one in enumerate(found):
        _write(words, canvas, row, one)
        bars.barh(row, one.prediction, 0.5, color=BLUE if one.prediction > 0.55 else ORANGE)
        at = one.prediction + 0.02
        bars.text(at, row, f"{one.prediction:.2f}", va="center", fontsize=11, color=INK)
    figure.savefig(path, metadata={"Software": None})


def _write(axes, canvas, row, explanation) -> None:
    """Write a prompt word by word, each on the colour of what it adds."""
    at = 0.0
    for word, value in zip(explanation.words, explanation.values, strict=True):
        strength = min(max(abs(value) - LEAST, 0) / (MOST - LEAST), 1) * 0.75
        colour = BLUE if value > 0 else ORANGE
        box = {"boxstyle": "round,pad=0.18", "linewidth": 0, "facecolor": colour}
        box["alpha"] = strength + 0.12 if strength else 0
        shown = axes.text(at, row, word, va="center", fontsize=12.5, color=INK, bbox=box)
        extent = shown.get_window_extent(canvas.get_renderer())
        at = axes.transData.inverted().transform((extent.x1, 0))[0] + 0.022


if __name__ == "__main__":
    draw(sys.argv[1])
