"""Strict parsing of JSON: a key that stands twice, more than one value and half a text are faults.

Every fault is a `FileError` of one line that names the file, the line and the column.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from pqpp_files.errors import FileError

BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def value_parser(
    as_written: bool = False, refuse_constants: bool = False
) -> Callable[[bytes, str, int], Any]:
    """Return a function `(content, file's name, number of its first line) -> value`.

    Args:
        as_written: Numbers stay the text that they are: an id 1e3 or 7.0 must not change.
        refuse_constants: NaN and Infinity are no numbers, as the standard has it.

    Example:
        >>> value_parser()(b'{"a": [1, 2]}', "votes.json", 1)
        {'a': [1, 2]}
        >>> value_parser()(b'{"a": 1, "a": 2}', "votes.jsonl", 7)
        Traceback (most recent call last):
        pqpp_files.errors.FileError: votes.jsonl, line 7: not JSON (the key 'a' stands twice in ...
    """
    numbers: dict[str, Any] = (
        {"parse_float": str, "parse_int": str, "parse_constant": str} if as_written else {}
    )
    if refuse_constants:
        numbers["parse_constant"] = _no_constant
    decoder = json.JSONDecoder(**numbers, object_pairs_hook=_without_repeats)

    def parse(content: bytes, name: str, line: int = 1) -> Any:
        text = text_of(content, name, line)
        try:
            return _parsed(text, content, decoder)
        except json.JSONDecodeError as error:
            where, reason = line + error.lineno - 1, f"{error.msg}, column {error.colno}"
            raise FileError(f"{name}, line {where}: not JSON ({reason}); correct it") from None
        except ValueError as error:
            raise FileError(f"{name}, line {line}: not JSON ({error!s:.150}); correct it") from None

    return parse


def text_of(content: bytes, name: str, line: int = 1) -> str:
    """Decode the UTF-8 of a file, with or without a byte order mark.

    Args:
        content: The bytes.
        name: Of the file.
        line: The line of the file that they begin on.

    Raises:
        FileError: They are no UTF-8; names the line.

    Example:
        >>> text_of("\ufeffé".encode(), "votes.json")
        'é'
    """
    content = content.removeprefix(BOM) if line == 1 else content
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        reason = f"not UTF-8 ({error.reason}); convert the file"
        raise FileError(f"{name}, line {line}: {reason}") from None


def _parsed(text: str, content: bytes, decoder: json.JSONDecoder) -> Any:
    try:
        value = decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if _SURROGATE.search(content):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair, which is no text") from None
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r:.60} stands twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
