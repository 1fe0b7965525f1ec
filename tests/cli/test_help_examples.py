"""Every example that a command's help shows is one that the command takes."""

import re
import shlex

import pytest

from pqpp_cli.commands import build_parser, parse_command
from pqpp_files.errors import PqppError
from pqpp_files.options.recipe import read_recipe


def all_parsers(parser):
    """Give a parser and those of its subcommands."""
    yield parser
    for action in parser._subparsers._group_actions if parser._subparsers else ():
        for child in action.choices.values():
            yield from all_parsers(child)


TEXTS = {parser.epilog or "" for parser in all_parsers(build_parser())}
TEXT = "\n".join(TEXTS).replace("\\\n", " ")
LINES = sorted({*re.findall(r"^ +pqpp ([^|\n]+)", TEXT, re.MULTILINE)})


@pytest.mark.parametrize("line", LINES)
def test_help_examples_are_valid(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind, flags = parse_command(shlex.split(line, comments=True))
    try:
        read_recipe(kind, flags)
    except PqppError as error:  # the files of an example are not here
        assert "no such file" in str(error) or "cannot be read" in str(error), error
