"""Runs a function in a fork: its outcome, its time and memory, and the files that it opened."""

import contextlib
import ctypes
import io
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Audit events that start a program, read an answer or connect to a network.
_FORBIDDEN_EVENTS = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen")
_FORBIDDEN_EVENTS += ("builtins.input", "socket.connect", "socket.getaddrinfo", "webbrowser.open")
_SECONDS = 15


@dataclass
class Outcome:
    """The outcome of a function in a fork.

    Attributes:
        kind: `answer`, `refused` for a typed error, the name of another error, `foreign` for an
            event that no foreign file may cause, or `ended` where it was killed.
        said: The answer's or error's text.
        seconds: Processor time.
        memory: Bytes more than before.
        printed: The text of standard output and error.
    """

    kind: str
    text: str = ""
    seconds: float = 0.0
    memory: int = 0
    printed: str = ""


def run_in_fork(work: Callable[[], object], room: Path, memory: int = 700_000_000) -> Outcome:
    """Run a function in a fork of this process, limited in memory and time.

    Args:
        work: The function; its result is converted to a text.
        room: A folder for the files of its output and outcome.
        memory: Bytes that it may take in addition to those of this process.
    """
    process = os.fork()
    if process == 0:
        try:
            _run_limited(work, room, memory)
        finally:
            os._exit(0)
    status = wait_for_exit(process, _SECONDS)
    printed, answer = room / "printed", room / "answer"
    printed_text = printed.read_text(errors="replace") if printed.exists() else ""
    if answer.exists() and answer.stat().st_size:
        return Outcome(*json.loads(answer.read_text()), printed=printed_text)
    return Outcome("ended", f"by status {status}", printed=printed_text)


def wait_for_exit(process: int, seconds: float) -> int | None:
    """Return the exit status of a process; None if it was killed after some seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def _run_limited(work: Callable[[], object], room: Path, memory: int) -> None:
    from pqpp_files.errors import PqppError

    redirect_output(room / "printed")
    limit = get_memory("VmSize") + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answer = room / "answer"

    def refuse_foreign(event: str, arguments: Sequence) -> None:
        if event.startswith(_FORBIDDEN_EVENTS):
            answer.write_text(json.dumps(["foreign", f"{event} {arguments!r:.200}", 0, 0]))
            os._exit(0)

    sys.addaudithook(refuse_foreign)
    before, start = get_memory("VmRSS"), time.process_time()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    try:
        kind, text = "answer", str(work())
    except PqppError as error:
        kind, text = "refused", str(error)
    except BaseException as error:
        kind, text = type(error).__name__, f"{error} ({_get_place(error)})"
    seconds, memory_taken = time.process_time() - start, get_memory("VmHWM") - before
    sys.stdout.flush()
    sys.stderr.flush()
    answer.write_text(json.dumps([kind, text, seconds, memory_taken]))


def _get_place(error: BaseException) -> str:
    """Return the last of our own lines in an error's traceback."""
    place, trace = "", error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if any(part.startswith("pqpp") for part in path.parts[-4:]):
            place = f"{path.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def redirect_output(path: Path) -> None:
    """Redirect standard output and error of this process to a file."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(handle, stream)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(stream, "w", closefd=False), write_through=True)
        for stream in (1, 2)
    )


@contextlib.contextmanager
def suppress_output() -> Iterator[None]:
    """Discard all output within a block, also that of libraries in C."""
    saved = [os.dup(stream) for stream in (1, 2)]
    null_device = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in (1, 2):
            os.dup2(null_device, stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, handle in zip((1, 2), saved, strict=True):
            os.dup2(handle, stream)
        for handle in (*saved, null_device):
            os.close(handle)


def get_memory(field: str) -> int:
    """Return a field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


@contextlib.contextmanager
def watch_opened_files(folder: Path) -> Iterator[Callable[[], list[str]]]:
    """Yield a function that returns the names of a folder's files opened since."""
    library = ctypes.CDLL(None, use_errno=True)
    handle = library.inotify_init1(os.O_NONBLOCK)
    try:
        # 0x20 is IN_OPEN; for a folder it reports each file in it.
        if handle < 0 or library.inotify_add_watch(handle, os.fsencode(folder), 0x20) < 0:
            raise OSError(ctypes.get_errno(), "no file can be watched", str(folder))

        def opened() -> list[str]:
            try:
                events = os.read(handle, 1 << 16)
            except BlockingIOError:
                return []
            names = []
            while events:  # four integers, the last one the length of the name that follows
                length = int.from_bytes(events[12:16], sys.byteorder)
                names.append(events[16 : 16 + length].rstrip(b"\0").decode())
                events = events[16 + length :]
            return sorted({name for name in names if name})

        yield opened
    finally:
        os.close(handle)
