"""Commands that write, killed at any moment: either the old or the new output is complete.

A case is an integer: it chooses a command, whether there is an old output, and when and by which
signal the process is killed; sometimes the rerun is killed, too. Then the command runs to its end.
"""

import contextlib
import functools
import hashlib
import itertools
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuzz.forked import redirect_output, suppress_output, wait_for_exit
from fuzz.kill_writers import WRITERS, Writer, get_shared_folder, write_inputs
from pqpp_files.errors import PqppError

# Prefixes of Python's audit events for calls of the operating system.
_EVENTS = ("os.", "open", "shutil.", "tempfile.", "ctypes.", "fcntl.")
SECONDS = 60


@dataclass(frozen=True)
class UndisturbedRuns:
    """Runs of a writer to its end.

    Attributes:
        outputs: The hashes of its output's files, for `old` and for `new`.
        events: The number of audit events of a run for `new`.
        seconds: The time of such a run.
    """

    outputs: dict[str, dict[str, str]]
    events: int
    seconds: float


def choose_writer(case: int) -> str:
    """Return the name of the command of a case."""
    return str(np.random.default_rng([case, 1]).choice(list(WRITERS)))


def find_fault(case: int) -> str | None:
    """Kill the command of a case; return one line on what it left wrong, or None."""
    random = np.random.default_rng(case)
    name = choose_writer(case)
    writer, undisturbed = WRITERS[name], run_undisturbed(name)
    with tempfile.TemporaryDirectory(prefix="pqpp-kill-") as beside:
        room = Path(beside)
        write_inputs(room)
        writer.prepare(room)
        inputs = hash_files(room)
        has_old = random.random() < 0.75 and writer.way == "whole"
        if has_old:
            source = get_shared_folder() / name / "old" / writer.output
            (room / writer.output).parent.mkdir(exist_ok=True)
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, room / writer.output)
        allowed = [undisturbed.outputs["old"] if has_old else {}, undisturbed.outputs["new"]]
        events = [name, "over an old one" if has_old else "anew"]
        for _ in range(1 + (random.random() < 0.3)):
            kill = _choose_kill(random, undisturbed)
            events.append(kill.description)
            _run_in_fork(writer, room, kill.install)
            if not _is_allowed(hash_files(room, writer.output), writer, allowed, events):
                return f"lost file: neither the old nor the new is there [{', '.join(events)}]"
            if hash_files(room, *inputs) != inputs:
                return f"lost file: an input was changed [{', '.join(events)}]"
        status = _run_in_fork(writer, room)
        description = f"[{', '.join(events)}]"
        printed = (room.parent / f"{room.name}.printed").read_text(errors="replace")
        (room.parent / f"{room.name}.printed").unlink()
        if "Traceback" in printed:
            return f"traceback: {printed.splitlines()[-1][:200]} {description}"
        is_done = writer.way == "new" and "already exists" in printed
        if status != 0 and not is_done:
            return f"untyped error: the rerun ends in {status}: {printed[-200:]!r} {description}"
        if hash_files(room, writer.output) != undisturbed.outputs["new"]:
            return f"lost file: the rerun did not write the new one {description}"
        extra_files = sorted(set(hash_files(room)) - set(inputs) - set(undisturbed.outputs["new"]))
        if extra_files:
            return f"lost file: {extra_files[0]} is left behind {description}"
    return None


def _is_allowed(files: dict, writer: Writer, allowed: list[dict], events: list[str]) -> bool:
    """Return whether a killed command may leave these files."""
    if writer.way == "resumed":
        return True
    if writer.way == "new" and writer.last not in files:
        return not files or any(kill.startswith("SIGKILL") for kill in events)
    return files in allowed


@dataclass(frozen=True)
class _Kill:
    """When and how a process is killed; `install` is called in it before its work."""

    description: str
    install: Callable[[], None]


def _choose_kill(random: np.random.Generator, undisturbed: UndisturbedRuns) -> _Kill:
    """Choose a signal and a moment: an event, most often one of the last ones, or a time."""
    weights = [0.6, 0.2, 0.2]
    signal_number = random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], p=weights)
    name = signal.Signals(signal_number).name
    if random.random() < 0.75:
        back = random.integers(undisturbed.events if random.random() < 0.4 else 60)
        event = max(1, undisturbed.events - int(back))

        def at_event() -> None:
            counter = itertools.count(1)

            def hook(kind: str, _: tuple) -> None:
                if kind.startswith(_EVENTS) and next(counter) == event:
                    os.kill(os.getpid(), signal_number)

            sys.addaudithook(hook)

        return _Kill(f"{name} at event {event} of {undisturbed.events}", at_event)
    seconds = float(random.uniform(0, undisturbed.seconds * 1.1))

    def at_time() -> None:
        def wait() -> None:
            time.sleep(seconds)
            os.kill(os.getpid(), signal_number)

        threading.Thread(target=wait, daemon=True).start()

    return _Kill(f"{name} after {seconds:.3f} s", at_time)


def _run_in_fork(
    writer: Writer, room: Path, install: Callable[[], object] = lambda: None, version: str = "new"
) -> int | None:
    """Run a command in a fork of this process, in a folder, and return its status."""
    return wait_for_exit(start_in_fork(writer, room, install, version), SECONDS)


def start_in_fork(
    writer: Writer, room: Path, install: Callable[[], object] = lambda: None, version: str = "new"
) -> int:
    """Start a command in a fork of this process, in a folder, and return its process number."""
    process = os.fork()
    if process == 0:
        status = 3
        try:
            redirect_output(room.parent / f"{room.name}.printed")
            os.chdir(room)
            from pqpp_cli.interrupts import repeat_signal
            from pqpp_files import atomic_write

            sys.unraisablehook = repeat_signal
            atomic_write._CLEANED_FOLDERS.clear()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            finish = install()
            status = int(writer.run(version) or 0)
            if finish is not None:
                finish()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 3
        except KeyboardInterrupt:
            status = 130
        except PqppError as error:  # of a function that is called without the command line
            status = 2
            print(f"pqpp: error: {error}", flush=True)
        except BaseException as error:
            print(f"Traceback: {type(error).__name__}: {error}", flush=True)
        finally:
            os._exit(status)
    return process


def hash_files(room: Path, *names: str) -> dict[str, str]:
    """Return the hash of each file below a folder, or below some names in it."""
    tops = [room / name for name in names] if names else [room]
    paths = {path for top in tops for path in (top, *top.rglob("*")) if path.is_file()}
    return {
        str(path.relative_to(room)): _hash_file(path, room)
        for path in sorted(paths)
        if not path.name.endswith(("-wal", "-shm"))  # which each reader creates and removes
    }


def _hash_file(path: Path, room: Path) -> str:
    """Return the hash of a file; for a study's database, which contains times, numbers of rows."""
    if path.suffix != ".db" or path.name.startswith("."):
        content = path.read_bytes().replace(os.fsencode(room.resolve()), b"")
        return hashlib.sha256(content).hexdigest()
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = ("asset", "item", "item_image", "person", "answer")
        counts = [database.execute(f"SELECT COUNT(*) FROM {name}").fetchone() for name in tables]
    return str(counts)


@functools.cache
def run_undisturbed(name: str) -> UndisturbedRuns:
    """Run a writer to its end: once in this process, to import its modules, then in forks.

    Raises:
        AssertionError: It fails, or two runs write different files.
    """
    writer, outputs, parent = WRITERS[name], {}, get_shared_folder() / name
    for version in ("warm", "old", "new", "again"):
        room = parent / version
        room.mkdir(parents=True)
        write_inputs(room)
        writer.prepare(room)
        written = version if version in ("old", "new") else "new"
        if version == "warm":
            with suppress_output(), contextlib.chdir(room):
                writer.run(written)
            continue
        start = time.monotonic()
        status = _run_in_fork(writer, room, functools.partial(_count, parent / "events"), written)
        seconds = time.monotonic() - start
        assert status == 0, (name, (parent / f"{version}.printed").read_text()[-500:])
        outputs[version] = hash_files(room, writer.output)
    assert outputs["new"] and outputs.pop("again") == outputs["new"], name
    return UndisturbedRuns(outputs, int((parent / "events").read_text()), seconds)


def _count(path: Path) -> Callable[[], None]:
    """Count this process's audit events; return a function that writes their number."""
    counter = itertools.count()

    def hook(kind: str, _: tuple) -> None:
        if kind.startswith(_EVENTS):
            next(counter)

    sys.addaudithook(hook)
    return lambda: path.write_text(str(next(counter)))
