"""One case: files and words are made, the command runs in a fork, and what it did is looked at."""

import contextlib
import io
import os
import re
import resource
import shutil
import signal
import socket
import sys
import traceback
import warnings
from pathlib import Path
from random import Random
from types import ModuleType
from typing import NoReturn

from fuzz.command_lines.files import Files
from fuzz.command_lines.words import TRAINERS, Words, line_of

TOKEN = os.environ.get("HF_TOKEN", "hf_none")
_SECONDS, _MORE_MEMORY, _FILE = 30, 3 << 30, 200 << 20
_ALLOWED = re.compile(
    r"written: |pqpp: (note|warning): |note: |the input has .*: predictions end in _predicted$|"
    r".* is not the published file .*; read as it is$|.*; their scores are null$|"
    r"DrawBench rows have no category: |paired by |joined on |[\d,]+ rows? with NaN left out$"
)
_STREAMS = ("normal",) * 17 + ("closed", "full", "error closed")


class Case:
    """A case and its folder, in which all that it makes lies.

    Args:
        number: The case.
        place: A folder for it, which is not there.
        shelf: What `shelf.fill` made.
        trainers: The training scripts by name.
    """

    def __init__(self, number: int, place: Path, shelf: Path, trainers: dict[str, ModuleType]):
        self.place, self.work, self.canary = place, place / "work", place / "executed"
        for name in ("work", "home", "tmp"):
            (place / name).mkdir(parents=True)
        self.random = Random(number)
        self.stream = self.random.choice(_STREAMS)
        self.is_offline = self.random.random() < 0.3
        rate = self.random.choice((0.0, 0.2, 0.5, 1.0))
        files = Files(self.random, self.work, shelf, self.canary, rate)
        self.input = "\n".join(files.text() for _ in range(self.random.choice((0, 3))))
        self.trainers = trainers
        self.maker = Words(line_of(number)[1], self.random, files, trainers)
        self.words = self.maker.all()
        if self.maker.line[0] in TRAINERS:  # a training without a screen is nobody's wish
            self.stream = "normal"
        self.before = _held(self.work)

    def fault(self) -> str | None:
        """Run the command, and say what is wrong with what it did."""
        child = os.fork()
        if not child:
            self._become_the_command()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.status = status
        self.out, self.err = (
            (self.place / name).read_bytes().decode("utf-8", "replace") for name in ("out", "err")
        )
        after = _held(self.work)
        for fault in (
            self._executed(after),
            self._token(after),
            self._lost(after),
            self._ended(status),
            self._said(status),
            self._left(status, after),
        ):
            if fault:
                return fault
        return None

    def _executed(self, after: dict) -> str | None:
        names = [name for name in after if Path(name).name == "executed"]
        return f"execution: {names}" if names or self.canary.exists() else None

    def _token(self, after: dict) -> str | None:
        for name in ("out", "err"):
            if TOKEN in getattr(self, name):
                return f"token: in std{name}"
        for path in self.place.rglob("*"):
            if path.is_file() and not path.is_symlink() and TOKEN.encode() in path.read_bytes():
                return f"token: in {path.relative_to(self.place)}"
        return None

    def _lost(self, after: dict) -> str | None:
        """Say which file is gone or changed that no option names as an output."""
        outputs = [os.path.normpath(one) for one in self._outputs()]
        for name, was in self.before.items():
            named = any(name == one or one == "." for one in outputs)
            if after.get(name) == was or (named and _is_replaceable(was, after.get(name))):
                continue
            return f"lost file: {name} was {_short(was)}, is {_short(after.get(name))}"
        return None

    def _outputs(self) -> list[str]:
        """Return all that may be an output: links count for what they point to."""
        found = ["gallery.html", "pqpp-demo", *self.maker.outputs]
        found += [word.partition("=")[2] or word for word in self.words]
        found += [
            os.path.relpath((self.work / one).resolve(), self.work)
            for one in found
            if _is_link(self.work / one)
        ]
        return [one for one in found if one]

    def _ended(self, status: int) -> str | None:
        if "Traceback (most recent call last)" in self.err:
            return f"traceback: {self.err.strip().splitlines()[-1][:300]}"
        if status < 0:
            return f"crash: ended by {signal.Signals(-status).name}: {self.err[-200:]!r}"
        if "this should not happen" in self.err or status not in (0, 2):
            return f"untyped error: status {status}: {self.err.strip()[-400:]}"
        return None

    def _said(self, status: int) -> str | None:
        lines = self.err.split("\n")[:-1] if self.err.endswith("\n") else self.err.split("\n")
        others = [line for line in lines if line and not _ALLOWED.match(line)]
        if self.maker.line[0] in TRAINERS:
            others = others[-1:]  # what is before are bars and figures
        if self.stream == "error closed":
            return None
        if status == 2:
            if len(others) != 1 or not re.match(
                r"[\w ]*error: |pqpp[\w .]*: error: |\w+\.py: error: ", others[0]
            ):
                is_usage = (
                    len(others) > 1 and others[0].startswith("usage: ") and "error: " in others[-1]
                )
                if not is_usage:
                    return f"untyped error: {len(others)} lines: {others[:3]!r:.500}"
            if "\x1b" in self.err:
                return f"noise: a control character reaches the terminal: {others[0]!r:.300}"
        elif others and self.maker.line[0] not in TRAINERS:
            return f"noise: {others[0]!r:.300}"
        return None

    def _left(self, status: int, after: dict) -> str | None:
        new = sorted(name for name in set(after) - set(self.before) if after[name] is not None)
        hidden = [
            name for name in new if any(p.startswith(".") and "pqpp" in p for p in Path(name).parts)
        ]
        hidden = [name for name in hidden if not name.endswith((".pqpp-export", ".pqpp-build"))]
        if hidden:
            return f"litter: {hidden[:3]}"
        if status == 2 and self.stream == "normal" and new and self.maker.line[0] not in TRAINERS:
            return f"half done: status 2 left {new[:3]}: {self.err.strip()[-200:]}"
        return None

    def _become_the_command(self) -> NoReturn:
        """Run the command in this process, which ends with it."""
        status = 70
        try:
            os.chdir(self.work)
            self._limit()
            self._redirect()
            status = self._run()
        except BaseException:
            with contextlib.suppress(Exception):
                os.write(2, traceback.format_exc().encode("utf-8", "replace"))
            status = 1
        finally:
            os._exit(status)

    def _limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _MORE_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        signal.alarm(10 * _SECONDS)  # it may wait for a busy machine

    def _redirect(self) -> None:
        """Put files or worse in the place of the three streams, and caches into a folder."""
        import tempfile

        import datasets
        import huggingface_hub.constants

        given = self.place / "in"
        given.write_bytes(self.input.encode("utf-8", "surrogatepass"))
        os.dup2(os.open(given, os.O_RDONLY), 0)
        (self.place / "out").touch()
        (self.place / "err").touch()
        outs = {"full": "/dev/full"}.get(self.stream, self.place / "out")
        os.dup2(os.open(outs, os.O_WRONLY), 1)
        os.dup2(os.open(self.place / "err", os.O_WRONLY | os.O_APPEND), 2)
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "strict")
        sys.stderr = io.TextIOWrapper(
            io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True
        )
        if self.stream == "closed":
            sys.stdout = None
            os.close(1)
        if self.stream == "error closed":
            sys.stderr = None
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        tempfile.tempdir = str(self.place / "tmp")
        datasets.config.HF_DATASETS_CACHE = self.place / "home"
        datasets.config.DOWNLOADED_DATASETS_PATH = self.place / "home" / "downloads"
        huggingface_hub.constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = self.is_offline
        socket.getaddrinfo = _no_name
        warnings.resetwarnings()  # as Python has them
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)

    def _run(self) -> int:
        name = self.maker.line[0]
        try:
            if name in TRAINERS:
                sys.argv = [f"{name}.py", *self.words[1:]]
                from pqpp_models.training.script import or_exit

                or_exit(self.trainers[name].main)
                status = 0
            else:
                sys.argv = ["pqpp", *self.words]
                from pqpp_cli.main import main

                status = main()
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else int(left.code is not None)
        if sys.stdout is not None and self.stream == "normal":
            sys.stdout.flush()
        return status or 0


def _no_name(*_, **__) -> NoReturn:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def _held(folder: Path) -> dict[str, object]:
    """Return what a folder holds, by name: bytes, where a link points to, or None for a folder."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def _is_link(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        path.resolve()
        return any(one.is_symlink() for one in (path, *path.parents))
    return False


def _is_replaceable(was: object, now: object) -> bool:
    return isinstance(was, bytes) and isinstance(now, bytes)


def _short(value: object) -> str:
    return f"{value!r:.60}"


def clear(place: Path) -> None:
    """Remove a case's folder."""
    shutil.rmtree(place, ignore_errors=True)
