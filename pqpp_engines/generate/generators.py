"""The interface of image generators, and a generator that runs a user's command."""

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_engines.errors import EngineError
from pqpp_files.errors import FileError
from pqpp_files.foreign.images import open_image

if TYPE_CHECKING:
    from PIL.Image import Image

    from pqpp_backbones.chat.chat import Budget

_PR_SET_PDEATHSIG = 1  # from <sys/prctl.h>


@dataclass(frozen=True)
class ImageRequest:
    """An image to generate.

    Attributes:
        index: The image's index among the prompt's images, from 0.
        seed: The seed of the image.
    """

    prompt_id: str
    prompt: str
    index: int
    seed: int


@dataclass(frozen=True)
class GeneratedImage:
    """A generated image with its metadata.

    Attributes:
        image: A PIL image; None if it was refused.
        flagged: Whether a safety checker flagged it; None without a checker.
        info: Further content of the image's JSON file. A `seed` in it replaces the requested seed;
            if there is no image, `refused` gives the reason.
    """

    image: Image | None
    flagged: bool | None = None
    info: Mapping[str, Any] = field(default_factory=dict)


class Generator:
    """An image generator; a subclass defines `generate`, or `generate_one` for single images.

    Attributes:
        name: The model's name, for file names and the column `model`.
        settings: Settings on which images depend besides prompt and seed, for the images' JSON
            files.
        budget: The limit on the number and cost of calls, one per image; None if images are free.
    """

    name: str
    settings: Mapping[str, Any]
    budget: Budget | None = None

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return one result per request, which does not depend on the other requests."""
        return [self.generate_one(request) for request in requests]

    def generate_one(self, request: ImageRequest) -> GeneratedImage:
        """Return one image."""
        raise NotImplementedError


@dataclass
class CommandGenerator(Generator):
    """A generator that runs a command, for models that diffusers lacks, such as GLIDE.

    The command is run once per image, without a shell. `{prompt}`, `{seed}` and `{output}` in its
    arguments are replaced; the command must write an image to `{output}`.

    Args:
        command: A command line like `python glide.py --prompt {prompt} --seed {seed} --to
            {output}`.
        name: The model's name in files.
        seconds: The time limit per image.

    Raises:
        EngineError: The command lacks `{prompt}` or `{output}`, or a quote is not closed.
    """

    command: str
    name: str
    seconds: float = 600.0

    def __post_init__(self) -> None:
        for placeholder in ("{prompt}", "{output}"):
            if placeholder not in self.command:
                raise EngineError(f"`command` has no {placeholder}; add it")
        try:
            shlex.split(self.command)
        except ValueError:
            raise EngineError("`command` has an unclosed quote; close the quote") from None
        self.settings = {"command": self.command}

    def generate_one(self, request: ImageRequest) -> GeneratedImage:
        """Return the image that the command writes."""
        with tempfile.TemporaryDirectory(prefix="pqpp-") as folder:
            output = Path(folder, "image.png")
            values = {"prompt": request.prompt, "seed": str(request.seed), "output": str(output)}
            # In one pass, since a prompt may itself contain placeholders.
            words = [
                re.sub(r"\{(prompt|seed|output)\}", lambda match: values[match[1]], word)
                for word in shlex.split(self.command)
            ]
            try:
                result = run_command(words, self.seconds)
            except subprocess.TimeoutExpired:
                raise EngineError(f"`command` wrote no image in {self.seconds:g} s", True) from None
            except (ValueError, OSError) as error:
                if isinstance(error, OSError) and error.errno != errno.E2BIG:
                    raise EngineError(f"cannot run {words[0]:.80} ({error.strerror})") from None
                problem = "the prompt is too long for `command`, or contains a NUL character"
                raise EngineError(problem, True) from None
            error_output = result.stderr.decode("utf-8", "replace").strip() or "no error output"
            if result.returncode:
                status = f"{result.returncode} ({error_output.splitlines()[-1]})"
                raise EngineError(f"`command` exited with status {status}", True)
            try:
                return GeneratedImage(open_image(output))
            except FileError:
                raise EngineError("`command` wrote no image to {output}", True) from None


def run_command(words: Sequence[str], seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run a command with empty standard input, and return its exit status and output.

    The command and its child processes are killed after the time limit, and if this process is
    interrupted or terminated; on Linux, also if this process is killed.

    Args:
        words: The command and its arguments, without a shell.
        seconds: The time limit.

    Raises:
        subprocess.TimeoutExpired: The time limit was exceeded.
        OSError: The command cannot be run.

    Example:
        >>> run_command([sys.executable, "-c", "print('a cat')"], 60).stdout.split()
        [b'a', b'cat']
    """
    parent = os.getpid()
    prctl: Any = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def exit_with_parent() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent was killed before prctl was called
            os._exit(1)

    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=exit_with_parent if prctl else None,
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
