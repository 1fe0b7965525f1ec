"""Commands that write, two at once on one output: it holds what one of them writes, whole.

A case is a whole number: it chooses a command, and what each of the two is to write.
"""

import tempfile
from pathlib import Path

import numpy as np

from fuzz.forked import waited_for
from fuzz.fuzz_kills import SECONDS, begun, held_in, known_of, writer_of
from fuzz.kill_writers import WRITERS, write_inputs


def fault_of(case: int) -> str | None:
    """Run the command of a case twice at once, and say in one line what is wrong, if anything."""
    name, versions = writer_of(case), np.random.default_rng(case).choice(["old", "new"], 2)
    writer, known = WRITERS[name], known_of(name)
    with tempfile.TemporaryDirectory(prefix="pqpp-pair-") as beside:
        room = Path(beside, "room")
        room.mkdir()
        write_inputs(room)
        writer.prepare(room)
        expected = set(held_in(room)).union(*known.whole.values())
        processes = [begun(writer, room, version=version) for version in versions]
        statuses = [waited_for(process, SECONDS) for process in processes]
        printed = Path(beside, "room.printed").read_text(errors="replace")
        where = f"[{name}, {' and '.join(versions)}]"
        if "Traceback" in printed or "internal error" in printed or 0 not in statuses:
            return f"untyped error: {statuses}: {printed[-200:]!r} {where}"
        if held_in(room, writer.output) not in known.whole.values():
            return f"lost file: a mixture, or nothing {where}"
        if litter := sorted(set(held_in(room)) - expected):
            return f"lost file: {litter[0]} is left behind {where}"
    return None
