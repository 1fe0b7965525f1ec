"""Calls of public functions and methods with whatever comes: an answer, or one typed line.

A case is a whole number: the same number makes the same call on every machine.
`python -m fuzz.fuzz_calls CASE` in `tests` shows one case with its traceback.
"""

import contextlib
import functools
import io
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, BinaryIO
from unittest import mock

from fuzz.calls import arrays
from fuzz.calls.doors import METRICS, REFUSED, doors
from fuzz.calls.values import arguments, needed_files
from pqpp_files.errors import PqppError

_SECONDS = 30
_METRICS = 0.4
"""The share of calls that are of metric functions."""


class TooLongError(BaseException):
    """A call has not come back."""


def called() -> list[str]:
    """Return the names of what gives an answer when it is called as it is meant to be."""
    return [
        name
        for name in doors()
        if name.rpartition(".")[2] not in REFUSED and not name.startswith(METRICS)
    ]


def is_of_metrics(case: int) -> bool:
    """Tell whether a case calls a metric function, which takes no time."""
    return Random(f"kind {case}").random() < _METRICS


def counted_fault_of(case: int) -> tuple[str | None, str, list[str]]:
    """Return the fault of a case, what it called, and whether an answer came."""
    random, is_metric = Random(case), is_of_metrics(case)
    name = random.choice([name for name in doors() if name.startswith(METRICS) == is_metric])
    fault, is_answered = (_measured if is_metric else _called)(name, random)
    return fault, name, ["done"] if is_answered else []


def fault_of(case: int) -> str | None:
    """Make the call of a case, and say in one line what is wrong with how it went, if anything."""
    return counted_fault_of(case)[0]


def _measured(name: str, random: Random) -> tuple[str | None, bool]:
    """Call a metric function, and again with the same numbers in 64 bits."""
    given = arrays.arguments(doors()[name], random.getrandbits(32))
    wide = {key: arrays.wide(value) for key, value in given.items()}

    def call() -> str | None:
        warnings.simplefilter("error")
        is_same = arrays.is_same(doors()[name](**given), doors()[name](**wide))
        return None if is_same else f"wrong number: {name}: another result in 64 bits"

    return _outcome(name, given, call)


def _called(name: str, random: Random) -> tuple[str | None, bool]:
    """Call anything else, in a folder of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="pqpp-call-") as room,
        contextlib.chdir(room),
        mock.patch("huggingface_hub.constants.HF_HUB_OFFLINE", True),
    ):
        needed_files(Path(room))
        given = arguments(name, doors()[name], random)
        placed = [given.pop("name")] if name.endswith("render_card") and "name" in given else []

        def call() -> str | None:
            doors()[name](*placed, **given)
            return None

        return _outcome(name, given, call)


def _outcome(
    name: str, given: dict[str, Any], call: Callable[[], str | None]
) -> tuple[str | None, bool]:
    """Make a call, and return what is wrong with what came of it, and whether it was an answer."""
    printed = _printed()
    signal.signal(signal.SIGPROF, _end)
    try:
        with _quiet(printed):
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
            fault = call()
    except PqppError as error:
        lines = str(error).splitlines()
        is_line = len(lines) == 1 and lines[0].strip()
        fault = None if is_line else f"untyped error: {name}: {len(lines)} lines: {lines[:2]!r:.80}"
        return fault, False
    except TooLongError:
        return f"slow: {name}({_short(given)})", False
    except OSError as error:
        # Of a path that cannot be: the system's own words say it in one line.
        return (None if error.filename else f"untyped error: {name}: {error!r:.200}"), False
    except Exception as error:  # a warning is one too
        where = _place_of(error)
        kind = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        return f"untyped error: {name}: {where}: {kind} [{_short(given)}]", False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        printed.seek(0)
        text = printed.read().decode(errors="replace")
        printed.seek(0)
        printed.truncate()
    if "warning" in text.lower():
        return f"noise: {name}: {' '.join(text.split())[:200]} [{_short(given)}]", True
    return fault, True


@functools.cache
def _printed() -> BinaryIO:
    """Return the file that stands for standard output and error during calls."""
    return tempfile.TemporaryFile(buffering=0)


@contextlib.contextmanager
def _quiet(printed: BinaryIO) -> Iterator[None]:
    """Send what Python and compiled libraries print to a file; warnings are errors."""
    with warnings.catch_warnings(), contextlib.ExitStack() as kept:
        for kind in (RuntimeWarning, UserWarning):
            warnings.simplefilter("error", kind)
        for number in (1, 2):
            was = os.dup(number)
            kept.callback(os.close, was)
            kept.callback(os.dup2, was, number)
            os.dup2(printed.fileno(), number)
        said = io.TextIOWrapper(io.FileIO(printed.fileno(), "w", closefd=False), "utf-8", "replace")
        with said, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            yield


def _end(*_: object) -> None:
    raise TooLongError


def _place_of(error: BaseException) -> str:
    """Name the last of our own lines that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/pqpp" in frame.filename]
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "the call"


def _short(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={' '.join(repr(value).split()):.60}" for name, value in given.items())


if __name__ == "__main__":
    for number in map(int, sys.argv[1:]):
        print(counted_fault_of(number))
