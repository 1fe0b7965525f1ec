"""Training scripts end with one line, not a traceback, when something is wrong."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pqpp_files.errors import PqppError
from pqpp_files.extras import needing
from pqpp_files.full_disk import is_full
from pqpp_files.visible import visible


@contextlib.contextmanager
def script_imports(script: str) -> Iterator[None]:
    """Let a block of imports end the script with one line where a package is missing.

    Example:
        >>> with script_imports("train_bert"):
        ...     import json
    """
    with _ended_in_one_line(), needing(script, "models"):
        yield


def run_script(main: Callable[[], None]) -> None:
    """Run a script that Accelerate may have started; bad input ends it as in `or_exit`."""
    from accelerate import PartialState

    or_exit(main)
    PartialState().destroy_process_group()


def or_exit(main: Callable[[], Any]) -> None:
    """Call a script's main; what is wrong ends it with one line and exit code 2.

    Example:
        >>> or_exit(lambda: 0)
    """
    with _ended_in_one_line():
        main()


@contextlib.contextmanager
def _ended_in_one_line() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        _end("interrupted; a trainer with checkpoints goes on from the last one with --resume", 130)
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise  # a defect, which must be seen
        _end(reason, 2)


def _reason(error: Exception) -> str | None:
    if isinstance(error, PqppError):
        return str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        remedy = "take a smaller batch_size with more gradient_accumulation_steps"
        return f"the memory is not enough; {remedy}"
    if is_full(error):
        named = getattr(error, "filename", None)
        said = getattr(error, "strerror", None)
        where = f"{named}: {said}" if named else "no space is left on output_dir's disk"
        return f"{where}; a trainer with checkpoints goes on with --resume"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return None


def _end(said: str, code: int) -> None:
    print(f"error: {visible(said)}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
