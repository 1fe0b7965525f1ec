"""VISTAR's structured prompt language: parser and writer, each the exact inverse of the other.

Source: "VISTAR: A User-Centric and Role-Driven Benchmark for Text-to-Image Evaluation", section
3.2: a prompt is ``[role|angle]``, the text that the generator sees, and optional ``{key="value"}``
pairs. The paper speaks of an EBNF and prints none, so what it leaves open is ours: the text holds
no braces; several pairs stand in braces each or in one pair of braces with commas between; in a
value a quote and a backslash are written with a backslash before them; blanks may stand between all
parts.
"""

import functools
import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from pqpp_datasets.errors import DataFileError

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
    "LSQB": "[",
    "RSQB": "]",
    "LBRACE": "{",
    "RBRACE": "}",
    "BAR": "|",
    "COMMA": ",",
    "EQUALS": "=",
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
        spacing: What stands before, between and behind these in the text that was parsed; None, or
            spacing of another number of parameters, stands for the usual one.
    """

    role: str
    angle: str
    text: str
    parameters: tuple[tuple[str, str], ...] = ()
    spacing: tuple[str, ...] | None = field(default=None, compare=False, repr=False)


def parse_prompt(text: str) -> StructuredPrompt:
    """Parse a structured prompt.

    Raises:
        PromptSyntaxError: If it is none; names line and column, what came and what is allowed.

    Example:
        >>> prompt = parse_prompt('[GD|TR] A poster that says "Go" {font="Futura"}')
        >>> prompt.role, prompt.angle, prompt.text, prompt.parameters
        ('GD', 'TR', 'A poster that says "Go"', (('font', 'Futura'),))
    """
    from lark import UnexpectedCharacters, UnexpectedToken

    if not isinstance(text, str):
        raise PromptSyntaxError(1, 1, f"{text!r:.40} came, a text is needed")
    try:
        tree = _parser().parse(text)
    except UnexpectedCharacters as error:
        raise _syntax_error(text, error.pos_in_stream, error.allowed) from None
    except UnexpectedToken as error:
        # At the end the library names the last token's place; the fault is behind the text.
        ended = error.token.type == "$END"
        position = len(text) if ended else error.token.start_pos
        raise _syntax_error(text, position, error.expected) from None
    spacing, fields = [""], []
    for token in tree.scan_values(lambda _: True):
        if token.type in _FIELDS:
            fields.append(_unquoted(token) if token.type == "VALUE" else str(token))
            spacing.append("")
        else:
            spacing[-1] += token
    role, angle, core, *rest = fields
    pairs = tuple(zip(rest[::2], rest[1::2], strict=True))
    return StructuredPrompt(role, angle, core, pairs, tuple(spacing))


def write_prompt(prompt: StructuredPrompt) -> str:
    """Return a structured prompt as text; `parse_prompt` gives it back.

    A prompt that was parsed becomes the very text it was parsed from.

    Raises:
        DataFileError: If a part has a form that could not be read back.

    Example:
        >>> write_prompt(StructuredPrompt("GD", "TR", "A poster", (("font", "Futura"),)))
        '[GD|TR] A poster {font="Futura"}'
    """
    fields = [prompt.role, prompt.angle, prompt.text]
    for key, value in prompt.parameters:
        fields += [key, _quoted(value)]
    spacing = prompt.spacing
    if spacing is None or len(spacing) != len(fields) + 1:
        spacing = _usual_spacing(len(prompt.parameters))
    text = "".join(itertools.chain(*zip(spacing, fields, strict=False), spacing[-1:]))
    try:
        read_back = parse_prompt(text)
    except PromptSyntaxError as error:
        raise DataFileError(f"{prompt}: cannot be written ({error})") from None
    if read_back != prompt:
        raise DataFileError(
            f"{prompt}: {text!r} would be read as {read_back}; braces, brackets, bars and blanks "
            "at the ends of a part are not allowed"
        )
    return text


@functools.cache
def _parser():
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", keep_all_tokens=True, maybe_placeholders=False)


def _usual_spacing(pairs: int) -> tuple[str, ...]:
    if not pairs:
        return ("[", "|", "] ", "")
    inner = ["{", *["=", "} {"] * pairs]
    return ("[", "|", "] ", " " + inner[0], *inner[1:-1], "}")


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unquoted(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _syntax_error(text: str, position: int | None, allowed: Any) -> PromptSyntaxError:
    assert position is not None
    before = text[:position]
    line = before.count("\n") + 1
    column = position - (before.rfind("\n") + 1) + 1
    came = repr(text[position : position + 12]) if position < len(text) else "the end"
    names = sorted(_IN_WORDS[name] for name in allowed if name in _IN_WORDS)
    return PromptSyntaxError(line, column, f"{came} came, {' or '.join(names)} is allowed")
