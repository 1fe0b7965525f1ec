"""Doing what CONTRIBUTING says: its code blocks become files of a copy of the checkout."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?:#|\{#|<!--) ([\w./-]+/[\w.-]+)(?: #\}| -->)?")


def copy_of_the_checkout(folder: Path) -> Path:
    """Copy the packages, the cards and the tests' own support."""
    for path in [*ROOT.glob("pqpp*"), ROOT / "hub_cards", ROOT / "tests" / "support"]:
        place = folder / path.relative_to(ROOT)
        if path.is_dir():
            shutil.copytree(path, place, ignore=shutil.ignore_patterns("__pycache__", "weights"))
        else:
            shutil.copy(path, place)
    for name in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def follow(heading: str, folder: Path) -> list[str]:
    """Write the named code blocks of a section of CONTRIBUTING, and return their paths."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]
    written = []
    for block in _BLOCK.findall(section):
        first, _, rest = block.partition("\n")
        named = _NAMED.fullmatch(first)
        if named:
            place = folder / named[1]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(rest if first.startswith("<!--") else block, "utf-8")
            written.append(named[1])
    return written
