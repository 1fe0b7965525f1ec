"""The documentation site: every page is reached, links exist, the build has no warnings."""

import functools
import http.server
import importlib
import os
import re
import subprocess
import sys
import threading
from configparser import ConfigParser
from pathlib import Path

import pytest
from support.browser import browser, iterate_modes, make_visitor, run_axe, save_screenshot  # noqa: F401

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = ConfigParser()
SETTINGS.read(ROOT / "setup.cfg", "utf-8")
VERSION = SETTINGS["metadata"]["version"]
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if path.relative_to(DOCS).parts[0] not in ("_build", "made", "site_parts")
)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)[^)]*\)")


def read(page):
    return page.read_text("utf-8")


def find_toctree_pages(page):
    """Yield the paths of pages that a page's toctrees name, also by patterns."""
    for block in TOCTREE.findall(page.read_text("utf-8")):
        for line in filter(None, (line.strip() for line in block.splitlines())):
            if not line.startswith((":", "/made/")):
                yield from page.parent.glob(f"{line}.md")
                if "*" not in line:
                    assert (page.parent / f"{line}.md").is_file(), f"{page.name}: {line}"


def test_front_page_leads_to_every_page():
    reached, queue = [], [DOCS / "index.md"]
    while queue:
        reached.append(queue.pop())
        queue.extend(find_toctree_pages(reached[-1]))
    assert sorted(reached) == PAGES  # and each once
    titles = [re.search("^# (.*)", text, re.MULTILINE) for text in map(read, PAGES)]
    names = [title[1] for title in titles if title]
    assert len(set(names)) == len(names) == len(PAGES) - 1  # the front page has README's title


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_exist_and_have_words_as_text(page):
    for words, target in LINK.findall(read(page)):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target
        assert not re.fullmatch(r"[\w./-]+\.(md|py|html)", words), words


@pytest.fixture
def parts(monkeypatch):
    """A function that imports a module that makes the site."""
    pytest.importorskip("docutils", reason="needs the extra `docs`")
    monkeypatch.syspath_prepend(DOCS)
    yield lambda name: importlib.import_module(f"site_parts.{name}")
    for name in [name for name in sys.modules if name.startswith("site_parts")]:
        del sys.modules[name]


AXE_PAGES = (
    *("index", "quickstart", "tutorials/ask", "tutorials/assess", "how/vistar", "worth"),
    *("understand/glossary", "made/api/pqpp_hub", "made/commands/predict", "made/metrics/hbpp"),
    "search",
)
EXTERNAL_RESOURCE = re.compile(
    r"<(?:script|img|source|iframe|link(?=[^>]*(?:stylesheet|icon|preload)))\b[^>]*"
    r"(?:src|href)=\"(?:https?:)?//[^\"]*\"|@import[^;]*//|url\([\"']?(?:https?:)?//"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as by `make docs` into a separate folder."""
    pytest.importorskip("furo", reason="needs the extra `docs`")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", folder / "doctrees"]
    words += ["-D", "nb_execution_mode=force"]  # the cache of an earlier build has no outputs
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [*words, DOCS, folder / VERSION], env=settings, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_site_builds_without_warnings_or_external_resources(site):
    pages = sorted((site / VERSION).rglob("*.html"))
    assert len(pages) > 150
    for path in [*pages, *(site / VERSION).rglob("*.css")]:
        text = path.read_text("utf-8")
        assert not EXTERNAL_RESOURCE.findall(text), path
        assert str(ROOT) not in text, path
    entry = (site / "index.html").read_text("utf-8")
    assert f'href="{VERSION}/index.html"' in entry


@pytest.mark.slow
def test_every_public_name_and_command_is_on_the_site(site, parts):
    from pqpp_cli.commands import list_commands

    reference = parts("reference")
    listed = (site / VERSION / "genindex.html").read_text("utf-8")
    for modules in reference.list_packages().values():
        for module in modules:
            for name in reference.list_public_names(module):
                assert f"#{module}.{name}" in listed, f"{module}.{name}"
    for command in list_commands():
        assert (site / VERSION / f"made/commands/{command}.html").is_file()


@pytest.mark.slow
@pytest.mark.browser
def test_axe_finds_nothing_and_search_finds_names(site, make_visitor):  # noqa: F811
    handler = functools.partial(QuietHandler, directory=site / VERSION)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        visit, found = make_visitor(), []
        for name in AXE_PAGES:
            page = visit.open(f"http://127.0.0.1:{server.server_port}/{name}.html")
            for appearance in iterate_modes(page):
                found += [f"{name}, {appearance}: {line}" for line in run_axe(page)]
                if name == "index" and appearance.startswith("1280"):
                    save_screenshot(page, f"site_{appearance.split(', ')[1]}.png")
            page.close()
        page = visit.open(f"http://127.0.0.1:{server.server_port}/search.html?q=reciprocal_rank")
        page.wait_for_selector("#search-results li a[href*='made/']")
        first = page.evaluate(FIRST_THREE, list(QUERIES))
        server.shutdown()
    assert not found, "\n".join(found)
    missed = [
        query for query, pages in QUERIES.items() if not set(pages.split()) & set(first[query])
    ]
    assert len(missed) <= 2, missed


FIRST_THREE = """queries => Object.fromEntries(queries.map((query) => {
  const [text, terms, excluded, highlighted, objects] = Search._parseQuery(query);
  const found = Search._performSearch(text, terms, excluded, highlighted, objects);
  return [query, found.slice(-3).map((result) => result[0])];
}))"""
# Queries and the pages that answer them, chosen before any weight of a page was set.
QUERIES = {
    "load_dataset": "data",
    "bench report": "bench tutorials/bench",
    "router": "route",
    "VISTAR": "how/vistar assess",
    "kendall": "metrics how/pqpp understand/glossary understand/numbers bench",
    "parquet shards": "scale",
    "far": "prompts understand/glossary quickstart tutorials/ask",
    "hbpp": "understand/glossary understand/numbers how/pqpp",
}


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        """Say nothing."""
