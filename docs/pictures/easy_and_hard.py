"""Draw README's picture: the verdicts on easy and hard prompts, and which phrases make them so.

python docs/pictures/easy_and_hard.py docs/pictures/easy_and_hard.png

It is the HTML of `Explanation.as_html`, as a Chromium shows it.
"""

import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

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
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
STYLE = """
body { font: 16px/1.3 sans-serif; color: #1a1a1a; margin: 12px 16px; }
table { border-collapse: collapse; } th { color: #6b6b6b; font: 13px sans-serif; text-align: left; }
td { padding: 7px 28px 7px 0; white-space: nowrap; }
td + td { white-space: normal; } mark { padding: 2px 4px; border-radius: 3px; }
mark small { font-size: 10px; } i { display: block; height: 9px; background: #fdae61; }
i.easy { background: #6baed6; } div.bar { width: 400px; background: #e8e8e8; margin-bottom: 4px; }
"""
HEAD = "<th>how each phrase changes the predicted alignment<th>easier than N of 100 prompts"


def page() -> str:
    """Return the picture as HTML."""
    verdicts = sorted(pqpp.verdict(PROMPTS), key=lambda verdict: -verdict.value)
    explained = pqpp.Predictor.from_pretrained("static").explain(
        [verdict.prompt for verdict in verdicts], "alignment"
    )
    rows = "".join(
        f"<tr><td>{explanation.as_html()}<td><div class=bar>"
        f"<i class='{'' if 'hard' in verdict.level else 'easy'}' "
        f"style='width:{verdict.easier_than_people:.0f}%'></i></div>"
        f"{verdict.easier_than_people:.0f}: {escape(verdict.sentence)}"
        for verdict, explanation in zip(verdicts, explained, strict=True)
    )
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><table>{HEAD}{rows}</table>"


def draw(path: str) -> None:
    """Draw the picture into a file."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder:
        html = Path(folder) / "page.html"
        html.write_text(page(), encoding="utf-8")
        how = ["--headless", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1.5"]
        how += ["--window-size=1050,480", f"--screenshot={Path(path).absolute()}"]
        subprocess.run([browser, *how, html.as_uri()], check=True)


if __name__ == "__main__":
    draw(sys.argv[1])
