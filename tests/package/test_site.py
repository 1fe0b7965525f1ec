"""The documentation site: every page has its place, links lead somewhere, the build is clean."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if path.relative_to(DOCS).parts[0] not in ("_build", "made", "site_parts")
)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")


def named_in_toctrees(page):
    """The pages that a page's toctrees name, those of patterns too, as paths below `docs`."""
    for block in TOCTREE.findall(page.read_text("utf-8")):
        for line in filter(None, (line.strip() for line in block.splitlines())):
            if not line.startswith(":"):
                start = DOCS if line.startswith(("/", "made/")) else page.parent
                yield from start.glob(f"{line.lstrip('/')}.md")
                if "*" not in line and not line.lstrip("/").startswith("made/"):
                    assert (start / f"{line}.md").is_file(), f"{page.name}: {line}"


def test_every_page_is_reached_from_the_front_page():
    reached, ahead = set(), [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            ahead.extend(named_in_toctrees(page))
    assert set(PAGES) <= reached, sorted(set(PAGES) - reached)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text("utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target


@pytest.fixture
def links(monkeypatch):
    pytest.importorskip("docutils", reason="needs the extra `docs`")
    monkeypatch.syspath_prepend(DOCS)
    yield __import__("site_parts.links", fromlist=["links"])
    for name in [name for name in sys.modules if name.startswith("site_parts")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "folder", "led"),
    [
        ("[a](docs/scale.md)", ".", "[a](/scale.md)"),
        ("![a](pictures/a.png)", "docs", "![a](/pictures/a.png)"),
        ("[a](../benchmarks/onnx.md#b)", "docs", "[a](/made/benchmarks/onnx.md#b)"),
        ("[a](../../CHANGELOG.md)", "docs/tutorials", "[a](/made/project/changelog.md)"),
        ("[a](../pqpp_metrics/cc/README.md)", "docs", "[a](/made/metrics/cc.md)"),
        ("[a](https://example.org/docs/a.md)", ".", "[a](https://example.org/docs/a.md)"),
        ("[a](#below)", "docs", "[a](#below)"),
    ],
)
def test_links_of_the_repository_lead_to_pages_of_the_site(links, text, folder, led):
    assert links.to_site(text, folder) == led


NAMED = re.compile(r"\{py:obj\}`([\w.]+)`")
TESTED = re.compile(r"`(tests/[\w/.]+)(?:::(\w+))?`")


@pytest.mark.parametrize("page", sorted((DOCS / "how").glob("*.md")), ids=lambda page: page.stem)
def test_functions_and_tests_that_a_page_names_are_there(page):
    text = page.read_text("utf-8")
    for name in NAMED.findall(text):
        module, _, one = name.rpartition(".")
        home = ROOT / module.replace(".", "/")
        if not (home / one).is_dir():
            source = home.with_suffix(".py").read_text("utf-8")
            assert re.search(rf"^(def|class) {one}\b", source, re.MULTILINE), name
    for path, test in TESTED.findall(text):
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text("utf-8"), test
