"""The gate for folders that others made: asked before anything in them is read.

Nothing that such a folder says is trusted: its files are plain ones of its own, what is read of
them is no larger or deeper than sound ones are, and no configuration names code. A configuration of
a few bytes may ask for terabytes, or for layers without end: what is built is counted while it is
built, against the files that hold its weights.
"""

import contextlib
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pqpp_backbones.errors import CheckpointError
from pqpp_files.errors import FileError
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.visible import visible

_AGAIN = "save or download it again"
# By these a configuration names code of its own.
_CODE_KEYS = frozenset({"auto_map", "custom_pipelines", "custom_pipeline", "custom_generate"})
# Bytes and values: of a tokenizer with half a million words, of a configuration with thousands of
# labels, and of what a file of weights tells of 200,000 tensors.
_MOST, _MOST_OF_CONFIG = (64_000_000, 3_000_000), (8_000_000, 200_000)
_MOST_OF_HEADER = (16_000_000, 1_600_000)
# A tokenizer's replacements may lengthen a text so many times in all; known ones don't at all.
_MOST_GROWTH = 1000
# What an image or a text may be brought to, in pixels a side or in tokens.
_SIZES = {"height": 4096, "width": 4096, "shortest_edge": 4096, "longest_edge": 10**8}
_SIZES |= {"Fixed": 10**5, "pad_to_multiple_of": 10**5}
# These processors write numbers of pixels of a whole image as if they were edges.
_COUNT_PIXELS = ("Qwen2VL", "Qwen3VL", "Glm4v", "Glm46V")
_PIXELS = {**_SIZES, "shortest_edge": _SIZES["longest_edge"]}
# Patterns that try every way to cut a text: a repeated group is in no known tokenizer.
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_HOLES = 100_000_000
# A tensor is registered when a model is built and again when it is loaded, tied ones once more, and
# some blocks load a model twice; a part that a file lacks is found out later.
_TIMES, _MORE, _A_TENSOR = 6, 100, 100_000
_COUNTS = re.compile(r"(^|_)(layers?|depths?|blocks|stages|experts)$")


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
        pqpp_backbones.errors.CheckpointError: ...config.json names code of its own ...
    """
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return  # what reads it says what is wrong
    for path in paths:
        if not _is_plain(folder, path):
            continue
        if path.name == "adapter_config.json":
            raise CheckpointError(f"{visible(str(path))} adapts another model; merge the two first")
        if path.suffix == ".json":
            _check_json(path)
        elif path.suffix == ".safetensors":
            header_of(path)


def _is_plain(folder: Path, path: Path) -> bool:
    """Tell files from folders and from what is not there; refuse all else."""
    try:
        status = path.stat()
    except OSError:  # a link that leads nowhere, or in a circle
        return False
    if stat.S_ISDIR(status.st_mode):
        return False
    if not stat.S_ISREG(status.st_mode):
        raise CheckpointError(f"{visible(str(path))} is a pipe or a device, not a file; {_AGAIN}")
    if path.is_symlink():
        places = [folder.resolve()]
        # The Hub's cache keeps contents beside its folders.
        if places[0].parent.name == "snapshots":
            places.append(places[0].parents[1] / "blobs")
        if not any(path.resolve().is_relative_to(place) for place in places):
            raise CheckpointError(
                f"{visible(str(path))} is a link to a file elsewhere, which is not read; put the "
                "file itself there"
            )
    blocks = getattr(status, "st_blocks", None)
    if status.st_size > _HOLES and blocks is not None and blocks * 5120 < status.st_size:
        raise CheckpointError(f"{visible(str(path))} is mostly holes; {_AGAIN}")
    return True


def read_foreign_json(path: Path) -> Any:
    """Read a JSON file that is no larger or deeper than known ones.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no JSON.
        CheckpointError: It is too large or too deep.
    """
    with path.open("rb") as file:
        return _parsed(path, file, _MOST_OF_CONFIG if "config" in path.name else _MOST)


def _parsed(path: Path, file: BinaryIO, most: tuple[int, int], length: int | None = None) -> Any:
    """Return the JSON that a file goes on with, of so many bytes and values at most."""
    most_bytes, most_values = most
    content = file.read(most_bytes + 1 if length is None else min(length, most_bytes + 1))
    values = sum(map(content.count, (b",", b"[", b"{")))
    if len(content) > most_bytes or values > most_values:
        raise CheckpointError(
            f"{visible(str(path))} is larger than those of any known model; {_AGAIN}"
        )
    try:
        return parse_json(content, str(path))
    except FileError as error:
        if isinstance(error.__context__, RecursionError):
            raise CheckpointError(f"{path} is nested too deeply; {_AGAIN}") from None
        raise


def field_of(path: Path, name: str) -> str | None:
    """Return a text that a JSON file has under a name; None where it has none or cannot be read."""
    try:
        content = read_foreign_json(path)
    except (OSError, ValueError):
        return None
    value = content.get(name) if isinstance(content, dict) else None
    return value if isinstance(value, str) else None


def _check_json(path: Path) -> None:
    growth, by_pixels = 1.0, []
    for value in mappings_in(path):  # an outer one before those in it
        kind = value.get("image_processor_type", value.get("video_processor_type"))
        if isinstance(kind, str) and kind.startswith(_COUNT_PIXELS):
            by_pixels.append(value.get("size"))
        is_of_pixels = any(value is size for size in by_pixels)
        _check_mapping(path, value, _PIXELS if is_of_pixels else _SIZES)
        growth *= _growth_of(value)
    if growth > _MOST_GROWTH:
        raise CheckpointError(
            f"{visible(str(path))} makes texts {growth:.3g} times as long; give another model"
        )


def mappings_in(path: Path) -> Iterator[dict[str, Any]]:
    """Give each mapping of a JSON file, but for a tokenizer's words; none where it is no JSON.

    Raises:
        CheckpointError: It is too large or too deep.
    """
    try:
        left: list[Any] = [[read_foreign_json(path)]]
    except CheckpointError:
        raise
    except (OSError, ValueError):
        return  # what reads it says what is wrong
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            value = [v for key, v in value.items() if key != "vocab" or not _is_words(v)]
        left += [inner for inner in value if isinstance(inner, dict | list)]


def _is_words(value: Any) -> bool:
    """Tell a tokenizer's words with their numbers: "height" is one, and no size there."""
    return isinstance(value, dict) and all(type(number) is int for number in value.values())


def _check_mapping(path: Path, value: dict[str, Any], sizes: dict[str, int]) -> None:
    """Refuse what names code or files elsewhere, or what asks for more memory than any model."""
    where, another = visible(str(path)), "give another model"
    code = next((key for key in value if key in _CODE_KEYS and value[key]), None)
    if code:
        raise CheckpointError(
            f"{where} names code of its own by {code!r}, which is never run; give a model that "
            "transformers knows itself"
        )
    if path.name.endswith(".index.json"):
        away = [
            text for text in value.values() if isinstance(text, str) and Path(text).name != text
        ]
        if away:
            raise CheckpointError(f"{where} names the file {away[0][:80]!r} elsewhere; {another}")
    if "config" not in path.name and path.name != "tokenizer.json":
        return
    for key, most in sizes.items():
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
        CheckpointError: What it tells of itself is larger or deeper than of any known model.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            return len(_parsed(path, file, _MOST_OF_HEADER, length)), path.stat().st_size
    except CheckpointError:
        raise
    except (OSError, ValueError, TypeError):
        return 0, 0


@contextlib.contextmanager
def building_within(*folders: Path) -> Iterator[None]:
    """Refuse, in a block, models larger than the weights that some folders hold.

    Folders without safetensors set no bounds.

    Raises:
        CheckpointError: A configuration counts more layers than there are tensors, or more is
            built than there is.
    """
    headers = [header_of(path) for folder in folders for path in folder.rglob("*.safetensors")]
    if not headers:
        yield
        return
    tensors, size = (sum(column) for column in zip(*headers, strict=True))
    for folder in folders:
        for path in sorted(folder.rglob("*config*.json")):
            _refuse_counts(path, tensors)
    import torch.nn.modules.module as torch_module

    thread = threading.get_ident()
    left = 8 * size + _A_TENSOR * (_TIMES * tensors + _MORE)  # a byte may hold eight numbers

    def count(module: Any, name: str, made: Any) -> None:
        nonlocal left
        if threading.get_ident() == thread and made is not None:
            left -= _A_TENSOR + made.numel()
            if left < 0:
                raise CheckpointError(
                    f"{folders[0]}: config.json describes a model that is larger than its weights; "
                    "save or download it again"
                )

    with (
        torch_module.register_module_parameter_registration_hook(count),
        torch_module.register_module_buffer_registration_hook(count),
    ):
        yield


def _refuse_counts(path: Path, tensors: int) -> None:
    """Refuse a configuration that counts more layers, or the like, than there are tensors.

    What reads it may write a text for each, before anything is built.
    """
    for key, value in (item for mapping in mappings_in(path) for item in mapping.items()):
        numbers = value if isinstance(value, list) else [value]
        # NaN, which is equal to nothing, would hide what comes after it.
        most = max((n for n in numbers if isinstance(n, int | float) and n == n), default=0)
        if _COUNTS.search(key) and most > _TIMES * tensors + _MORE:
            raise CheckpointError(
                f"{path}: {key!r} is {most:.3g}, but there are weights of {tensors} tensors; save "
                "or download it again"
            )
