"""A piece of work in a fork of a warm process: what came of it, what it took, what it touched."""

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

# Whatever starts a program, asks a question or calls out.
_FOREIGN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen")
_FOREIGN += ("builtins.input", "socket.connect", "socket.getaddrinfo", "webbrowser.open")
_SECONDS = 15


@dataclass
class Found:
    """What came of a piece of work.

    Attributes:
        kind: `answer`, `refused` for a typed error, the name of another error, `foreign` for an
            event that no foreign file may cause, or `ended` where it was killed.
        said: The answer's or error's text.
        seconds: Of the processor.
        memory: Bytes above what was in use before.
        printed: All that came to standard output and error.
    """

    kind: str
    said: str = ""
    seconds: float = 0.0
    memory: int = 0
    printed: str = ""


def in_a_fork(work: Callable[[], object], room: Path, memory: int = 700_000_000) -> Found:
    """Do some work in a fork of this process, limited in memory and time.

    Args:
        work: What to do; its result is made a text.
        room: A folder for what is printed and answered.
        memory: Bytes that it may take beside what this process has.
    """
    process = os.fork()
    if process == 0:
        try:
            _work_as_told(work, room, memory)
        finally:
            os._exit(0)
    status = waited_for(process, _SECONDS)
    printed, answer = room / "printed", room / "answer"
    text = printed.read_text(errors="replace") if printed.exists() else ""
    if answer.exists() and answer.stat().st_size:
        return Found(*json.loads(answer.read_text()), printed=text)
    return Found("ended", f"by status {status}", printed=text)


def waited_for(process: int, seconds: float) -> int | None:
    """Return the status of a process when it has ended; None if it had to be killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def _work_as_told(work: Callable[[], object], room: Path, memory: int) -> None:
    from pqpp_files.errors import PqppError

    print_to(room / "printed")
    most = in_use("VmSize") + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    answer = room / "answer"

    def refuse_foreign(event: str, arguments: Sequence) -> None:
        if event.startswith(_FOREIGN):
            answer.write_text(json.dumps(["foreign", f"{event} {arguments!r:.200}", 0, 0]))
            os._exit(0)

    sys.addaudithook(refuse_foreign)
    before, began = in_use("VmRSS"), time.process_time()
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest so far
    try:
        kind, said = "answer", str(work())
    except PqppError as error:
        kind, said = "refused", str(error)
    except BaseException as error:
        kind, said = type(error).__name__, f"{error} ({_place_of(error)})"
    seconds, taken = time.process_time() - began, in_use("VmHWM") - before
    sys.stdout.flush()
    sys.stderr.flush()
    answer.write_text(json.dumps([kind, said, seconds, taken]))


def _place_of(error: BaseException) -> str:
    """Name the last of our own lines that an error came through."""
    place, trace = "", error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if any(part.startswith("pqpp") for part in path.parts[-4:]):
            place = f"{path.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def print_to(path: Path) -> None:
    """Let all that this process prints go to a file."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(handle, stream)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(stream, "w", closefd=False), write_through=True)
        for stream in (1, 2)
    )


@contextlib.contextmanager
def unprinted() -> Iterator[None]:
    """Let what is printed in a block go nowhere, whoever prints it."""
    kept = [os.dup(stream) for stream in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, handle in zip((1, 2), kept, strict=True):
            os.dup2(handle, stream)
        for handle in (*kept, nowhere):
            os.close(handle)


def in_use(what: str) -> int:
    """Return a figure of this process's memory in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    return 0


@contextlib.contextmanager
def opened_in(folder: Path) -> Iterator[Callable[[], list[str]]]:
    """Give a function that names the files of a folder that anybody has opened since."""
    library = ctypes.CDLL(None, use_errno=True)
    handle = library.inotify_init1(os.O_NONBLOCK)
    try:
        # IN_OPEN; of a folder, for each file in it.
        if handle < 0 or library.inotify_add_watch(handle, os.fsencode(folder), 0x20) < 0:
            raise OSError(ctypes.get_errno(), "no file can be watched", str(folder))

        def opened() -> list[str]:
            try:
                events = os.read(handle, 1 << 16)
            except BlockingIOError:
                return []
            names = []
            while events:  # of each: four numbers, the last the length of the name behind them
                length = int.from_bytes(events[12:16], sys.byteorder)
                names.append(events[16 : 16 + length].rstrip(b"\0").decode())
                events = events[16 + length :]
            return sorted({name for name in names if name})

        yield opened
    finally:
        os.close(handle)
