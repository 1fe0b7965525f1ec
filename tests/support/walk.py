"""The way of a value through the house: whose hands it passes, and how often it comes back."""

import gc
import sys
from functools import _lru_cache_wrapper
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pqpp_files

ROOT = Path(pqpp_files.__file__).resolve().parents[1]
COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>", "<module>")
DEPTH = 4


class Walk(NamedTuple):
    """What was entered, in order.

    Attributes:
        functions: Those entered, as file and name, each once.
        stops: Their files, one after the other; calls within a file are one stop.
    """

    functions: list[tuple[str, str]]
    stops: list[str]

    @property
    def turns(self) -> int:
        """How many stops are at a file that was left before."""
        return len(self.stops) - len(set(self.stops))


def walk(call, word=None, start=None, until=None) -> Walk:
    """Run a call twice, and follow it the second time: imports are no part of its way.

    What our functions remember of the first time is forgotten.

    Args:
        call: What is run.
        word: Only functions that are given a value with this word in it count; all if None. The
            object that a method belongs to is not counted as given.
        start: The qualified name of the function where the way begins; at once if None.
        until: The name of the function at which the way ends; the call's end if None.
    """
    entered: list[tuple[str, str]] = []
    frames = []  # of generators, which are entered once, however often they go on

    def note(frame, event, _):
        code = frame.f_code
        path = code.co_filename.removeprefix(f"{ROOT}/")
        ours = path.startswith("pqpp_") and code.co_name not in COMPREHENSIONS
        if (
            event != "call"
            or not ours
            or frame in frames
            or (until and entered and entered[-1][1] == until)
        ):
            return
        if start and not entered and code.co_qualname != start:
            return
        count = code.co_argcount + code.co_kwonlyargcount
        names = [name for name in code.co_varnames[:count] if name not in ("self", "cls")]
        given = word is None or any(_holds(frame.f_locals.get(name), word) for name in names)
        if given or (start and not entered):
            frames.append(frame)
            entered.append((path, code.co_qualname))

    call()
    for cached in gc.get_objects():
        if isinstance(cached, _lru_cache_wrapper) and str(cached.__module__).startswith("pqpp_"):
            cached.cache_clear()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    stops = [path for path, _ in groupby(path for path, _ in entered)]
    return Walk(list(dict.fromkeys(entered)), stops)


def _holds(value, word, depth=DEPTH):
    """Whether a value, or what it holds, has the word in it."""
    if isinstance(value, str):
        return word in value
    if not depth:
        return False
    kind = type(value).__module__.partition(".")[0]
    if kind == "pyarrow":
        value = value.to_pydict() if hasattr(value, "to_pydict") else ()
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "ravel"):
        value = value.ravel().tolist() if value.dtype.kind in "OU" else ()
    if isinstance(value, dict):
        value = [*value, *value.values()]
    elif kind.startswith("pqpp_") and hasattr(value, "__dict__") and not isinstance(value, type):
        value = list(vars(value).values())
    if isinstance(value, (list, tuple, set)):
        return any(_holds(part, word, depth - 1) for part in list(value)[:100])
    return False
