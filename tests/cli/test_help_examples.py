"""Every example that a command's help shows is one that the command takes."""

import argparse
import re
import shlex

from pqpp_cli.main import build_parser


def parsers(parser):
    """Return a parser and those of its commands and actions."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from parsers(child)


def test_every_example_of_the_help_is_taken():
    texts = {one.epilog for one in parsers(build_parser()) if one.epilog}
    lines = {
        line
        for text in texts
        for line in re.findall(r"^ +pqpp ([^|\n]+)", text.replace("\\\n", " "), re.MULTILINE)
    }
    assert len(lines) > 80
    refused = []
    for line in sorted(lines):
        try:
            build_parser().parse_args(shlex.split(line, comments=True))
        except SystemExit:
            refused.append(line)
    assert not refused
