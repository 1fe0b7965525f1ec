"""Calls of public functions and methods with whatever comes: an answer, or one typed line.

A case is a whole number: the same number makes the same call on every machine.
`python -m fuzz.fuzz_calls CASE` in `tests` shows one case with its traceback.
"""

import contextlib
import io
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from fuzz.calls.doors import REFUSED, doors
from fuzz.calls.values import arguments, needed_files
from pqpp_files.errors import PqppError

_SECONDS = 30


class TooLongError(BaseException):
    """A call has not come back."""


def called() -> list[str]:
    """Return the names of what gives an answer when it is called as it is meant to be."""
    return [name for name in doors() if name.rpartition(".")[2] not in REFUSED]


def counted_fault_of(case: int) -> tuple[str | None, str, list[str]]:
    """Return the fault of a case, what it called, and whether an answer came."""
    random = Random(case)
    name = random.choice(list(doors()))
    fault, is_answered = _seen(name, random)
    return fault, name, ["done"] if is_answered else []


def fault_of(case: int) -> str | None:
    """Make the call of a case, and say in one line what is wrong with how it went, if anything."""
    return counted_fault_of(case)[0]


def _seen(name: str, random: Random) -> tuple[str | None, bool]:
    said = io.StringIO()
    with (
        tempfile.TemporaryDirectory(prefix="pqpp-call-") as room,
        contextlib.chdir(room),
        mock.patch("huggingface_hub.constants.HF_HUB_OFFLINE", True),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error", RuntimeWarning)
        needed_files(Path(room))
        given = arguments(name, doors()[name], random)
        signal.signal(signal.SIGPROF, _end)
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        try:
            placed = [given.pop("name")] if name.endswith("render_card") and "name" in given else []
            doors()[name](*placed, **given)
        except PqppError as error:
            line = str(error)
            if "\n" in line or not line.strip():
                return (
                    f"untyped error: {name}: {len(line.splitlines())} lines: {line[:80]!r}",
                    False,
                )
            return None, False
        except TooLongError:
            return f"slow: {name}({_short(given)})", False
        except OSError as error:
            # Of a path that cannot be: the system's own words say it in one line.
            return (None if error.filename else f"untyped error: {name}: {error!r:.200}"), False
        except Exception as error:
            where = _place_of(error)
            kind = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            return f"untyped error: {name}: {where}: {kind} [{_short(given)}]", False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return None, True


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
