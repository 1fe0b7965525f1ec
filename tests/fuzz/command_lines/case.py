"""One case: files and words are made, the command runs, and what it did is looked at.

It runs in a fork, or, one time in five, in a process of its own, as users run it: then a signal may
come at any moment, or its disk may be small.
"""

import contextlib
import hashlib
import io
import os
import re
import resource
import shutil
import signal
import socket
import sys
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import NoReturn

from support.small_disk import can_mount

from fuzz.command_lines.files import Files
from fuzz.command_lines.words import SERVERS, TRAINERS, Words, command_of
from fuzz.forked import waited_for

TOKEN = os.environ.get("HF_TOKEN", "hf_none")
_SECONDS, _MORE_MEMORY, _FILE = 30, 3 << 30, 200 << 20
_ALLOWED = re.compile(
    r"written: |pqpp: (note|warning): |note: |the input has .*: predictions end in _predicted$|"
    r".* is not the published file .*; read as it is$|.*; their scores are null$|"
    r"DrawBench rows have no category: |paired by |joined on |[\d,]+ rows? with NaN left out$|"
    r"pqpp: [\d,]+ |INFO: |drawing pictures, |pqpp: interrupted$|pqpp: \w+: about "
)
_STREAMS = ("normal",) * 17 + ("closed", "full", "error closed")
_MANNERS = ("plain",) * 7 + ("backwards",)
_REAL_MANNERS = ("plain",) * 3 + ("SIGINT", "SIGTERM") * 2 + ("small disk",) * 3
_RESUMED = ("generate", "search embed", "demo", "annotate init")
"""What goes on where it was ended, and so leaves what it has done."""
_START = "import sys; from pqpp_cli.main import main; sys.exit(main())"
_ON_A_DISK = """trap : INT
mount -t tmpfs -o "$0" tmpfs disk && "$@"
did=$?; find disk -type f > ../left; exit $did"""


class Case:
    """A case and its folder, in which all that it makes lies.

    Args:
        number: The case.
        place: A folder for it, which is not there.
        shelf: What `shelf.fill` made.
    """

    def __init__(self, number: int, place: Path, shelf: Path):
        self.place, self.work, self.canary = place, place / "work", place / "executed"
        for name in ("work", "home", "tmp"):
            (place / name).mkdir(parents=True)
        self.random, self.command = Random(number), command_of(number)
        self.is_training = self.command in TRAINERS
        self.is_real = self.random.random() < (0.05 if self.is_training else 0.25)
        self.manner = self.random.choice(_REAL_MANNERS if self.is_real else _MANNERS)
        # A training without a screen is nobody's wish.
        self.stream = "normal" if self.is_training else self.random.choice(_STREAMS)
        self.umask = self.random.choice((0o022, 0o022, 0o022, 0o077, 0o002))
        self.is_offline = self.random.random() < 0.3
        files = Files(
            self.random,
            self.work,
            shelf,
            self.canary,
            self.random.choice((0.0, 0.0, 0.2, 0.5, 1.0)),
        )
        if self.manner == "small disk" and can_mount():
            files.outputs = "disk"
            (self.work / "disk").mkdir()
        self.input = "\n".join(files.text() for _ in range(self.random.choice((0, 3))))
        chat = os.environ.get("PQPP_FUZZ_CHAT", "http://127.0.0.1:9/v1")
        self.maker = Words(self.command, self.random, files, chat)
        self.words = self.maker.all()
        if self.command == "models autoload" and self.is_real:
            self.words = ["models", "autoload", "status"]  # the others change the environment
        self.is_server = " ".join(self.words).startswith(SERVERS[:2]) or "--serve" in self.words
        self.before = _held(self.work)

    def fault(self) -> str | None:
        """Run the command, and say what is wrong with what it did."""
        began, begins = os.pipe()
        child = os.fork()
        if not child:
            self._become_the_command()
        os.close(begins)
        os.read(began, 1)  # until the process is another program, or has ended
        os.close(began)
        is_ended = self.manner.startswith("SIG")
        if self.is_real and (is_ended or self.is_server):
            longest = 0.7 if is_ended else 1.0
            time.sleep(10 ** self.random.uniform(-3 if is_ended else 0.3, longest))
            os.killpg(child, signal.Signals[self.manner] if is_ended else signal.SIGINT)
        raw = waited_for(child, 10 * _SECONDS)  # it may wait for a busy machine
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        status = self.status = -signal.SIGKILL if raw is None else os.waitstatus_to_exitcode(raw)
        self.out, self.err = (
            (self.place / name).read_bytes().decode("utf-8", "replace") for name in ("out", "err")
        )
        after = _held(self.work)
        for fault in (
            self._executed(after),
            self._token(),
            self._lost(after),
            self._ended(status),
            self._said(status),
            self._left(status, after),
            self._open_to_others(after),
        ):
            if fault:
                return fault
        return None

    def _executed(self, after: dict) -> str | None:
        names = [name for name in after if Path(name).name == "executed"]
        return f"execution: {names}" if names or self.canary.exists() else None

    def _token(self) -> str | None:
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
            kept = self.command.startswith("annotate") and ".db" in name  # a study's own database
            now = after.get(name)
            if now == was or kept or _is_mended(name, now) or (named and _is_file(was, now)):
                continue
            return f"lost file: {name} was {_short(was)}, is {_short(now)}"
        return None

    def _outputs(self) -> list[str]:
        """Return all that may be an output: links count for what they point to."""
        found = ["gallery.html", "pqpp-demo", "pqpp-annotation-demo", *self.maker.outputs]
        found += [word.partition("=")[2] or word for word in self.words]
        found += [
            os.path.relpath((self.work / one).resolve(), self.work)
            for one in found
            if _is_link(self.work / one)
        ]
        if self.command == "search add" and "--output" not in " ".join(self.words):
            found += [name for name in self.before if name.startswith(self._place_of_index())]
        return [one for one in found if one]

    def _place_of_index(self) -> str:
        return os.path.normpath("/".join(self.words[2:3])) + "/"

    def _ended(self, status: int) -> str | None:
        if "Traceback (most recent call last)" in self.err:
            # Before the first line of `main` is run, nobody can catch a signal.
            if not self.manner.startswith("SIG") or re.search(r"/pqpp.*, in main", self.err):
                return f"traceback: {self.err.strip().splitlines()[-1][:300]}"
        elif status < 0 and not self._is_told_to_end():
            return f"crash: ended by {signal.Signals(-status).name}: {self.err[-200:]!r}"
        elif "this should not happen" in self.err or (
            status not in (0, 2) and not self._is_told_to_end()
        ):
            return f"untyped error: status {status}: {self.err.strip()[-400:]}"
        elif self.stream == "error closed" and self._is_told_to_end() and status == 1:
            return None  # as above: of a start that was interrupted nothing can be seen
        elif self._is_told_to_end() and status not in (0, 2, 130, 143, -2, -15):
            return f"untyped error: told to end, status {status}: {self.err.strip()[-400:]}"
        return None

    def _is_told_to_end(self) -> bool:
        return self.is_real and (self.is_server or self.manner.startswith("SIG"))

    def _said(self, status: int) -> str | None:
        others = [line for line in self.err.split("\n") if line and not _ALLOWED.match(line)]
        if self.is_training:
            others = others[-1:]  # what is before are bars and figures
        if self.stream == "error closed" or self._is_told_to_end():
            return None
        if status == 2:
            is_line = len(others) == 1 and re.match(r"((pqpp[\w .]*|\w+\.py): )?error: ", others[0])
            is_usage = len(others) > 1 and others[0].startswith("usage: ")
            if not is_line and not (is_usage and "error: " in others[-1]):
                return f"untyped error: {len(others)} lines: {others[:3]!r:.500}"
            if "\x1b" in self.err:
                return f"noise: a control character reaches the terminal: {others[0]!r:.300}"
        elif others and not self.is_training and not self.is_server:  # which say where they are
            return f"noise: {others[0]!r:.300}"
        return None

    def _left(self, status: int, after: dict) -> str | None:
        new = sorted(name for name in set(after) - set(self.before) if after[name] is not None)
        left = self.place / "left"  # what a disk of its own held
        new += left.read_text(errors="replace").split("\n")[:-1] if left.exists() else []
        hidden = [n for n in new if any(p.startswith(".") and "pqpp" in p for p in Path(n).parts)]
        hidden = [
            name for name in hidden if not name.endswith((".pqpp-export", ".pqpp-build", ".secret"))
        ]
        is_killed = self.manner == "SIGTERM" or status < 0  # the next run tidies up
        if hidden and not is_killed:
            return f"litter: {hidden[:3]}"
        is_kept = self.is_training or self.command in _RESUMED or "--shard" in str(self.words)
        if status == 2 and self.stream == "normal" and new and not is_kept:
            return f"half done: status 2 left {new[:3]}: {self.err.strip()[-200:]}"
        return None

    def _open_to_others(self, after: dict) -> str | None:
        """Say which new file has other modes than the user's umask gives."""
        for name in set(after) - set(self.before):
            path = self.work / name
            if path.is_symlink() or any(part.startswith(".") for part in path.parts):
                continue
            usual = (0o777 if path.is_dir() else 0o666) & ~self.umask
            mode = path.stat().st_mode & 0o777
            is_secret = self.command.startswith("annotate") and not mode & ~usual
            if mode & ~usual or (mode != usual and not is_secret and not self.is_training):
                return f"modes: {name} has {mode:o}, of the umask {self.umask:o} comes {usual:o}"
        return None

    def _become_the_command(self) -> NoReturn:
        """Run the command in this process, which ends with it."""
        status = 70
        try:
            os.setsid()  # a signal is for all that it starts
            signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it behind &
            for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
                signal.signal(one, signal.SIG_DFL)
            os.chdir(self.work)
            os.umask(self.umask)
            self._limit()
            if self.is_real:
                self._redirect()
                self._run_as_users_do()
            self._redirect()
            self._prepare()
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
        pages = 0 if self.is_real else int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _MORE_MEMORY * (4 if self.is_real else 1)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    def _redirect(self) -> None:
        """Put files or worse in the place of the three streams."""
        given = self.place / "in"
        given.write_bytes(self.input.encode("utf-8", "surrogatepass"))
        os.dup2(os.open(given, os.O_RDONLY), 0)
        (self.place / "out").touch()
        (self.place / "err").touch()
        outs = {"full": "/dev/full"}.get(self.stream, self.place / "out")
        os.dup2(os.open(outs, os.O_WRONLY), 1)
        os.dup2(os.open(self.place / "err", os.O_WRONLY | os.O_APPEND), 2)
        for stream, number in (("closed", 1), ("error closed", 2)):
            if self.stream == stream:
                os.close(number)

    def _run_as_users_do(self) -> NoReturn:
        """Become a process of its own."""
        program = [sys.executable, "-c", _START, *self.words]
        if self.is_training:
            script = Path(__file__).parents[3] / "training" / f"{self.words[0]}.py"
            program = [sys.executable, str(script), *self.words[1:]]
        if self.maker.files.outputs:
            size = self.random.choice(("ro", "size=4k", "size=16k", "size=64k", "size=256k"))
            unshare = ["unshare", "--map-root-user", "--mount", "sh", "-c", _ON_A_DISK]
            program = [*unshare, size, *program]
        room = {"HOME": self.place / "home", "TMPDIR": self.place / "tmp"}
        room |= {"HF_HUB_OFFLINE": str(int(self.is_offline)), "PYTHONDONTWRITEBYTECODE": "1"}
        os.execvpe(program[0], program, os.environ | {k: str(v) for k, v in room.items()})

    def _prepare(self) -> None:
        """Put streams, caches, the clock and the network of this process where none is harmed."""
        import tempfile

        import datasets
        import huggingface_hub.constants

        import pqpp_hub.start_up

        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
        sys.stdout = sys.stderr = None
        if self.stream != "closed":
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "strict")
        if self.stream != "error closed":
            raw = io.FileIO(2, "w", closefd=False)
            sys.stderr = io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        tempfile.tempdir = str(self.place / "tmp")
        datasets.config.HF_DATASETS_CACHE = self.place / "home"
        datasets.config.DOWNLOADED_DATASETS_PATH = self.place / "home" / "downloads"
        huggingface_hub.constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = self.is_offline
        pqpp_hub.start_up.site_folder = lambda: self.place / "tmp"
        socket.getaddrinfo = _no_name
        if self.manner == "backwards":
            now = iter(range(2**31, 0, -7))
            time.time = lambda: float(next(now))
        if self.is_server:
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, self.random.uniform(0.3, 2))
        warnings.resetwarnings()  # as Python has them
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)

    def _run(self) -> int:
        try:
            sys.argv = ["pqpp", *self.words]
            from pqpp_cli.main import main

            status = main()
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else int(left.code is not None)
        if sys.stdout is not None and self.stream == "normal":
            sys.stdout.flush()
        return 0 if self.is_server and status == 130 else status or 0


def _no_name(host: object, *rest: object, **more: object) -> object:
    if host in ("127.0.0.1", "localhost", None):
        return _of_this_machine(host, *rest, **more)
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


_of_this_machine = socket.getaddrinfo


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


def _is_file(was: object, now: object) -> bool:
    return isinstance(was, bytes) and isinstance(now, bytes)


def _is_mended(name: str, now: object) -> bool:
    """Say whether a copy that is called by its hash, and was damaged, is sound again."""
    return isinstance(now, bytes) and hashlib.sha256(now).hexdigest() == Path(name).name


def _short(value: object) -> str:
    return f"{value!r:.60}"


def clear(place: Path) -> None:
    """Remove a case's folder."""
    shutil.rmtree(place, ignore_errors=True)
