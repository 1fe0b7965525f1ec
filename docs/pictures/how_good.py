"""Draw how good the shipped predictor is: correlations with 95% intervals, as an SVG.

python docs/pictures/how_good.py docs/pictures/how_good.svg

The figures are those of the tables of docs/worth.md.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "worth.md"
WIDTH, ROW, LEFT, RIGHT = 440, 24, 132, 426
LOW, HIGH = -0.25, 0.85
STYLE = """
svg { font: 14px sans-serif; fill: #1a1a1a; } .panel { fill: #fff; stroke: #d8d8d8; }
.grid { stroke: #d8d8d8; } .zero { stroke: #8a8a8a; } .pqpp { fill: #0066a6; stroke: #0066a6; }
.words { fill: none; stroke: #767676; } .published { fill: none; stroke: #b84a00; }
.cover { fill: #fff; }
.note { fill: #595959; font-size: 13px; } .head { font-weight: bold; }
@media (prefers-color-scheme: dark) {
svg { fill: #eee; } .panel { fill: #131416; stroke: #444; } .grid { stroke: #3a3a3a; }
.zero { stroke: #777; } .pqpp { fill: #5ab4f0; stroke: #5ab4f0; }
.words { stroke: #a0a0a0; } .published { stroke: #ff9d5c; } .cover { fill: #131416; }
.note { fill: #b5b5b5; } }
"""


def read_tables() -> list[list[list[str]]]:
    """Return the tables of the page as rows of cells."""
    blocks = re.findall(r"(?:^\|.*\n)+", PAGE.read_text("utf-8"), re.MULTILINE)
    return [[line.strip("|").split("|") for line in block.split("\n")[2:-1]] for block in blocks]


def find_numbers(cell: str) -> list[float]:
    """Return the numbers of a cell.

    >>> find_numbers(" .590 [.561, .618] "), find_numbers(" -.13 to .36 ")
    ([0.59, 0.561, 0.618], [-0.13, 0.36])
    """
    return [float(number) for number in re.findall(r"-?\.\d+", cell)]


def list_rows() -> list[tuple]:
    """Return titles, and rows of label, value, interval, counting words and published values."""
    summary, targets, studies = read_tables()
    published = {
        row[0]: [find_numbers(cell)[0] for cell in row[1:4]]
        for row in targets
        if "published" in row[0]
    }
    rows: list[tuple] = [("PQPP validation, Pearson's r",)]
    for index, (label, ours, words) in enumerate(summary[:3]):
        name = label.split(",")[0].strip()
        value, *ends = find_numbers(ours)
        theirs = [values[index] for values in published.values()]
        rows.append((name, value, ends, find_numbers(words)[0], theirs))
    rows.append(("Studies left out, prompt adherence, Spearman",))
    for name, _, value, ends, words, *_ in studies:
        label = name.strip().replace(", half", "").replace("mean", "mean of nine")
        rows.append((label, find_numbers(value)[0], find_numbers(ends), find_numbers(words)[0], []))
    return rows


def to_x(value: float) -> float:
    """Return the horizontal position of a correlation."""
    return LEFT + (RIGHT - LEFT) * (value - LOW) / (HIGH - LOW)


def draw_diamond(x: float, y: float, kind: str) -> str:
    """Return a hollow diamond as SVG."""
    return f'<path class="{kind}" stroke-width="1.5" d="M{x:.1f} {y - 5}l5 5-5 5-5-5z"/>'


def draw() -> str:
    """Return the picture."""
    rows = list_rows()
    bottom = 20 + ROW * len(rows)
    height = bottom + 62
    parts = [
        f'<rect class="panel" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>'
    ]
    for tick in (0, 0.2, 0.4, 0.6, 0.8):
        x = to_x(tick)
        kind = "grid" if tick else "zero"
        parts.append(f'<path class="{kind}" d="M{x:.1f} 14V{bottom}"/>')
        label = f"{tick:.1f}".lstrip("0") if tick else "0"
        where = f'x="{x:.1f}" y="{bottom + 16}" text-anchor="middle"'
        parts.append(f'<text class="note" {where}>{label}</text>')
    for number, (label, *figures) in enumerate(rows):
        y = 26 + ROW * number
        kind = "" if figures and label != "mean of nine" else ' class="head"'
        if not figures:
            parts.append(f'<path class="cover" d="M2 {y - 12}H{WIDTH - 2}v24H2z"/>')
        parts.append(f'<text{kind} x="14" y="{y + 5}">{label}</text>')
        if figures:
            value, ends, words, published = figures
            low, high = map(to_x, ends)
            parts.append(f'<path class="pqpp" stroke-width="3" d="M{low:.1f} {y}H{high:.1f}"/>')
            parts.append(f'<circle class="pqpp" cx="{to_x(value):.1f}" cy="{y}" r="4.5"/>')
            parts.append(draw_diamond(to_x(words), y, "words"))
            parts += [draw_diamond(to_x(one), y, "published") for one in published]
    y = bottom + 42
    legend = (("pqpp, 95% interval", 24), ("counting words", 184), ("published, test", 312))
    parts.append(f'<path class="pqpp" stroke-width="3" d="M12 {y}h24"/>')
    parts.append(f'<circle class="pqpp" cx="24" cy="{y}" r="4.5"/>')
    parts += [draw_diamond(x, y, kind) for x, kind in ((184, "words"), (312, "published"))]
    parts += [f'<text class="note" x="{x + 16}" y="{y + 5}">{text}</text>' for text, x in legend]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
