"""README and the pages of docs: links exist, and code prints the output shown below it."""

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
# Pages whose code runs here; the code of other pages needs data, a model or a network.
PAGES_WITH_CODE = ["README.md", "docs/prompts.md"]


def test_readme_is_short_and_its_links_exist():
    text = PAGES[0].read_text("utf-8")
    assert len(text.splitlines()) < 110
    for target in LINK.findall(text):
        assert re.match(r"[a-z]+:", target) or (ROOT / target).exists(), target


@pytest.mark.parametrize("page", PAGES_WITH_CODE)
def test_code_prints_the_shown_output(page, tmp_path, monkeypatch):
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
def test_commands_print_the_shown_output(page, capsys):
    """Commands after a `$`, with their output."""
    for _, text in BLOCK.findall(page.read_text("utf-8")):
        if text.startswith("$ pqpp "):
            command, _, expected = text[2:].replace("\\\n", " ").partition("\n")
            assert main(shlex.split(command)[1:]) == 0
            assert capsys.readouterr().out.split() == expected.split()


def test_first_router_of_the_page_works(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    prompts = [f"{n} dogs on a {place}" for n in range(1, 21) for place in ("bed", "moon")]
    (tmp_path / "mine.txt").write_text("\n".join(prompts))
    blocks = BLOCK.findall((ROOT / "docs" / "route.md").read_text("utf-8"))
    (_, commands), (_, code), (_, choice), *_ = blocks
    for line in (choice + commands).replace("\\\n", " ").splitlines():
        assert main(shlex.split(line)[1:]) == 0
    capsys.readouterr()
    exec(compile(code, "route.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [re.sub("glide|sdxl", "*", line) for line in lines] == [
        "an image by * of two robots play chess",
        "an image by * of a dog on a beach",
    ]


def test_server_of_the_docs_answers():
    client = pytest.importorskip("fastapi.testclient").TestClient
    blocks = BLOCK.findall((ROOT / "docs" / "demo.md").read_text("utf-8"))
    (code,) = (text for language, text in blocks if language == "python")
    names: dict = {}
    exec(compile(code, "demo.md", "exec"), names)
    request = {"inputs": ["a red cat", " "], "parameters": {"targets": "mean_hbpp"}}
    answer = client(names["app"]).post("/", json=request).json()
    assert [row["mean_hbpp"] and round(row["mean_hbpp"], 2) for row in answer] == [1.38, None]
