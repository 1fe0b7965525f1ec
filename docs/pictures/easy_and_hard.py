"""Draw README's picture: the verdicts on easy and hard prompts, and which words make them so.

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
    "a street sign that says 'NO PARKING'",
    "a horse without legs",
    "two men in suits juggle seven oranges",
)
BLUE, ORANGE, INK, QUIET = "#0072B2", "#D55E00", "#1a1a1a", "#6b6b6b"
LEAST, MOST = 0.03, 0.2  # a word that adds less is not coloured; from the second on, fully


def draw(path: str) -> None:
    """Draw the picture into a file."""
    verdicts = sorted(pqpp.verdict(PROMPTS), key=lambda verdict: -verdict.value)
    explained = pqpp.Predictor.from_pretrained("static").explain(
        [verdict.prompt for verdict in verdicts], "alignment"
    )
    figure = Figure(figsize=(9.6, 4.6), dpi=140)
    canvas = FigureCanvasAgg(figure)
    words = figure.add_axes((0.01, 0.02, 0.47, 0.9))
    bars = figure.add_axes((0.5, 0.02, 0.49, 0.9))
    for axes in (words, bars):
        axes.set(xlim=(0, 1), ylim=(len(verdicts) - 0.5, -0.5))
        axes.axis("off")
    head = {"color": QUIET, "fontsize": 9, "va": "bottom"}
    words.text(0, -0.62, "what raises and what lowers the prediction", **head)
    bars.text(0, -0.62, "easier than so many of 100 prompts that people wrote, and why", **head)
    for row, (verdict, explanation) in enumerate(zip(verdicts, explained, strict=True)):
        _write(words, canvas, row, explanation)
        share = verdict.easier_than_people / 100
        bars.barh(row - 0.2, 1, 0.22, color="#e8e8e8")
        bars.barh(row - 0.2, share, 0.22, color=ORANGE if "hard" in verdict.level else BLUE)
        bars.text(
            0,
            row + 0.18,
            f"{100 * share:.0f}: {verdict.sentence}",
            va="center",
            color=INK,
            fontsize=9.5,
        )
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
