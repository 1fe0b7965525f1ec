"""The gate for folders that others made: asked before anything in them is read.

Nothing that such a folder says is trusted: its files are plain ones of its own, what is read of
them is no larger or deeper than sound ones are, and no configuration names code.
"""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

from pqpp_files.visible import visible
from pqpp_models.errors import CheckpointError

_AGAIN = "save or download it again"
# By these a configuration names code of its own.
_CODE_KEYS = frozenset({"auto_map", "custom_pipelines", "custom_pipeline", "custom_generate"})
# Of a tokenizer with half a million words, and of a configuration with thousands of labels.
_MOST_BYTES, _MOST_VALUES = 64_000_000, 3_000_000
_MOST_BYTES_OF_CONFIG, _MOST_VALUES_OF_CONFIG = 8_000_000, 200_000
_MOST_HEADER_BYTES = 16_000_000
_DEEPEST = 64
# A tokenizer's replacements may lengthen a text so many times in all; known ones don't at all.
_MOST_GROWTH = 1000
# What an image or a text may be brought to, in pixels a side or in tokens.
_SIZES = {"height": 4096, "width": 4096, "shortest_edge": 4096, "longest_edge": 10**8}
_SIZES |= {"Fixed": 10**5, "pad_to_multiple_of": 10**5}
# Patterns that try every way to cut a text: a repeated group is in no known tokenizer.
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_HOLES = 100_000_000


def check_foreign(folder: Path) -> None:
    """Refuse a folder that holds what no sound model has.

    Asks about all files at its top, also those that are not read in the end.

    Raises:
        CheckpointError: A file is a link out of the folder, a pipe or a device, or mostly holes; a
            JSON file or a header of weights is larger or deeper than any known; a configuration
            names code; a tokenizer makes gigabytes of a prompt, or an image processor of an image.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "config.json").write_text('{"auto_map": {"AutoModel": "me/mine--x.X"}}')
        >>> check_foreign(folder)
        Traceback (most recent call last):
        ...
        pqpp_models.errors.CheckpointError: ...config.json names code of its own by 'auto_map', ...
    """
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return  # what reads it says what is wrong
    for path in paths:
        if not _is_plain(folder, path):
            continue
        if path.suffix == ".json":
            _check_json(path)
        elif path.suffix == ".safetensors":
            header_of(path)


def _is_plain(folder: Path, path: Path) -> bool:
    """Tell files from folders and from what is not there; refuse all else."""
    try:
        found = path.stat()
    except OSError:  # a link that leads nowhere, or in a circle
        return False
    if stat.S_ISDIR(found.st_mode):
        return False
    if not stat.S_ISREG(found.st_mode):
        raise CheckpointError(f"{visible(str(path))} is no file but a pipe or a device; {_AGAIN}")
    if path.is_symlink():
        place, target = folder.resolve(), path.resolve()
        # The Hub's cache keeps contents beside its folders.
        is_cached = place.parent.name == "snapshots"
        cache = [place.parents[1] / "blobs"] if is_cached else []
        if not any(one in target.parents for one in (place, *cache)):
            raise CheckpointError(
                f"{visible(str(path))} is a link to a file elsewhere, which is not read; put the "
                "file itself there"
            )
    blocks = getattr(found, "st_blocks", None)
    if found.st_size > _HOLES and blocks is not None and blocks * 5120 < found.st_size:
        raise CheckpointError(f"{visible(str(path))} is mostly holes; {_AGAIN}")
    return True


def read_foreign_json(path: Path) -> Any:
    """Read a JSON file that is no larger or deeper than known ones.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no JSON.
        CheckpointError: It is too large or too deep.
    """
    is_config = "config" in path.name
    most_bytes = _MOST_BYTES_OF_CONFIG if is_config else _MOST_BYTES
    most_values = _MOST_VALUES_OF_CONFIG if is_config else _MOST_VALUES
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    values = sum(map(content.count, (b",", b"[", b"{")))
    if len(content) > most_bytes or values > most_values:
        raise CheckpointError(
            f"{visible(str(path))} is larger than those of any known model; {_AGAIN}"
        )
    try:
        return json.loads(content)
    except RecursionError:
        raise CheckpointError(f"{visible(str(path))} is nested too deeply; {_AGAIN}") from None


def _check_json(path: Path) -> None:
    try:
        content = read_foreign_json(path)
    except CheckpointError:
        raise
    except (OSError, ValueError):
        return  # what reads it says what is wrong
    if path.name == "adapter_config.json":
        raise CheckpointError(f"{visible(str(path))} adapts another model; merge the two first")
    growth = 1.0
    left: list[tuple[Any, int]] = [([content], 0)]
    while left:
        value, depth = left.pop()
        if depth > _DEEPEST:
            raise CheckpointError(f"{visible(str(path))} is nested too deeply; {_AGAIN}")
        if isinstance(value, dict):
            _check_mapping(path, value)
            growth *= _growth_of(value)
            value = [one for key, one in value.items() if key != "vocab" or not _is_words(one)]
        left += [(one, depth + 1) for one in value if isinstance(one, dict | list)]
    if growth > _MOST_GROWTH:
        raise CheckpointError(
            f"{visible(str(path))} makes texts {growth:.3g} times as long; give another model"
        )


def _is_words(value: Any) -> bool:
    """Tell a tokenizer's words with their numbers: "height" is one, and no size there."""
    return isinstance(value, dict) and all(type(number) is int for number in value.values())


def _check_mapping(path: Path, value: dict[str, Any]) -> None:
    """Refuse what names code or files elsewhere, or what asks for more memory than any model."""
    where, another = visible(str(path)), "give another model"
    code = next((key for key in value if key in _CODE_KEYS and value[key]), None)
    if code:
        raise CheckpointError(
            f"{where} names code of its own by {code!r}, which is never run; give a model that "
            "transformers knows itself"
        )
    if path.name.endswith(".index.json"):
        away = [one for one in value.values() if isinstance(one, str) and Path(one).name != one]
        if away:
            raise CheckpointError(f"{where} names the file {away[0][:80]!r} elsewhere; {another}")
    if "config" not in path.name and path.name != "tokenizer.json":
        return
    for key, most in _SIZES.items():
        size = value.get(key)
        if isinstance(size, int | float) and not size <= most:
            raise CheckpointError(
                f"{where}: {key!r} is {size:.3g}, up to {most:,} is known; {another}"
            )
    pattern = value.get("Regex")
    if isinstance(pattern, str) and _REPEATED_GROUP.search(pattern):
        raise CheckpointError(
            f"{where} cuts texts by a pattern that can take for ever, {pattern[:40]!r}; {another}"
        )


def _growth_of(value: dict[str, Any]) -> int:
    """Return how many times as long one step of a tokenizer makes a text."""
    if value.get("type") not in ("Replace", "Prepend"):
        return 1
    text = value.get("content", value.get("prepend"))
    return max(1, len(text)) if isinstance(text, str) else 1


def header_of(path: Path) -> tuple[int, int]:
    """Return how many tensors a file of safetensors tells of, and its bytes.

    A damaged one tells of none: what reads it says what is wrong.

    Raises:
        CheckpointError: What it tells of itself is larger than of any known model.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > size:
                return 0, size
            content = file.read(length) if length <= _MOST_HEADER_BYTES else b""
        if length > _MOST_HEADER_BYTES or content.count(b"{") > _MOST_VALUES_OF_CONFIG:
            raise CheckpointError(
                f"{visible(str(path))} tells more of itself than any known model; {_AGAIN}"
            )
        return len(json.loads(content)), size
    except CheckpointError:
        raise
    except (OSError, ValueError, RecursionError, TypeError):
        return 0, 0
