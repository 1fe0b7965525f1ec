"""Commands that write, killed anywhere: the old content or the new one is there, whole.

A case is a whole number: it chooses a command, what is there before, and when its process is killed
and by which signal; sometimes the rerun is killed, too. Then the command runs to its end.
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

from fuzz.forked import print_to, unprinted, waited_for
from fuzz.kill_writers import WRITERS, Writer, sound, write_inputs
from pqpp_files.errors import PqppError

# What a process asks of the system, as Python audits it.
_EVENTS = ("os.", "open", "shutil.", "tempfile.", "ctypes.", "fcntl.")
SECONDS = 60


@dataclass(frozen=True)
class Known:
    """A writer that has run to its end.

    Attributes:
        whole: What its output holds, of `old` and of `new`.
        events: How many audited events the new one makes.
        seconds: How long it takes.
    """

    whole: dict[str, dict[str, str]]
    events: int
    seconds: float


def writer_of(case: int) -> str:
    """Return the name of the command of a case."""
    return str(np.random.default_rng([case, 1]).choice(list(WRITERS)))


def fault_of(case: int) -> str | None:
    """Kill the command of a case, and say in one line what it left wrong, if anything."""
    random = np.random.default_rng(case)
    name = writer_of(case)
    writer, known = WRITERS[name], known_of(name)
    with tempfile.TemporaryDirectory(prefix="pqpp-kill-") as beside:
        room = Path(beside)
        write_inputs(room)
        writer.prepare(room)
        inputs = held_in(room)
        was_there = random.random() < 0.75 and writer.way == "whole"
        if was_there:
            source = sound() / name / "old" / writer.output
            (room / writer.output).parent.mkdir(exist_ok=True)
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, room / writer.output)
        allowed = [known.whole["old"] if was_there else {}, known.whole["new"]]
        said = [name, "over an old one" if was_there else "anew"]
        for _ in range(1 + (random.random() < 0.3)):
            kill = _kill_of(random, known)
            said.append(kill.said)
            _in_a_fork(writer, room, kill.begin)
            if not _is_allowed(held_in(room, writer.output), writer, allowed, said):
                return f"lost file: neither the old nor the new is there [{', '.join(said)}]"
            if held_in(room, *inputs) != inputs:
                return f"lost file: an input was changed [{', '.join(said)}]"
        status = _in_a_fork(writer, room)
        where = f"[{', '.join(said)}]"
        printed = (room.parent / f"{room.name}.printed").read_text(errors="replace")
        (room.parent / f"{room.name}.printed").unlink()
        if "Traceback" in printed:
            return f"traceback: {printed.splitlines()[-1][:200]} {where}"
        is_done = writer.way == "new" and "already exists" in printed
        if status != 0 and not is_done:
            return f"untyped error: the rerun ends in {status}: {printed[-200:]!r} {where}"
        if held_in(room, writer.output) != known.whole["new"]:
            return f"lost file: the rerun did not write the new one {where}"
        litter = sorted(set(held_in(room)) - set(inputs) - set(known.whole["new"]))
        if litter:
            return f"lost file: {litter[0]} is left behind {where}"
    return None


def _is_allowed(held: dict, writer: Writer, allowed: list[dict], said: list[str]) -> bool:
    """Tell whether a killed command left what it may leave."""
    if writer.way == "resumed":
        return True
    if writer.way == "new" and writer.last not in held:
        return not held or any(kill.startswith("SIGKILL") for kill in said)
    return held in allowed


@dataclass(frozen=True)
class _Kill:
    """When and how a process is killed: begun in it, before its work."""

    said: str
    begin: Callable[[], None]


def _kill_of(random: np.random.Generator, known: Known) -> _Kill:
    """Choose a signal, and a moment: an event, most often of the last ones, or a time."""
    weights = [0.6, 0.2, 0.2]
    which = random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], p=weights)
    name = signal.Signals(which).name
    if random.random() < 0.75:
        back = random.integers(known.events) if random.random() < 0.4 else random.integers(60)
        event = max(1, known.events - int(back))

        def at_event() -> None:
            counter = itertools.count(1)

            def hook(kind: str, _: tuple) -> None:
                if kind.startswith(_EVENTS) and next(counter) == event:
                    os.kill(os.getpid(), which)

            sys.addaudithook(hook)

        return _Kill(f"{name} at event {event} of {known.events}", at_event)
    seconds = float(random.uniform(0, known.seconds * 1.1))

    def at_time() -> None:
        def wait() -> None:
            time.sleep(seconds)
            os.kill(os.getpid(), which)

        threading.Thread(target=wait, daemon=True).start()

    return _Kill(f"{name} after {seconds:.3f} s", at_time)


def _in_a_fork(
    writer: Writer, room: Path, begin: Callable[[], object] = lambda: None, version: str = "new"
) -> int | None:
    """Run a command in a fork of this process, in a folder, and return its status."""
    return waited_for(begun(writer, room, begin, version), SECONDS)


def begun(
    writer: Writer, room: Path, begin: Callable[[], object] = lambda: None, version: str = "new"
) -> int:
    """Begin a command in a fork of this process, in a folder, and return its number."""
    process = os.fork()
    if process == 0:
        status = 3
        try:
            print_to(room.parent / f"{room.name}.printed")
            os.chdir(room)
            from pqpp_files import atomic_write

            atomic_write._CLEANED_FOLDERS.clear()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            end = begin()
            status = int(writer.run(version) or 0)
            if end is not None:
                end()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 3
        except KeyboardInterrupt:
            status = 130
        except PqppError as error:  # of a function that no command line calls
            status = 2
            print(f"pqpp: error: {error}", flush=True)
        except BaseException as error:
            print(f"Traceback: {type(error).__name__}: {error}", flush=True)
        finally:
            os._exit(status)
    return process


def held_in(room: Path, *names: str) -> dict[str, str]:
    """Return the hash of each file below a folder, or below some names in it."""
    tops = [room / name for name in names] if names else [room]
    paths = {path for top in tops for path in (top, *top.rglob("*")) if path.is_file()}
    return {
        str(path.relative_to(room)): _told_by(path, room)
        for path in sorted(paths)
        if not path.name.endswith(("-wal", "-shm"))  # which come and go with each who reads
    }


def _told_by(path: Path, room: Path) -> str:
    """Return the hash of a file; of a study's database, which tells times, how much is in it."""
    if path.suffix != ".db" or path.name.startswith("."):
        content = path.read_bytes().replace(os.fsencode(room.resolve()), b"")
        return hashlib.sha256(content).hexdigest()
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = ("asset", "item", "item_image", "person", "answer")
        counts = [database.execute(f"SELECT COUNT(*) FROM {name}").fetchone() for name in tables]
    return str(counts)


@functools.cache
def known_of(name: str) -> Known:
    """Run a writer to its end: once here, so that forks import nothing, then in forks.

    Raises:
        AssertionError: It fails, or does not write the same twice.
    """
    writer, whole, place = WRITERS[name], {}, sound() / name
    for version in ("warm", "old", "new", "again"):
        room = place / version
        room.mkdir(parents=True)
        write_inputs(room)
        writer.prepare(room)
        asked = version if version in ("old", "new") else "new"
        if version == "warm":
            with unprinted(), contextlib.chdir(room):
                writer.run(asked)
            continue
        began = time.monotonic()
        status = _in_a_fork(writer, room, functools.partial(_count, place / "events"), asked)
        seconds = time.monotonic() - began
        assert status == 0, (name, (place / f"{version}.printed").read_text()[-500:])
        whole[version] = held_in(room, writer.output)
    assert whole["new"] and whole.pop("again") == whole["new"], name
    return Known(whole, int((place / "events").read_text()), seconds)


def _count(path: Path) -> Callable[[], None]:
    """Count this process's events, and give a function that writes how many there were."""
    counter = itertools.count()

    def hook(kind: str, _: tuple) -> None:
        if kind.startswith(_EVENTS):
            next(counter)

    sys.addaudithook(hook)
    return lambda: path.write_text(str(next(counter)))
