"""Generate pages from files of the repository outside `docs/`."""

from site_parts.links import to_site
from site_parts.sources import ROOT

_PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def make_pages() -> dict[str, str]:
    """Return the generated pages: reStructuredText or Markdown by path below `made`."""
    made = {f"project/{name.lower()}": _read(name, ".") for name in _PROJECT}
    for title, name in {"Licence": "LICENSE", "Citation": "CITATION.cff"}.items():
        text = (ROOT / name).read_text("utf-8")
        made[f"project/{title.lower()}.md"] = f"# {title}\n\n```text\n{text.rstrip()}\n```\n"
    for path in sorted((ROOT / "benchmarks").glob("*.md")):
        made[f"benchmarks/{path.name}"] = _read(f"benchmarks/{path.name}", "benchmarks")
    return made


def _read(name: str, folder: str) -> str:
    return to_site((ROOT / name).read_text("utf-8"), folder)
