"""`python -m fuzz.command_lines.server KIND`: runs the cases whose numbers come, a line each.

`fill` makes the models instead, and ends.
"""

import gc
import json
import os
import resource
import sys
from pathlib import Path

from fuzz.command_lines.case import Case, clear
from fuzz.command_lines.shelf import fill, warm


def serve(kind: str, home: Path) -> None:
    """Run cases as they come, and print what came of each."""
    scripts = warm(kind)
    gc.freeze()  # so that forks share it
    for line in sys.stdin:
        number = int(line)
        place = home / f"case-{number}"
        before = _seconds()
        case = Case(number, place, home / "shelf", scripts)
        made = _seconds()
        fault = case.fault()
        told = {"case": number, "words": case.words, "stream": case.stream, "status": case.status}
        told |= {"out": case.out, "err": case.err, "fault": fault}
        told |= {"seconds": [round(made - before, 3), round(_seconds() - made, 3)]}
        print(json.dumps(told), flush=True)
        clear(place)


def _seconds() -> float:
    own, forked = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + forked.ru_utime + forked.ru_stime


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(Path(os.environ["TMPDIR"]) / "shelf")
    else:
        serve(sys.argv[1], Path(os.environ["TMPDIR"]))
