"""Two commands that write the same output at once: it is the complete output of one of them.

A case is an integer: it chooses a command, and what each of the two writes.
"""

import tempfile
from pathlib import Path

import numpy as np

from fuzz.forked import wait_for_exit
from fuzz.fuzz_kills import SECONDS, choose_writer, hash_files, run_undisturbed, start_in_fork
from fuzz.kill_writers import WRITERS, write_inputs


def find_fault(case: int) -> str | None:
    """Run the command of a case twice at once; return one line on a fault, or None."""
    name, versions = choose_writer(case), np.random.default_rng(case).choice(["old", "new"], 2)
    writer, undisturbed = WRITERS[name], run_undisturbed(name)
    with tempfile.TemporaryDirectory(prefix="pqpp-pair-") as parent:
        room = Path(parent, "room")
        room.mkdir()
        write_inputs(room)
        writer.prepare(room)
        expected = set(hash_files(room)).union(*undisturbed.outputs.values())
        processes = [start_in_fork(writer, room, version=version) for version in versions]
        statuses = [wait_for_exit(process, SECONDS) for process in processes]
        printed = Path(parent, "room.printed").read_text(errors="replace")
        description = f"[{name}, {' and '.join(versions)}]"
        if "Traceback" in printed or "internal error" in printed or 0 not in statuses:
            return f"untyped error: {statuses}: {printed[-200:]!r} {description}"
        if hash_files(room, writer.output) not in undisturbed.outputs.values():
            return f"lost file: a mixture, or nothing {description}"
        if extra_files := sorted(set(hash_files(room)) - expected):
            return f"lost file: {extra_files[0]} is left behind {description}"
    return None
