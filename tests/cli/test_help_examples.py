"""The examples in the help of every command are valid."""

import re
import shlex

import pytest

from pqpp_cli.commands import build_parser, parse_command
from pqpp_files.errors import PqppError
from pqpp_files.options.recipe import read_recipe


def iterate_parsers(parser):
    """Yield a parser and those of its subcommands."""
    yield parser
    for action in parser._subparsers._group_actions if parser._subparsers else ():
        for child in action.choices.values():
            yield from iterate_parsers(child)


TEXTS = {parser.epilog or "" for parser in iterate_parsers(build_parser())}
TEXT = "\n".join(TEXTS).replace("\\\n", " ")
LINES = sorted({*re.findall(r"^ +pqpp ([^|\n]+)", TEXT, re.MULTILINE)})


@pytest.mark.parametrize("line", LINES)
def test_help_examples_are_valid(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind, flags = parse_command(shlex.split(line, comments=True))
    try:
        read_recipe(kind, flags)
    except PqppError as error:  # the files of an example do not exist
        assert "no such file" in str(error) or "cannot be read" in str(error), error
