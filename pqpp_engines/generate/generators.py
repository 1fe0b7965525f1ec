"""What makes images: a pipeline of diffusers, or a command of the user's."""

from __future__ import annotations

import errno
import re
import shlex
import subprocess
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_backbones.pretrained import DTYPES, loading, put_on
from pqpp_engines.errors import GenerateError, ImageRefusedError
from pqpp_engines.generate.outside import run_outside
from pqpp_files.errors import FileError
from pqpp_files.extras import needing
from pqpp_files.foreign.images import open_image
from pqpp_files.options.arguments import typed
from pqpp_hub import is_repository_id

if TYPE_CHECKING:
    from PIL.Image import Image

    from pqpp_backbones.chat.chat import Budget

MODELS = {
    "SDXL": "stabilityai/stable-diffusion-xl-base-1.0",
    "SD1.5": "stable-diffusion-v1-5/stable-diffusion-v1-5",
}
"""Short names of pipelines on the Hub."""

_TOLD = ("steps", "guidance", "height", "width", "dtype")
OFFLOADS = ("model", "sequential")


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
        linked: Whether a file that is taken as it is gets a second name in place of a copy.
    """

    image: Image | Path | None
    flagged: bool | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    linked: bool = False


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
class DiffusersGenerator(Generator):
    """Any text-to-image pipeline of diffusers.

    Each image has a random generator of its own, on the CPU, so that it depends neither on the
    batch nor on the device's own stream of random numbers. Batches of other sizes differ by what
    other shapes round differently; with one image at a time they are equal to the bit.

    Args:
        model: A name of `MODELS`, OWNER/REPOSITORY or a folder; safetensors only, and no code.
        name: What the model is called in files; the last part of its name if left out.
        steps: Denoising steps; the pipeline's own number if left out.
        guidance: Scale of the classifier-free guidance; the pipeline's own if left out.
        height: Of the images, in pixels; the pipeline's own if left out.
        width: Of the images, in pixels; the pipeline's own if left out.
        revision: Branch, tag or commit of a repository.
        variant: Of the weights, as "fp16".
        dtype: One of `DTYPES`.
        device: Where it runs; a GPU if there is one.
        offload: "model" or "sequential": `enable_model_cpu_offload` and so on of diffusers.
        attention_slicing: `enable_attention_slicing` of diffusers.
        vae_tiling: `enable_tiling` of the VAE.

    Raises:
        GenerateError: An option is unknown.
        CheckpointError: The pipeline cannot be had or loaded.
        MissingExtraError: diffusers or torch are not installed.
    """

    model: str
    name: str = ""
    steps: int | None = None
    guidance: float | None = None
    height: int | None = None
    width: int | None = None
    revision: str | None = None
    variant: str | None = None
    dtype: str = "float32"
    device: str | None = None
    offload: str | None = None
    attention_slicing: bool = False
    vae_tiling: bool = False
    pipeline: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise GenerateError(f"dtype {self.dtype!r}: choose among {', '.join(DTYPES)}")
        if self.offload not in (None, *OFFLOADS):
            raise GenerateError(f"offload {self.offload!r}: choose among {', '.join(OFFLOADS)}")
        full = MODELS.get(self.model, self.model)
        self.name = self.name or Path(full).name.casefold()
        with needing("pqpp generate", "engines"):
            import diffusers  # noqa: F401
            import torch
        if self.device is None:
            self.device = "cuda" if torch.cuda.is_available() else "cpu"
        found = self.revision
        if self.pipeline is None:
            self.pipeline, found = self._loaded(full)
        self._prepare()
        self.settings = {
            "model_id": full if is_repository_id(full) else Path(full).name,
            "revision": found,
            **{name: getattr(self, name) for name in _TOLD},
            "scheduler": type(self.pipeline.scheduler).__name__,
        }

    def make(self, wanted: Sequence[Wanted]) -> list[Made]:
        """See `Generator.make`."""
        import torch

        options = {
            "num_inference_steps": self.steps,
            "guidance_scale": self.guidance,
            "height": self.height,
            "width": self.width,
        }
        made = self.pipeline(
            [one.prompt for one in wanted],
            generator=[torch.Generator("cpu").manual_seed(one.seed) for one in wanted],
            **{name: value for name, value in options.items() if value is not None},
        )
        flagged = getattr(made, "nsfw_content_detected", None) or [None] * len(made.images)
        return [Made(*one) for one in zip(made.images, flagged, strict=True)]

    def _loaded(self, name: str) -> tuple[Any, str | None]:
        """Return the pipeline, and the commit that it came from."""
        import diffusers
        import torch

        diffusers.utils.logging.disable_progress_bar()
        remedy = "name a folder or OWNER/REPOSITORY of a pipeline of diffusers"
        with (
            warnings.catch_warnings(),
            loading(f"{self.model} holds no usable pipeline", remedy, name, files=()),
        ):
            folder = name
            if not Path(name).is_dir():
                folder = diffusers.DiffusionPipeline.download(
                    name, revision=self.revision, variant=self.variant, use_safetensors=True
                )
            # Older versions know the older name alone, newer ones warn of it.
            warnings.filterwarnings("ignore", "`torch_dtype` is deprecated", FutureWarning)
            found = diffusers.AutoPipelineForText2Image.from_pretrained(
                folder,
                variant=self.variant,
                torch_dtype=getattr(torch, self.dtype),
                use_safetensors=True,
                trust_remote_code=False,
            )
        return found, None if Path(name).is_dir() else Path(folder).name

    def _prepare(self) -> None:
        self.pipeline.set_progress_bar_config(disable=True)
        if self.attention_slicing:
            self.pipeline.enable_attention_slicing()
        if self.vae_tiling:
            self.pipeline.vae.enable_tiling()
        if self.offload is None:
            put_on(self.pipeline, self.device)
        else:
            getattr(self.pipeline, f"enable_{self.offload}_cpu_offload")(device=self.device)


@typed
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
        missing = [one for one in ("{prompt}", "{output}") if one not in self.command]
        if missing:
            raise GenerateError(f"--command: {missing[0]} is not in it; write it where it belongs")
        try:
            shlex.split(self.command)
        except ValueError:
            raise GenerateError("--command: a quote opens and never closes; correct it") from None
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
                    f"--command: no image after {self.seconds:g} s; give it more time"
                ) from None
            except (ValueError, OSError) as error:
                if isinstance(error, OSError) and error.errno != errno.E2BIG:
                    raise GenerateError(f"--command: {words[0]:.80}: {error.strerror}") from None
                raise ImageRefusedError(
                    "--command: the prompt is too long for a command, or no word of one may hold "
                    "what it does; correct it"
                ) from None
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            if done.returncode:
                raise ImageRefusedError(
                    f"--command: it ended with {done.returncode} ({''.join(said)})"
                )
            try:
                return Made(open_image(output))
            except FileError:
                raise ImageRefusedError("--command: it wrote no image to {output}") from None
