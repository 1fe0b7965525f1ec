"""Trainers: joined where they are several, and ended with one line when something is wrong."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pqpp_backbones.errors import TrainingError
from pqpp_files.errors import PqppError
from pqpp_files.full_disk import is_full
from pqpp_files.visible import visible


def run_trainer(train: Callable[[], Any]) -> None:
    """Call a trainer in this process, which Accelerate or torchrun may have started beside others.

    Raises:
        TrainingError: The memory or a disk was too small.
    """
    from accelerate import PartialState

    _join_processes_without_gpus()
    with told_in_a_line():
        train()
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
        print(
            "note: accelerate launch has started one process, as it does on CPUs; several are "
            "started by torchrun --nproc_per_node N -m pqpp_cli train NAME",
            file=sys.stderr,
        )


@contextlib.contextmanager
def told_in_a_line() -> Iterator[None]:
    """Say what a long run died of, and how it goes on, where no error of ours says it.

    Raises:
        TrainingError: The memory or a disk was too small.

    Example:
        >>> with told_in_a_line():
        ...     raise MemoryError
        Traceback (most recent call last):
            ...
        pqpp_backbones.errors.TrainingError: the memory is not enough; take a smaller batch_size ...
    """
    try:
        yield
    except KeyboardInterrupt:
        said = "note: a trainer with checkpoints goes on from the last one with --resume"
        print(said, file=sys.stderr)
        raise
    except PqppError:
        raise
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise  # a defect, which must be seen
        raise TrainingError(reason) from error


def _reason(error: Exception) -> str | None:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        remedy = "take a smaller batch_size with more gradient_accumulation_steps"
        return f"the memory is not enough; {remedy}"
    if is_full(error):
        named = getattr(error, "filename", None)
        said = getattr(error, "strerror", None)
        where = f"{named}: {said}" if named else "no space is left on output_dir's disk"
        return f"{where}; a trainer with checkpoints goes on with --resume"
    return None


def or_exit(main: Callable[[], Any]) -> None:
    """Call a script's main; what is wrong ends it with one line and exit code 2.

    Example:
        >>> or_exit(lambda: 0)
    """
    try:
        with told_in_a_line():
            main()
    except (PqppError, OSError) as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        sys.exit(2)
