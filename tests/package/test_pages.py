"""README and the pages of docs: links lead somewhere, code runs and prints what stands below it."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from pqpp_cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
# Pages whose code runs here; that of others needs data, a model or a network.
RUN = ["README.md", "docs/prompts.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text("utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", RUN)
def test_code_prints_what_stands_below_it(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    printed = ""
    for language, text in BLOCK.findall((ROOT / page).read_text("utf-8")):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, page, "exec"), names)
            printed = out.getvalue()
        elif not language and printed:
            assert text.split() == printed.split()
            printed = ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_stands_below_them(page, capsys):
    """Those that stand behind a `$` with their output."""
    for _, text in BLOCK.findall(page.read_text("utf-8")):
        if text.startswith("$ pqpp "):
            command, _, expected = text[2:].replace("\\\n", " ").partition("\n")
            assert main(shlex.split(command)[1:]) == 0
            assert capsys.readouterr().out.split() == expected.split()
