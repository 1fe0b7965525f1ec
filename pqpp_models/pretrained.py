"""Loading what transformers and diffusers fetch: errors of one line, never with a token."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pqpp_hub.reasons import reason_behind
from pqpp_models.errors import CheckpointError


@contextlib.contextmanager
def loading(what: str, remedy: str, *names: str) -> Iterator[None]:
    """Turn whatever goes wrong in a block into a typed error.

    The texts of the Hub's client and of those who use it may hold request headers, and with them a
    token: they are shown only of folders, for which nobody is asked.

    Args:
        what: What could not be had, as "x holds no usable pipeline".
        remedy: What to do.
        *names: The folders or repositories that the block loads.

    Raises:
        CheckpointError: Something went wrong.
    """
    try:
        yield
    except Exception as error:
        reason = why_not_loaded(error, *names)
        raise CheckpointError(f"{what} ({reason}); {remedy}") from None


def why_not_loaded(error: Exception, *names: str) -> str:
    """Return why something could not be loaded, in words that hold no token.

    Args:
        error: What was raised.
        *names: The folders or repositories that were asked for.
    """
    away = [name for name in names if not Path(name).expanduser().is_dir()]
    if not away:
        return " ".join(str(error).split())[:200] or type(error).__name__
    reason = reason_behind(error)
    which = " or ".join(away)
    if reason is None:
        return f"{which} is of another kind or not whole: {type(error).__name__}"
    return f"{which} {reason}"


def load_tokenizer(name_or_path: str) -> Any:
    """Return a pretrained model's tokenizer.

    Args:
        name_or_path: A folder, or a name on the Hub.

    Raises:
        CheckpointError: There is none that can be loaded.

    Example:
        >>> import tempfile
        >>> load_tokenizer(tempfile.mkdtemp())
        Traceback (most recent call last):
            ...
        pqpp_models.errors.CheckpointError: ... holds no usable tokenizer (...); name ...
    """
    return _load("AutoTokenizer", "tokenizer", name_or_path)


def load_processor(name_or_path: str) -> Any:
    """Return the tokenizer and image processor of a CLIP-like model, as `load_tokenizer` does."""
    return _load("AutoProcessor", "processor", name_or_path)


def _load(auto_class: str, kind: str, name_or_path: str) -> Any:
    import transformers

    remedy = "name a folder or OWNER/REPOSITORY that has one"
    with loading(f"{name_or_path} holds no usable {kind}", remedy, name_or_path):
        return getattr(transformers, auto_class).from_pretrained(name_or_path)
