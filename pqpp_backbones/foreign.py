"""The gate for folders that others made: asked before anything in them is read.

Nothing that such a folder says is trusted: its files are plain ones of its own, and no
configuration names code. A configuration of a few bytes may ask for terabytes, or for layers
without end: what is built is counted while it is built, against the files that hold its weights.
"""

import contextlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pqpp_backbones.errors import ModelError
from pqpp_files.errors import FileError
from pqpp_files.foreign.json_values import parse_json, read_bounded
from pqpp_files.visible import visible

_AGAIN = "save or download it again"
# By these a configuration names code of its own.
_CODE_KEYS = ("auto_map", "custom_pipelines", "custom_pipeline", "custom_generate")
# Of a tokenizer with half a million words, and of a file of weights with 200,000 tensors.
_MOST_BYTES, _MOST_VALUES = 64_000_000, 3_000_000
# A tensor is registered when a model is built and again when it is loaded, tied ones once more, and
# some blocks load a model twice; a part that a file lacks is found out later.
_TIMES, _MORE, _A_TENSOR = 6, 100, 100_000
_COUNTS = re.compile(r"(^|_)(layers?|depths?|blocks|stages|experts)$")


def check_foreign(folder: Path) -> None:
    """Refuse a folder that holds what no sound model has.

    Asks about all files at its top, also those that are not read in the end.

    Raises:
        ModelError: A file is a link out of the folder, a pipe or a device; a JSON file or a
            header of weights is larger than any known; or a configuration names code.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "config.json").write_text('{"auto_map": {"AutoModel": "me/mine--x.X"}}')
        >>> check_foreign(folder)
        Traceback (most recent call last):
        ...
        pqpp_backbones.errors.ModelError: ...config.json names code of its own ...
    """
    places = [folder.resolve()]
    if places[0].parent.name == "snapshots":  # the Hub's cache keeps contents beside its folders
        places.append(places[0].parents[1] / "blobs")
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        where = visible(str(path))
        if not path.is_file():
            if path.exists() and not path.is_dir():
                raise ModelError(f"{where} is a pipe or a device, not a file; {_AGAIN}")
            continue
        if path.is_symlink() and not any(path.resolve().is_relative_to(own) for own in places):
            raise ModelError(
                f"{where} is a link to a file elsewhere, which is not read; put the file itself "
                "there"
            )
        if path.name == "adapter_config.json":
            raise ModelError(f"{where} adapts another model; merge the two first")
        if path.suffix == ".safetensors":
            header_of(path)
        for value in mappings_in(path) if path.suffix == ".json" else ():
            # A number is that of a tokenizer's word.
            codes = (key for key in _CODE_KEYS if not isinstance(value.get(key, 0), int))
            if code := next(codes, None):
                raise ModelError(
                    f"{where} names code of its own by {code!r}, which is never run; give a model "
                    "that transformers knows itself"
                )
            texts = value.values() if path.name.endswith(".index.json") else ()
            if any(isinstance(text, str) and Path(text).name != text for text in texts):
                raise ModelError(f"{where} names a file elsewhere; give another model")


def read_foreign_json(path: Path) -> Any:
    """Read a JSON file that is no larger or deeper than known ones.

    Raises:
        ModelError: It cannot be read, is no JSON, or too large.
    """
    content = _bounded(path, read_bounded(path, _MOST_BYTES, ModelError, _AGAIN))
    return parse_json(content, str(path), ModelError, _AGAIN)


def _bounded(path: Path, content: bytes) -> bytes:
    if len(content) > _MOST_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise ModelError(f"{visible(str(path))} is larger than those of any known model; {_AGAIN}")
    return content


def field_of(path: Path, name: str) -> str | None:
    """Return a text that a JSON file has under a name; None where it has none or cannot be read."""
    try:
        content = read_foreign_json(path)
    except ModelError:
        return None
    value = content.get(name) if isinstance(content, dict) else None
    return value if isinstance(value, str) else None


def mappings_in(path: Path) -> Iterator[dict[str, Any]]:
    """Give each mapping of a JSON file.

    Raises:
        ModelError: It cannot be read, is no JSON, or too large.
    """
    left: list[Any] = [[read_foreign_json(path)]]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            value = list(value.values())
        left += [inner for inner in value if isinstance(inner, dict | list)]


def header_of(path: Path) -> tuple[int, int]:
    """Return how many tensors a file of safetensors tells of, and its bytes.

    A damaged one tells of none: what reads it says what is wrong.

    Raises:
        ModelError: What it tells of itself is larger than of any known model.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        content = _bounded(path, file.read(min(length, _MOST_BYTES + 1)))
    try:
        return len(parse_json(content)), path.stat().st_size
    except (FileError, TypeError):
        return 0, 0


@contextlib.contextmanager
def building_within(*folders: Path) -> Iterator[None]:
    """Refuse, in a block, models larger than the weights that some folders hold.

    Folders without safetensors set no bounds.

    Raises:
        ModelError: A configuration counts more layers than there are tensors, or more is
            built than there is.
    """
    headers = [header_of(path) for folder in folders for path in folder.rglob("*.safetensors")]
    if not headers:
        yield
        return
    tensors, size = (sum(column) for column in zip(*headers, strict=True))
    # What reads a count of layers may write a text for each, before anything is built.
    for path in (path for folder in folders for path in sorted(folder.rglob("*config*.json"))):
        for key, value in (item for mapping in mappings_in(path) for item in mapping.items()):
            numbers = value if isinstance(value, list) else [value]
            # NaN, which is equal to nothing, would hide what comes after it.
            most = max((n for n in numbers if isinstance(n, int | float) and n == n), default=0)
            if _COUNTS.search(key) and most > _TIMES * tensors + _MORE:
                raise ModelError(
                    f"{path}: {key!r} is {most:.3g}, but there are weights of {tensors} tensors; "
                    f"{_AGAIN}"
                )
    import torch.nn.modules.module as torch_module

    thread = threading.get_ident()
    left = 8 * size + _A_TENSOR * (_TIMES * tensors + _MORE)  # a byte may hold eight numbers

    def count(module: Any, name: str, made: Any) -> None:
        nonlocal left
        if threading.get_ident() == thread and made is not None:
            left -= _A_TENSOR + made.numel()
            if left < 0:
                raise ModelError(
                    f"{folders[0]}: config.json describes a model that is larger than its weights; "
                    f"{_AGAIN}"
                )

    with (
        torch_module.register_module_parameter_registration_hook(count),
        torch_module.register_module_buffer_registration_hook(count),
    ):
        yield
