"""`python -m fuzz.command_lines.server KIND`: runs the cases whose numbers come, a line each.

`fill` makes the models instead, and ends; `chat` is an endpoint, told what shall go wrong.
"""

import gc
import json
import os
import resource
import sys
from pathlib import Path

from support.chat_server import serve_chat

from fuzz.command_lines.case import Case, clear
from fuzz.command_lines.shelf import fill, warm

_PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ"
_PICTURE += "/pLvAAAAAElFTkSuQmCC"


def serve(kind: str, home: Path) -> None:
    """Run cases as they come, and print what came of each."""
    warm(kind)
    gc.freeze()  # so that forks share it
    for line in sys.stdin:
        number = int(line)
        place = home / f"case-{number}"
        before = _seconds()
        case = Case(number, place, home / "shelf")
        made = _seconds()
        fault = case.fault()
        told = {"case": number, "words": case.words, "stream": case.stream, "status": case.status}
        told |= {"manner": case.manner, "real": case.is_real, "input": case.input}
        told |= {"out": case.out, "err": case.err, "fault": fault}
        told |= {"seconds": [round(made - before, 3), round(_seconds() - made, 3)]}
        print(json.dumps(told), flush=True)
        clear(place)


def talk() -> None:
    """Answer for texts and images, and print the address for each line of faults."""
    with serve_chat() as chat:
        chat.answer = _answer
        for line in sys.stdin:
            chat.faults = json.loads(line)
            print(json.dumps({"case": 0, "url": chat.url}), flush=True)


def _answer(body: dict) -> str | dict:
    if "messages" not in body:
        return {"data": [{"b64_json": _PICTURE}]}
    return json.dumps({"rewrites": ["a red cat, on a mat", "two dogs", "a cat"]})


def _seconds() -> float:
    own, forked = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + forked.ru_utime + forked.ru_stime


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(Path(os.environ["TMPDIR"]) / "shelf")
    elif sys.argv[1] == "chat":
        talk()
    else:
        serve(sys.argv[1], Path(os.environ["TMPDIR"]))
