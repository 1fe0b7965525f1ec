"""Running an outside command that ends when this process does, however that ends."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

_WHEN_PARENT_DIES = 1  # PR_SET_PDEATHSIG of Linux


def run_outside(words: Sequence[str], seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input, and return how it ended and what it said.

    Where it takes too long, or this process is interrupted or terminated meanwhile, it and what it
    has started are killed. On Linux it is, too, where this process is killed.

    Args:
        words: The command and its arguments; no shell reads them.
        seconds: How long it may take.

    Raises:
        subprocess.TimeoutExpired: It took longer.
        OSError: It cannot be run.

    Example:
        >>> run_outside([sys.executable, "-c", "print('a cat')"], 60).stdout.split()
        [b'a', b'cat']
    """
    begin = None
    if sys.platform == "linux":
        begin = partial(_end_with, os.getpid(), ctypes.CDLL(None).prctl)
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=begin,
        process_group=0 if os.name == "posix" else None,
    )
    with process:
        try:
            output, error = process.communicate(timeout=seconds)
        except BaseException:
            _kill(process)
            raise
    return subprocess.CompletedProcess(words, process.returncode, output, error)


def _end_with(parent: int, prctl: Callable[..., int]) -> None:
    """Let this new process be killed when its parent is, which may have been already."""
    prctl(_WHEN_PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if os.name != "posix":
        process.kill()
    elif process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
