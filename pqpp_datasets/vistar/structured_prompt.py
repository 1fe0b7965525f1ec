"""VISTAR's structured prompt language.

Source: "VISTAR: A User-Centric and Role-Driven Benchmark for Text-to-Image Evaluation", section
3.2: a prompt is ``[role|angle]``, the text that the generator sees, and optional ``{key="value"}``
pairs. The paper speaks of an EBNF and prints none, so what it leaves open is ours: the text holds
no braces; several pairs stand in braces each or in one pair of braces with commas between; in a
value a quote and a backslash are written with a backslash before them; blanks may stand between all
parts.
"""

import functools
import re
from dataclasses import dataclass
from typing import Any

from pqpp_datasets.errors import DataFileError
from pqpp_files.extras import needing

_GRAMMAR = r"""
start: BLANK? header BLANK? TEXT BLANK? (block BLANK?)*
header: LSQB BLANK? ROLE BLANK? BAR BLANK? ANGLE BLANK? RSQB
block: LBRACE BLANK? pair (BLANK? COMMA BLANK? pair)* BLANK? RBRACE
pair: KEY BLANK? EQUALS BLANK? VALUE

LSQB: "["
RSQB: "]"
LBRACE: "{"
RBRACE: "}"
BAR: "|"
COMMA: ","
EQUALS: "="
BLANK: /\s+/
ROLE: /[^\s\[\]{}|]([^\[\]{}|\n]*[^\s\[\]{}|])?/
ANGLE: /[^\s\[\]{}|]([^\[\]{}|\n]*[^\s\[\]{}|])?/
TEXT: /[^\s{}]([^{}]*[^\s{}])?/
KEY: /[A-Za-z_][A-Za-z0-9_.-]*/
VALUE: /"([^"\\\n]|\\["\\])*"/
"""
_FIELDS = {"ROLE", "ANGLE", "TEXT", "KEY", "VALUE"}
_IN_WORDS = {
    "ROLE": "a role",
    "ANGLE": "an angle",
    "TEXT": "the text",
    "KEY": "a key",
    "VALUE": "a value in double quotes",
    "$END": "the end",
}


class PromptSyntaxError(DataFileError):
    """A text is no structured prompt.

    Attributes:
        line: Where, counted from 1.
        column: Where in the line, counted from 1.
    """

    def __init__(self, line: int, column: int, what: str, source: str = ""):
        place = f"{source}, line" if source else "line"
        super().__init__(f"{place} {line}, column {column}: {what}")
        self.line, self.column, self.what = line, column, what


@dataclass(frozen=True)
class StructuredPrompt:
    """A structured prompt in its parts.

    Attributes:
        role: Whose view the image is judged from, like `GD`.
        angle: What is judged, like `TR`.
        text: What the generator is asked for.
        parameters: Pairs of key and value, in order.
    """

    role: str
    angle: str
    text: str
    parameters: tuple[tuple[str, str], ...] = ()


def parse_prompt(text: str) -> StructuredPrompt:
    """Parse a structured prompt.

    Raises:
        PromptSyntaxError: If it is none; names line and column, what came and what is allowed.

    Example:
        >>> prompt = parse_prompt('[GD|TR] A poster that says "Go" {font="Futura"}')
        >>> prompt.role, prompt.angle, prompt.text, prompt.parameters
        ('GD', 'TR', 'A poster that says "Go"', (('font', 'Futura'),))
    """
    parser = _parser()
    from lark import UnexpectedCharacters, UnexpectedToken

    try:
        tree = parser.parse(text)
    except UnexpectedCharacters as error:
        raise _syntax_error(text, error.pos_in_stream, error.allowed) from None
    except UnexpectedToken as error:
        # At the end the library names the last token's place; the fault is behind the text.
        ended = error.token.type == "$END"
        position = len(text) if ended else error.token.start_pos
        raise _syntax_error(text, position, error.expected) from None
    tokens = [token for token in tree.scan_values(lambda _: True) if token.type in _FIELDS]
    role, angle, core, *rest = map(_unquoted, tokens)
    return StructuredPrompt(role, angle, core, tuple(zip(rest[::2], rest[1::2], strict=True)))


@functools.cache
def _parser():
    with needing("VISTAR's prompts", "vistar"):
        from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=False)


def _unquoted(token: Any) -> str:
    """Return a field as it is meant: in a value, a backslash stands before quotes and itself."""
    return re.sub(r"\\(.)", r"\1", token[1:-1]) if token.type == "VALUE" else str(token)


def _syntax_error(text: str, position: int | None, allowed: Any) -> PromptSyntaxError:
    assert position is not None
    before = text[:position]
    line = before.count("\n") + 1
    column = position - (before.rfind("\n") + 1) + 1
    came = repr(text[position : position + 12]) if position < len(text) else "the end"
    terminals = {rule.name: rule.pattern.value for rule in _parser().terminals} | _IN_WORDS
    names = sorted(terminals[name] for name in allowed if name != "BLANK")
    return PromptSyntaxError(line, column, f"{came} came, {' or '.join(names)} is allowed")
