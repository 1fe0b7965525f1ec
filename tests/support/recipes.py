"""Follows CONTRIBUTING's recipes: its code blocks become files of a copy of the checkout."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE_NAME = re.compile(r"(?:#|//|\{#|<!--) ([\w./-]+/[\w.-]+)(, at its end)?(?: #\}| -->)?")


def copy_checkout(folder: Path) -> Path:
    """Copy the packages, the cards and the tests."""
    for path in [*ROOT.glob("pqpp*"), ROOT / "hub_cards", ROOT / "tests"]:
        target = folder / path.relative_to(ROOT)
        if path.is_dir():
            shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, target)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def copy_repository(folder: Path) -> Path:
    """Copy the checkout into a new repository, without environments, caches and builds."""
    outputs = (".git", ".venv*", "build", "_build", "made", "dist", "*.egg-info", "__pycache__")
    caches = (".*_cache", ".hypothesis")
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*outputs, *caches))
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    return folder


def write_blocks(heading: str, folder: Path) -> list[str]:
    """Write the named code blocks of a section of CONTRIBUTING, and return their paths."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    # A block may contain headings.
    ending = r"(?=^## (?:Add|Real)|\Z)"
    section = re.search(rf"^## {heading}\n(.*?){ending}", text, re.DOTALL | re.MULTILINE)[1]
    paths = []
    for block in _BLOCK.findall(section):
        first, _, rest = block.partition("\n")
        if name := _FILE_NAME.fullmatch(first):
            path = folder / name[1]
            assert path.is_file() == bool(name[2]), f"{name[1]}: a new file, or `, at its end`"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(rest if first.startswith("<!--") or name[2] else block)
            paths.append(name[1])
    return paths
