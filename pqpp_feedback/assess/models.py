"""Models by name, from a folder or the Hub: fetched once, kept with their revision."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_feedback.assess.assessor import Model
from pqpp_feedback.assess.errors import AssessError
from pqpp_files.extras import needing
from pqpp_files.hashes import sha256_of, sha256_of_parts
from pqpp_hub import is_repository_id
from pqpp_hub.pull import pull_files
from pqpp_models.pretrained import WHOLE, loading

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to look.

    Attributes:
        model: In evaluation mode, on its device.
        processor: That of the model.
        told: Its name and revision, for the result.
        device: Where it runs.
        dtype: Of its numbers.
    """

    model: Any
    processor: Any
    told: Model
    device: str
    dtype: str

    @property
    def at_once(self) -> int | None:
        """How many images to hand to the model together: one on a CPU, any number elsewhere.

        On a CPU a batch is no faster, and its shape changes the last digits of the numbers.
        """
        return 1 if self.device == "cpu" else None


def fetch(name: str, what: str = "model") -> tuple[Path, Model]:
    """Return a model's folder, downloaded once and then found in the cache, with its revision.

    Args:
        name: A folder, or `OWNER/REPOSITORY`, or `OWNER/REPOSITORY@REVISION`.
        what: What it is, for the error.

    Raises:
        AssessError: There is no such folder or repository, or it cannot be had offline; one line.

    Example:
        >>> fetch("no-such-folder", "detector")
        Traceback (most recent call last):
        pqpp_feedback.assess.errors.AssessError: detector: there is no folder no-such-folder, ...
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        files = sorted({path for pattern in WHOLE for path in folder.glob(pattern)})
        parts = [f"{path.name} {sha256_of(path)}\n" for path in files]
        return folder, Model(str(name), f"sha256:{sha256_of_parts(parts)}")
    repository, _, revision = name.partition("@")
    if not is_repository_id(repository):
        raise AssessError(
            f"{what}: there is no folder {name}, and it is no OWNER/REPOSITORY; check the name"
        )
    folder = pull_files(repository, WHOLE, revision or None, error=AssessError)
    return folder, Model(repository, folder.name)


def load_model(
    name: str,
    model_class: str,
    what: str,
    device: str | None = None,
    dtype: str = "float32",
) -> Loaded:
    """Load a model of transformers and its processor: from safetensors, no code, nothing missing.

    Args:
        name: As for `fetch`.
        model_class: The class of transformers, as `AutoModelForObjectDetection`.
        what: What it is, for errors.
        device: Where it shall run; the usual one if None.
        dtype: One of `DTYPES`.

    Raises:
        AssessError: It cannot be had, or `dtype` is none.
        CheckpointError: It is of another kind or not whole.
        MissingExtraError: torch or transformers is not installed.
    """
    with needing("pqpp assess", "assess"):
        import torch
        import transformers

    if dtype not in DTYPES:
        raise AssessError(f"`dtype` is {dtype!r}; choose among {', '.join(DTYPES)}")
    folder, told = fetch(name, what)
    remedy = "name a folder or OWNER/REPOSITORY that has one"
    with loading(f"{name} holds no usable {what}", remedy, str(folder), files=()):
        model, found = getattr(transformers, model_class).from_pretrained(
            folder,
            use_safetensors=True,
            output_loading_info=True,
            dtype=getattr(torch, dtype),
            local_files_only=True,
            trust_remote_code=False,
        )
        processor = transformers.AutoProcessor.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    missing = sorted(found["missing_keys"])
    if missing:
        raise AssessError(
            f"{name} holds no usable {what}: its weights lack {missing[0]!r}, which would be "
            "random; name another"
        )
    device = usual_device() if device is None else device
    return Loaded(model.eval().to(device), processor, told, device, dtype)


def usual_device() -> str:
    """Return a GPU, that of this process where a launcher started several, or the CPU."""
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
