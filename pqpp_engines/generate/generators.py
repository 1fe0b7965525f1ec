"""What makes images: what all such things have, a command of the user's, and a folder of images."""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_engines.errors import EngineError
from pqpp_files.errors import FileError
from pqpp_files.foreign.images import ENDINGS, image_header, open_image
from pqpp_files.hashes import sha256_of
from pqpp_files.paths import expanded, inside_of

if TYPE_CHECKING:
    from PIL.Image import Image

    from pqpp_backbones.chat.chat import Budget

_WHEN_PARENT_DIES = 1  # PR_SET_PDEATHSIG of Linux
MARK = "{prompt_id}"
PATTERNS = (f"{MARK}/*", f"{MARK}_*", f"{MARK}.*")
"""What is looked for, in this order, where no pattern is given."""


@dataclass(frozen=True)
class Wanted:
    """An image that shall be made.

    Attributes:
        prompt_id: Of its prompt.
        prompt: The text.
        index: Which of the prompt's images it is, from 0.
        seed: Of its random numbers.
    """

    prompt_id: str
    prompt: str
    index: int
    seed: int


@dataclass(frozen=True)
class Made:
    """An image, and what is told of it.

    Attributes:
        image: A PIL image, or a PNG file that is taken as it is; None where there is none.
        flagged: What a safety checker said; None where there is none.
        told: What else stands in its JSON file; a `seed` replaces the one that was asked for.
    """

    image: Image | Path | None
    flagged: bool | None = None
    told: Mapping[str, Any] = field(default_factory=dict)


class Generator:
    """Makes images, as `make` or for each `make_one` of a subclass says.

    Attributes:
        name: Of the model, for the names of files and the column `model`.
        settings: What an image depends on besides prompt and seed, for its JSON file.
        budget: What images may cost, a call each; None where they cost nothing.
    """

    name: str
    settings: Mapping[str, Any]
    budget: Budget | None = None

    def make(self, wanted: Sequence[Wanted]) -> list[Made]:
        """Return the images; that of one seed is the same whatever else is made."""
        return [self.make_one(each) for each in wanted]

    def make_one(self, wanted: Wanted) -> Made:
        """Return one image; a folder may have fewer of a prompt than are wanted."""
        raise NotImplementedError


@dataclass
class CommandGenerator(Generator):
    """An outside command, for models that diffusers does not have, such as GLIDE.

    The command is run for each image, without a shell. In its words `{prompt}`, `{seed}` and
    `{output}` are filled in; it writes an image to `{output}`.

    Args:
        command: As typed, like `python glide.py --prompt {prompt} --seed {seed} --to {output}`.
        name: What the model is called in files.
        seconds: After which it is ended.

    Raises:
        EngineError: The command names no `{prompt}` or `{output}`, or a quote is left open.
    """

    command: str
    name: str
    seconds: float = 600.0

    def __post_init__(self) -> None:
        missing = [mark for mark in ("{prompt}", "{output}") if mark not in self.command]
        if missing:
            raise EngineError(f"`command`: {missing[0]} is not in it; write it where it belongs")
        try:
            shlex.split(self.command)
        except ValueError:
            raise EngineError("`command`: a quote opens and never closes; correct it") from None
        self.settings = {"command": self.command}

    def make_one(self, wanted: Wanted) -> Made:
        """See `Generator.make_one`."""
        with tempfile.TemporaryDirectory(prefix="pqpp-") as folder:
            output = Path(folder, "image.png")
            filled = {"prompt": wanted.prompt, "seed": str(wanted.seed), "output": str(output)}
            # In one go: a prompt may hold such marks too.
            words = [
                re.sub(r"\{(prompt|seed|output)\}", lambda mark: filled[mark[1]], word)
                for word in shlex.split(self.command)
            ]
            try:
                done = run_outside(words, self.seconds)
            except subprocess.TimeoutExpired:
                raise EngineError(f"`command`: no image after {self.seconds:g} s", True) from None
            except (ValueError, OSError) as error:
                if isinstance(error, OSError) and error.errno != errno.E2BIG:
                    raise EngineError(f"`command`: {words[0]:.80}: {error.strerror}") from None
                fault = "`command`: the prompt is too long for one, or holds a zero character"
                raise EngineError(fault, True) from None
            said = "".join(done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:])
            if done.returncode:
                raise EngineError(f"`command`: ended with {done.returncode} ({said})", True)
            try:
                return Made(open_image(output))
            except FileError:
                raise EngineError("`command`: it wrote no image to {output}", True) from None


def run_outside(words: Sequence[str], seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input, and return how it ended and what it said.

    Where it takes too long, or this process is interrupted or terminated meanwhile, it and what it
    has started are killed. On Linux it is, too, where this process is killed.

    Args:
        words: The command and its arguments; no shell reads them.
        seconds: How long it may take.

    Raises:
        subprocess.TimeoutExpired: It took longer.
        OSError: It cannot be run.

    Example:
        >>> run_outside([sys.executable, "-c", "print('a cat')"], 60).stdout.split()
        [b'a', b'cat']
    """
    parent = os.getpid()
    prctl: Any = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def end_with_parent() -> None:
        prctl(_WHEN_PARENT_DIES, signal.SIGKILL)
        if os.getppid() != parent:  # which was killed already
            os._exit(1)

    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=end_with_parent if prctl else None,
        process_group=0 if os.name == "posix" else None,
    )
    with process:
        try:
            output, error = process.communicate(timeout=seconds)
        except BaseException:
            if os.name != "posix":
                process.kill()
            elif process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(words, process.returncode, output, error)


class FolderGenerator(Generator):
    """Takes images from a folder: the first of a prompt is its number 0, and so on.

    PNG files are taken as they are, others are written as PNG with the same pixels.

    Args:
        folder: Where the images lie.
        name: What the model that made them is called in files.
        prompt_ids: The ids that are looked for in the files' names.
        pattern: Of their paths below the folder, with `{prompt_id}` in it; `*` stands for anything.
            The first of `PATTERNS` that fits an image, if left out.

    Raises:
        EngineError: There is no such folder, no image in it is of a prompt, or the pattern has no
            `{prompt_id}`.

    Example:
        >>> FolderGenerator("/no/such/folder", "glide", {"p1"})
        Traceback (most recent call last):
        pqpp_engines.errors.EngineError: /no/such/folder: no such folder; ...
    """

    def __init__(
        self, folder: str | Path, name: str, prompt_ids: Set[str], pattern: str | None = None
    ) -> None:
        self.folder, self.name = expanded(folder), name
        self.settings = {"taken_from": self.folder.name}
        if not self.folder.is_dir():
            raise EngineError(f"{folder}: no such folder; name the one that the images are in")
        if pattern is not None and MARK not in pattern:
            raise EngineError(f"pattern {pattern}: {MARK} is not in it; write it where ids stand")
        self._files = _files_of(self.folder, prompt_ids, (pattern,) if pattern else PATTERNS)
        if not self._files:
            wanted = pattern or " or ".join(PATTERNS)
            raise EngineError(f"{folder}: no image of a prompt is named {wanted}; give a pattern")

    def make_one(self, wanted: Wanted) -> Made:
        """See `Generator.make_one`; nothing is made."""
        files = self._files.get(wanted.prompt_id, ())
        if wanted.index >= len(files):
            return Made(None, None, {"refused": f"no image {wanted.index} of {wanted.prompt_id}"})
        path = files[wanted.index]
        facts = {
            "seed": None,  # of whoever made it
            "source": path.relative_to(self.folder).as_posix(),
            "source_sha256": sha256_of(path),
        }
        try:
            whole, header = open_image(path), image_header(path)
        except FileError:
            raise EngineError(f"{path} is not a whole image; remove or replace it") from None
        as_it_is = header.format == "PNG" and header.orientation == 1
        return Made(path if as_it_is else whole, None, facts)


def _files_of(folder: Path, ids: Set[str], patterns: Sequence[str]) -> Mapping[str, list[Path]]:
    """Return the images of each prompt in the order of the numbers in their names."""
    files: dict[str, list[tuple[int, Path]]] = {}
    for path in folder.rglob("*"):
        if path.suffix.casefold() not in ENDINGS or path.name.startswith("."):
            continue
        if not path.is_file():  # a pipe would be waited for
            continue
        name = path.relative_to(folder).as_posix()
        fits = ((at, _prompt_of(name, pattern, ids)) for at, pattern in enumerate(patterns))
        place, prompt_id = next((fit for fit in fits if fit[1] is not None), (0, None))
        if prompt_id is not None:
            inside_of(folder, name)  # a link may lead to anything
            files.setdefault(prompt_id, []).append((place, path))
    return {
        pattern: [path for place, path in sorted(some, key=_in_order) if place == min(some)[0]]
        for pattern, some in files.items()
    }


def _prompt_of(name: str, pattern: str, ids: Set[str]) -> str | None:
    """Return the longest id that makes a pattern fit a file's path."""
    head = pattern.partition(MARK)[0]
    starts = range(len(name)) if glob.has_magic(head) else (len(head),)
    for start in starts:
        for end in range(len(name), start, -1):
            prompt_id = name[start:end]
            if prompt_id in ids and fnmatchcase(
                name, pattern.replace(MARK, glob.escape(prompt_id))
            ):
                return prompt_id
    return None


def _in_order(placed: tuple[int, Path]) -> list:
    """Order image 2 before image 10."""
    parts = re.split(r"(\d+)", placed[1].as_posix())
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]
