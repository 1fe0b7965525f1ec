"""Training scripts end with one line, not a traceback, when something is wrong."""

import contextlib
import os
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

    _join_processes_without_gpus()
    or_exit(main)
    PartialState().destroy_process_group()


def _join_processes_without_gpus() -> None:
    """Bring several processes together on a machine without GPUs, which Accelerate takes for given.

    Without this each of them would train alone. `accelerate launch --cpu --num_processes N` starts
    one process however many it is told to; by its environment that can be seen, and it is said.
    """
    import torch
    from accelerate import PartialState

    if torch.accelerator.is_available():
        return
    is_launched = os.environ.get("ACCELERATE_USE_CPU", "").lower() == "true"
    if "LOCAL_RANK" in os.environ:
        os.environ["ACCELERATE_USE_CPU"] = "true"
        PartialState(cpu=True)
    elif is_launched and "MASTER_PORT" in os.environ:
        print(  # noqa: T201
            "note: accelerate launch has started one process, as it does on CPUs; several are "
            "started by torchrun --nproc_per_node N SCRIPT",
            file=sys.stderr,
        )


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
