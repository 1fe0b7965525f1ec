"""Docstrings that Sphinx can read: bars outside of code would be taken for a substitution."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("pqpp*/**/*.py"))
CODE = re.compile(r"``.*?``|`[^`]*`|^ *(?:>>>|\.\.\.).*$", re.DOTALL | re.MULTILINE)
SUBSTITUTION = re.compile(r"(?<![\w|])\|[^|\s][^|]*\|")


def docstrings(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def bars(text):
    return SUBSTITUTION.findall(CODE.sub("", text))


def test_what_is_looked_for():
    assert bars("the mean of |predicted - true| / n") == ["|predicted - true|"]
    assert bars("``[role|angle]`` and ``|q|``, one | two\n>>> a | b | c") == []


def test_no_bare_bars():
    found = {path: [bars(text) for text in docstrings(path) if "|" in text] for path in FILES}
    assert {path: some for path, some in found.items() if any(some)} == {}
