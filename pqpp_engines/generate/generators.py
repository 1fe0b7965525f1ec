"""What makes images: what all such things have, and a command of the user's."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_engines.errors import GenerateError, ImageRefusedError
from pqpp_files.errors import FileError
from pqpp_files.foreign.images import open_image

if TYPE_CHECKING:
    from PIL.Image import Image

    from pqpp_backbones.chat.chat import Budget

_WHEN_PARENT_DIES = 1  # PR_SET_PDEATHSIG of Linux


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


class Generator(ABC):
    """Makes images.

    Attributes:
        name: Of the model, for the names of files and the column `model`.
        settings: What an image depends on besides prompt and seed, for its JSON file.
        budget: What images may cost, a call each; None where they cost nothing.
    """

    name: str
    settings: Mapping[str, Any]
    budget: Budget | None = None

    @abstractmethod
    def make(self, wanted: Sequence[Wanted]) -> list[Made]:
        """Return the images; that of one seed is the same whatever else is made."""


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
        GenerateError: The command names no `{prompt}` or `{output}`, or a quote is left open.
    """

    command: str
    name: str
    seconds: float = 600.0

    def __post_init__(self) -> None:
        missing = [mark for mark in ("{prompt}", "{output}") if mark not in self.command]
        if missing:
            raise GenerateError(f"`command`: {missing[0]} is not in it; write it where it belongs")
        try:
            shlex.split(self.command)
        except ValueError:
            raise GenerateError("`command`: a quote opens and never closes; correct it") from None
        self.settings = {"command": self.command}

    def make(self, wanted: Sequence[Wanted]) -> list[Made]:
        """See `Generator.make`."""
        return [self._one(each.prompt, each.seed) for each in wanted]

    def _one(self, prompt: str, seed: int) -> Made:
        with tempfile.TemporaryDirectory(prefix="pqpp-") as folder:
            output = Path(folder, "image.png")
            filled = {"prompt": prompt, "seed": str(seed), "output": str(output)}
            # In one go: a prompt may hold such marks too.
            words = [
                re.sub(r"\{(prompt|seed|output)\}", lambda mark: filled[mark[1]], word)
                for word in shlex.split(self.command)
            ]
            try:
                done = run_outside(words, self.seconds)
            except subprocess.TimeoutExpired:
                raise ImageRefusedError(
                    f"`command`: no image after {self.seconds:g} s; give it more time"
                ) from None
            except (ValueError, OSError) as error:
                if isinstance(error, OSError) and error.errno != errno.E2BIG:
                    raise GenerateError(f"`command`: {words[0]:.80}: {error.strerror}") from None
                raise ImageRefusedError(
                    "`command`: the prompt is too long for a command, or holds a character that "
                    "none may hold; correct it"
                ) from None
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            if done.returncode:
                raise ImageRefusedError(
                    f"`command`: it ended with {done.returncode} ({''.join(said)})"
                )
            try:
                return Made(open_image(output))
            except FileError:
                raise ImageRefusedError("`command`: it wrote no image to {output}") from None


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
    begin = None
    if sys.platform == "linux":
        begin = partial(_end_with, os.getpid(), ctypes.CDLL(None).prctl)
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=begin,
        process_group=0 if os.name == "posix" else None,
    )
    with process:
        try:
            output, error = process.communicate(timeout=seconds)
        except BaseException:
            _kill(process)
            raise
    return subprocess.CompletedProcess(words, process.returncode, output, error)


def _end_with(parent: int, prctl: Callable[..., int]) -> None:
    """Let this new process be killed when its parent is, which may have been already."""
    prctl(_WHEN_PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if os.name != "posix":
        process.kill()
    elif process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
