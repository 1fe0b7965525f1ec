"""Two commands that write to one place at once: what either wrote is there, whole.

A case is a whole number: it chooses a command, what each of the two reads, and which of them begins
when. One may be refused, in a line.
"""

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from fuzz.forked import waited_for
from fuzz.fuzz_kills import SECONDS, forked, held_in, known_of
from fuzz.kill_writers import WRITERS, Writer, write_inputs

REFUSALS = ("another run has written", "is there already", "are being written by another run")


def writer_of(case: int) -> str:
    """Return the name of the command of a case; they come in turn."""
    return list(WRITERS)[case % len(WRITERS)]


def fault_of(case: int) -> str | None:
    """Run two commands at once, and say in one line what came out wrong, if anything."""
    random = np.random.default_rng(case)
    writer, known = WRITERS[writer_of(case)], known_of(writer_of(case))
    versions = ["new", "new" if writer.way == "resumed" or random.random() < 0.3 else "old"]
    with tempfile.TemporaryDirectory(prefix="pqpp-pair-") as beside:
        room = Path(beside) / "room"
        room.mkdir()
        write_inputs(room)
        writer.prepare(room)
        inputs = held_in(room)
        if writer.way == "whole" and random.random() < 0.5:
            _put_an_older_one(writer_of(case), writer, room)
        running = []
        for number, version in enumerate(versions):
            running.append(forked(writer, room, version=version, printed=f"printed.{number}"))
            time.sleep(random.uniform(0, known.seconds * 0.3))
        statuses = [waited_for(process, SECONDS) for process in running]
        said = [(Path(beside) / f"room.printed.{number}").read_text() for number in (0, 1)]
        wrong = _wrong_in(writer, room, statuses, said)
        whole = [known.whole[version] for version in versions]
        if wrong is None and held_in(room, writer.output) not in whole:
            wrong = "lost file: neither the one nor the other is there"
        left = set(held_in(room)) - set(inputs) - set(held_in(room, writer.output))
        kept = (f"{writer.output}-2/", f"{writer.output}-3/")
        if wrong is None and (litter := [name for name in left if not name.startswith(kept)]):
            wrong = f"lost file: {litter[0]} is left behind"
        return wrong and f"{wrong} [two of {writer_of(case)}, {' and '.join(versions)}]"


def _put_an_older_one(name: str, writer: Writer, room: Path) -> None:
    """Put what is neither into the place."""
    from fuzz.kill_writers import sound

    source = sound() / name / "old" / writer.output
    (room / writer.output).parent.mkdir(exist_ok=True)
    copy = shutil.copytree if source.is_dir() else shutil.copyfile
    copy(source, room / writer.output)


def _wrong_in(writer: Writer, room: Path, statuses: list, said: list[str]) -> str | None:
    """Return what is wrong with how two commands ended; a status is that of `os.waitpid`."""
    for status, text in zip(statuses, said, strict=True):
        if "Traceback" in text:
            return f"traceback: {text.splitlines()[-1][:300]}"
        is_refused = status == 2 << 8 and any(refusal in text for refusal in REFUSALS)
        if status != 0 and not is_refused:
            return f"untyped error: ends in {status}: {text[-300:]!r}"
    return None if 0 in statuses else "untyped error: both are refused"
