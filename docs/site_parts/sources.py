"""Hash the sources of the site, and write generated pages."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]


def compute_digest(root: Path) -> str:
    """Return a hash of the packages' sources and of the training scripts."""
    digest = hashlib.sha256()
    kernel = root / "docs" / "site_parts" / "kernel_startup.py"
    places = [root / "pqpp.py", *sorted(root.glob("pqpp_*/")), root / "training", kernel]
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and path.suffix != ".pyc":
                digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def write_changed(folder: Path, pages: Mapping[str, str]) -> None:
    """Write the changed pages to a folder, and remove files that are no longer among the pages."""
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    for path in folder.rglob("*.*"):
        if path.relative_to(folder).as_posix() not in pages:
            path.unlink()


def remove_front_matter(text: str) -> str:
    """Return a card's text without its YAML front matter."""
    return text.split("---\n", 2)[-1].lstrip() if text.startswith("---\n") else text
