"""Loading what transformers and diffusers fetch: errors of one line, never with a token."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

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
