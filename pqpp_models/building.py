"""Building what a foreign configuration describes, no larger than the weights beside it.

A configuration of a few bytes may ask for terabytes, or for layers without end. Nothing here trusts
it: what is built is counted while it is built, against the files that hold its weights.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pqpp_models.checkpoint import CONFIG
from pqpp_models.errors import CheckpointError
from pqpp_models.foreign import header_of

# A tensor is registered when a model is built and again when it is loaded, tied ones once more, and
# some blocks load a model twice; a part that a file lacks is found out later.
_TIMES, _MORE_TENSORS, _MORE_NUMBERS = 6, 100, 10_000_000
_COUNTS = re.compile(r"(^|_)(layers?|depths?|blocks|stages|experts)$")


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

    what = f"{folders[0]}: {CONFIG} describes a model that is larger than its weights"
    thread, left = threading.get_ident(), [_TIMES * tensors + _MORE_TENSORS]
    left.append(8 * size + _MORE_NUMBERS)  # a byte may hold eight numbers

    def count(module: Any, name: str, made: Any) -> None:
        if threading.get_ident() == thread and made is not None:
            left[0] -= 1
            left[1] -= made.numel()
            if min(left) < 0:
                raise CheckpointError(f"{what}; save or download it again")

    hooks = [
        torch_module.register_module_parameter_registration_hook(count),
        torch_module.register_module_buffer_registration_hook(count),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _refuse_counts(path: Path, tensors: int) -> None:
    """Refuse a configuration that counts more layers, or the like, than there are tensors."""

    def check(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key, value in pairs:
            numbers = value if isinstance(value, list) else [value]
            counts = [one for one in numbers if isinstance(one, int | float)]
            if _COUNTS.search(key) and counts and max(counts) > _TIMES * tensors + _MORE_TENSORS:
                raise CheckpointError(
                    f"{path}: {key!r} is {max(counts):.3g}, but there are weights of {tensors} "
                    "tensors; save or download it again"
                )
        return dict(pairs)

    try:
        json.loads(path.read_bytes(), object_pairs_hook=check)
    except CheckpointError:
        raise
    except (OSError, ValueError, RecursionError):
        pass  # what reads it says what is wrong
