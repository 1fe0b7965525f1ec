"""Read JSON of bounded size and depth, and users' JSON with a stricter parser.

The parser of `make_parser` also refuses duplicate keys and lone surrogates, and its errors give the
line and the column.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError, PqppError, reraise
from pqpp_files.foreign.packed import read_limited
from pqpp_files.paths import refuse_pipe

_MAX_BYTES = 1 << 28
"""Maximum size of a file; the manifest of a million shards has half of it."""
DEEPEST = 64
BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json(path: str | os.PathLike[str], error: type[PqppError] = FileError) -> Any:
    """Return the value of a JSON file.

    Args:
        path: The file, UTF-8, of at most 256 MiB.
        error: The error class to raise.

    Raises:
        PqppError: The file cannot be read, is too large, or is not valid JSON.

    Example:
        >>> read_json("nowhere.json")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: nowhere.json cannot be read (No such file or directory); ...
    """
    content = read_bounded(path, _MAX_BYTES, error, "copy or write the file again")
    return parse_json(content, str(path), error)


def read_bounded(
    path: str | os.PathLike[str], limit: int, error: type[PqppError], remedy: str
) -> bytes:
    """Return the bytes of a file that has at most `limit` bytes.

    Args:
        error: The error class to raise.
        remedy: The fix, for the error.

    Raises:
        PqppError: The file cannot be read, or is larger.
    """
    refuse_pipe(path, error)
    with reraise(f"{path} cannot be read", remedy, error), Path(path).open("rb") as file:
        content = read_limited(file, limit)
    if len(content) > limit:
        raise error(f"{path} is larger than {limit:,} bytes; use a smaller file")
    return content


def parse_json(
    content: str | bytes,
    name: str = "the text",
    error: type[PqppError] = FileError,
    remedy: str = "copy or write the file again",
    **hooks: Any,
) -> Any:
    """Parse a JSON text, nested at most `DEEPEST` levels.

    Args:
        name: The text's name in the error.
        error: The error class to raise.
        remedy: The fix, for the error.
        hooks: Options of `json.loads`.

    Raises:
        PqppError: The text is not JSON, or is nested more deeply.

    Example:
        >>> parse_json("[1, {}]")
        [1, {}]
        >>> parse_json("[" * 99 + "]" * 99, "it")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: it is not JSON (nested too deeply); copy or write the ...
    """
    with reraise(f"{name} is not JSON", remedy, error):
        try:
            value = json.loads(content, **hooks)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        level: list[Any] = [[value]]
        for _ in range(DEEPEST + 1):
            inner = (one.values() if isinstance(one, dict) else one for one in level)
            level = [one for one in chain.from_iterable(inner) if isinstance(one, (dict, list))]
            if not level:
                return value
        raise ValueError("nested too deeply")


def make_parser(
    numbers_as_text: bool = False, refuse_constants: bool = False
) -> Callable[[bytes, str, int], Any]:
    """Return a JSON parser: a function of the content, the file's name and the first line number.

    Args:
        numbers_as_text: Whether to keep numbers as text, so that ids like 1e3 or 7.0 do not change.
        refuse_constants: Whether to refuse NaN and Infinity, as the JSON standard does.

    Example:
        >>> make_parser()(b'{"a": [1, 2]}', "votes.json", 1)
        {'a': [1, 2]}
        >>> make_parser()(b'{"a": 1, "a": 2}', "votes.jsonl", 7)
        Traceback (most recent call last):
        pqpp_files.errors.FileError: votes.jsonl, line 7: not JSON (duplicate key 'a'); ...
    """
    hooks = ("parse_float", "parse_int", "parse_constant")
    numbers: dict[str, Any] = dict.fromkeys(hooks, str) if numbers_as_text else {}
    if refuse_constants:
        numbers["parse_constant"] = refuse_constant

    def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            duplicate = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise ValueError(f"duplicate key {duplicate!r:.60}")
        return mapping

    decoder = json.JSONDecoder(**numbers, object_pairs_hook=refuse_duplicates)

    def parse(content: bytes, name: str, line: int = 1) -> Any:
        text = decode_utf8(content, name, line)
        try:
            value = decoder.decode(text)
            if _SURROGATE.search(content):
                json.dumps(value, ensure_ascii=False).encode()
            return value
        except json.JSONDecodeError as error:
            line, reason = line + error.lineno - 1, f"{error.msg}, column {error.colno}"
        except RecursionError:
            reason = "nested too deeply"
        except ValueError as error:
            reason = f"{error!s:.150}"
        raise FileError(f"{name}, line {line}: not JSON ({reason}); correct the line")

    return parse


def decode_utf8(content: bytes, name: str, line: int = 1) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark at the start of the file.

    Args:
        name: The file's name, for the error.
        line: The number of the first line.

    Raises:
        FileError: The bytes are not UTF-8; the error names the line.

    Example:
        >>> decode_utf8("﻿é".encode(), "votes.json")
        'é'
    """
    content = content.removeprefix(BOM) if line == 1 else content
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        raise FileError(f"{name}, line {line}: not UTF-8 ({error.reason}); save as UTF-8") from None


def refuse_constant(name: str) -> None:
    """Raise a ValueError for NaN or Infinity; the `parse_constant` hook of `json`."""
    raise ValueError(f"{name} is not a JSON number")
