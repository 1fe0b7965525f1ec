"""Draw README's picture: the verdicts on easy and hard prompts, and which phrases make them so.

python docs/pictures/easy_and_hard.py docs/pictures/easy_and_hard.svg
"""

import sys
from html import escape
from pathlib import Path

import pqpp

PROMPTS = (
    "a dog on a beach",
    "a man riding a wave on a surfboard",
    "a dog behind a car",
    "a bench left of a bicycle",
    "a horse without legs",
    "a street sign that says 'NO PARKING'",
    "two men in suits juggle seven oranges",
)
WIDTH, ROW, MARGIN, LETTER = 440, 58, 16, 9.6
STYLE = """
svg { font: 13px sans-serif; fill: #1a1a1a; } .panel { fill: #fff; stroke: #d8d8d8; }
.prompt { font: 16px monospace; } .note { fill: #595959; } .bar { fill: #e4e4e4; }
.raises, .easy { fill: #4a97d0; } .lowers, .hard { fill: #f59a3c; }
@media (prefers-color-scheme: dark) {
svg { fill: #f4f4f4; } .panel { fill: #131416; stroke: #444; } .note { fill: #b5b5b5; }
.bar { fill: #333; } .raises { fill: #1d6aa8; } .lowers { fill: #a05500; } }
"""


def draw_prompt(explanation, y: int) -> str:
    """Return a prompt whose phrases are coloured by their effect."""
    parts, x = [], float(MARGIN)
    for text, change in explanation.iterate_pieces():
        width = LETTER * len(text)
        strength = explanation.get_strength(change or 0)
        if strength:
            kind = "raises" if strength > 0 else "lowers"
            parts.append(
                f'<rect class="{kind}" fill-opacity="{abs(strength):.2f}" x="{x - 2:.1f}" '
                f'y="{y - 16}" width="{width + 4:.1f}" height="22" rx="3"/>'
            )
        if text.strip():
            start = x + LETTER * (len(text) - len(text.lstrip()))
            width = LETTER * len(text.strip())
            parts.append(
                f'<text class="prompt" x="{start:.1f}" y="{y}" textLength="{width:.1f}">'
                f"{escape(text.strip())}</text>"
            )
        x += LETTER * len(text)
    return "".join(parts)


def draw() -> str:
    """Return the picture."""
    verdicts = sorted(pqpp.verdict(PROMPTS), key=lambda verdict: -verdict.value)
    explained = pqpp.Predictor.from_pretrained("static").explain(
        [verdict.prompt for verdict in verdicts], "alignment"
    )
    height = ROW * len(verdicts) + 40
    parts = [
        f'<rect class="panel" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>'
    ]
    for number, (verdict, explanation) in enumerate(zip(verdicts, explained, strict=True)):
        y = 30 + ROW * number
        kind = "hard" if "hard" in verdict.level else "easy"
        rank = verdict.easier_than_people
        parts.append(draw_prompt(explanation, y))
        parts.append(f'<rect class="bar" x="{MARGIN}" y="{y + 14}" width="60" height="8"/>')
        parts.append(
            f'<rect class="{kind}" x="{MARGIN}" y="{y + 14}" width="{0.6 * rank:.1f}" height="8"/>'
        )
        text = f"{rank:.0f}, {verdict.sentence}"
        parts.append(f'<text x="{MARGIN + 68}" y="{y + 22}">{escape(text)}</text>')
    legend = "easier than N of 100 prompts; blue raises, orange lowers it"
    parts.append(f'<text class="note" x="{MARGIN}" y="{height - 14}">{legend}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
