"""Generate images with a diffusers pipeline and its options."""

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pqpp_backbones.pretrained import hash_files, move_model, safe_load
from pqpp_engines.errors import EngineError
from pqpp_engines.generate.generators import GeneratedImage, Generator, ImageRequest
from pqpp_files.errors import reraise
from pqpp_files.extras import require_extra
from pqpp_files.foreign.json_values import read_json
from pqpp_files.paths import expand
from pqpp_hub import is_repository_id
from pqpp_hub.pull import pull_files

#: Short names of pipelines on the Hub.
MODELS = {
    "SDXL": "stabilityai/stable-diffusion-xl-base-1.0",
    "SD1.5": "stable-diffusion-v1-5/stable-diffusion-v1-5",
}

_OPTIONS = ("num_inference_steps", "guidance_scale", "negative_prompt", "height", "width")
_PER_IMAGE = ("prompt", "generator", "latents", "num_images_per_prompt")
_RESERVED = (*_PER_IMAGE, "output_type", "return_dict")


@dataclass
class DiffusersGenerator(Generator):
    """A text-to-image pipeline of diffusers.

    The pipeline is the one that `AutoPipelineForText2Image` finds for a folder, or else the
    folder's own pipeline if it accepts a prompt and returns images. An image of a single colour, a
    sign of NaN values, is refused unless a safety checker blanked it.

    Each image has its own random generator on the CPU, so that it does not depend on the rest of
    the batch or on the device's random numbers. In batches of different sizes, images differ by
    rounding; with one image per batch, they are bit-identical.

    Args:
        model: A name of `MODELS`, OWNER/REPOSITORY or a folder; safetensors only, and no code.
        name: Name of the model in files (default: the last part of its name).
        num_inference_steps: Number of denoising steps. The pipeline's own number if left out, like
            the others that follow.
        guidance_scale: Scale of classifier-free guidance.
        negative_prompt: What images should not show. It is the same for all images.
        height: Height of an image in pixels.
        width: Width of an image in pixels.
        scheduler: Scheduler class of diffusers, such as DPMSolverMultistepScheduler.
        lora: LoRA weights: a folder or OWNER/REPOSITORY. In safetensors; needs peft.
        lora_scale: Scale of the LoRA weights.
        dropped: Components not to load, such as text_encoder_3,tokenizer_3 of SD3.
        more: Any other argument of the pipeline's call, pipeline.KEY=VALUE, or of the scheduler's
            configuration, scheduler.KEY=VALUE; values are JSON or text. Here it is a mapping.
        revision: Branch, tag or commit of a repository.
        variant: Variant of the weights, such as fp16.
        dtype: Number format of the model.
        device: Device, such as cuda:1 or cpu (default: a GPU if there is one).
        offload: Offload the model to the CPU: whole components or layer by layer. As
            `enable_model_cpu_offload` or `enable_sequential_cpu_offload` of diffusers.
        vae_tiling: Decode large images in tiles, to save memory. As `enable_tiling` of the VAE.

    Raises:
        EngineError: An option is unknown.
        ModelError: The pipeline cannot be downloaded or loaded.
        MissingExtraError: diffusers or torch are not installed.
    """

    model: str
    name: str = ""
    num_inference_steps: int | None = None
    guidance_scale: float | None = None
    negative_prompt: str | None = None
    height: int | None = None
    width: int | None = None
    scheduler: str | None = None
    lora: str | None = None
    lora_scale: float = 1.0
    dropped: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    revision: str | None = None
    variant: str | None = None
    dtype: str = "float32"
    device: str | None = None
    offload: str | None = None
    vae_tiling: bool = False
    pipeline: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        full_name = MODELS.get(self.model, self.model)
        self.name = self.name or Path(full_name).name.casefold()
        with require_extra("pqpp generate", "engines"):
            import diffusers  # noqa: F401
            import torch
        if self.device is None:
            self.device = "cuda" if torch.cuda.is_available() else "cpu"
        revision = self.revision
        if self.pipeline is None:
            self.pipeline, revision = self._load(full_name)
        lora = self._add_lora()
        self.pipeline.set_progress_bar_config(disable=True)
        with reraise("an option does not fit the pipeline", "change the option", EngineError):
            options = self._set_scheduler()
            if self.vae_tiling:
                self.pipeline.vae.enable_tiling()
        if self.offload is None:
            move_model(self.pipeline, self.device)
        else:
            getattr(self.pipeline, f"enable_{self.offload}_cpu_offload")(device=self.device)
        parameters = inspect.signature(type(self.pipeline).__call__).parameters
        explicit = {n: getattr(self, n) for n in _OPTIONS if getattr(self, n) is not None}
        self._call = explicit | self._get_options("pipeline")
        _check_options("pipeline", self._call, parameters, type(self.pipeline).__name__)
        values = {n: self._call.get(n, parameters[n].default) for n in _OPTIONS if n in parameters}
        self.settings = {
            "model_id": full_name if is_repository_id(full_name) else Path(full_name).name,
            "revision": revision,
            "dtype": self.dtype,
            **{name: value for name, value in values.items() if value is not None},
            **{f"pipeline.{n}": self._call[n] for n in self._call if n not in _OPTIONS},
            "scheduler": type(getattr(self.pipeline, "scheduler", None)).__name__,
            **options,
            **lora,
            **({"dropped": sorted(self.dropped)} if self.dropped else {}),
        }

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return the images of one call of the pipeline; see `Generator.generate`."""
        import torch

        generators = [torch.Generator("cpu").manual_seed(image.seed) for image in requests]
        prompts = [image.prompt for image in requests]
        output = self.pipeline(prompts, generator=generators, **self._call)
        images = getattr(output, "images", None)
        if not isinstance(images, list) or not all(hasattr(i, "getextrema") for i in images):
            raise EngineError(f"{self.model} returns no images; use another model")
        flagged = getattr(output, "nsfw_content_detected", None) or [None] * len(images)
        reason = f"the image has one colour, a sign of NaN in {self.dtype}; use another --dtype"
        return [
            GeneratedImage(image, flag, {"height": image.height, "width": image.width})
            if flag or any(low < high for low, high in image.convert("RGB").getextrema())
            else GeneratedImage(None, None, {"refused": reason})
            for image, flag in zip(images, flagged, strict=True)
        ]

    def _load(self, name: str) -> tuple[Any, str]:
        """Return the pipeline, and the commit of its repository or the hash of its files."""
        import diffusers
        import torch

        diffusers.utils.logging.disable_progress_bar()
        remedy = "use a folder or OWNER/REPOSITORY of a pipeline of diffusers"
        problem, folder = f"{self.model} has no usable pipeline", expand(name)
        if not (is_folder := folder.is_dir()):
            with safe_load(problem, remedy, name, files=()):
                folder = pull_files(name, ["model_index.json"], self.revision, error=EngineError)
                _read_index(folder)  # a card may name other repositories to download
                pinned = {"variant": self.variant, "use_safetensors": True, "revision": folder.name}
                folder = Path(diffusers.DiffusionPipeline.download(name, **pinned))
        with safe_load(problem, remedy, str(folder), files=()):
            index, pipeline_class = _read_index(folder)
            if "prompt" not in inspect.signature(pipeline_class.__call__).parameters:
                raise ValueError(f"{pipeline_class.__name__} accepts no prompt")
            # diffusers requires some components even if the pipeline was saved without them.
            absent = [name for name, value in index.items() if value == [None, None]]
            options = {"variant": self.variant, "torch_dtype": getattr(torch, self.dtype)}
            # Newer versions of diffusers deprecate `torch_dtype`; older ones accept only this name.
            options |= dict.fromkeys({*self.dropped, *absent})
            pipeline = pipeline_class.from_pretrained(
                folder, use_safetensors=True, trust_remote_code=False, **options
            )
        if unknown := set(self.dropped) - set(pipeline.config):
            parts = ", ".join(sorted(pipeline.components))
            raise EngineError(f"{self.model} has no {min(unknown)!r}; its components are {parts}")
        return pipeline, hash_files(folder) if is_folder else folder.name

    def _set_scheduler(self) -> dict[str, Any]:
        """Replace the scheduler or change its configuration; return the changes."""
        import diffusers

        changes = self._get_options("scheduler")
        if self.scheduler is None and not changes:
            return {}
        current = self.pipeline.scheduler
        kind = getattr(diffusers, self.scheduler, None) if self.scheduler else type(current)
        if not (isinstance(kind, type) and issubclass(kind, diffusers.SchedulerMixin)):
            compatible = ", ".join(sorted(known.__name__ for known in current.compatibles))
            raise EngineError(f"`scheduler` must be one of {compatible}; got {self.scheduler!r}")
        _check_options("scheduler", changes, inspect.signature(kind).parameters, kind.__name__)
        scheduler_class: Any = kind
        self.pipeline.scheduler = scheduler_class.from_config(current.config, **changes)
        return {f"scheduler.{key}": value for key, value in changes.items()}

    def _add_lora(self) -> dict[str, Any]:
        """Add LoRA weights to the pipeline; return their names and revisions."""
        if self.lora is None:
            return {}
        with require_extra("`lora`", "models"):
            import peft  # noqa: F401
        folder, name = expand(self.lora), Path(self.lora).name
        if not folder.is_dir():
            folder, name = pull_files(self.lora, ["*.safetensors"], error=EngineError), self.lora
        remedy = "use a folder or OWNER/REPOSITORY with a single .safetensors file of LoRA weights"
        with safe_load(f"{self.lora} has no usable LoRA", remedy, str(folder), files=()):
            (file,) = sorted(folder.glob("*.safetensors"))
            self.pipeline.load_lora_weights(
                folder, weight_name=file.name, adapter_name="lora", use_safetensors=True
            )
            self.pipeline.set_adapters(["lora"], [self.lora_scale])
        return {"lora": f"{name} {hash_files(folder)}", "lora_scale": self.lora_scale}

    def _get_options(self, part: str) -> dict[str, Any]:
        options = {}
        for name, value in self.more.items():
            prefix, _, key = name.partition(".")
            if prefix not in ("pipeline", "scheduler") or not key:
                raise EngineError(f"`more` must be pipeline.KEY or scheduler.KEY; got {name!r}")
            if prefix == part:
                options[key] = value
        return options


def _read_index(folder: Path) -> tuple[dict[str, Any], Any]:
    """Return a pipeline's index, and its class or the one that makes images of texts instead."""
    import diffusers
    from diffusers.pipelines import auto_pipeline

    index = read_json(folder / "model_index.json")
    name = str(index.get("_class_name"))
    parts = [value for value in index.values() if isinstance(value, list) and value]
    if any("Pipeline" in str(part) or "Onnx" in str(part) for part in parts):
        raise EngineError("a part of it is a pipeline or in ONNX; use another pipeline")
    others = {part[0] for part in parts if type(part[0]) is str} - {"diffusers", "transformers"}
    is_known = all(hasattr(diffusers.pipelines, library) for library in others)
    own, mapping = getattr(diffusers, name, None), auto_pipeline.AUTO_TEXT2IMAGE_PIPELINES_MAPPING
    pipeline_class = auto_pipeline._get_task_class(mapping, name, own is None and is_known) or own
    if not is_known or getattr(pipeline_class, "_load_connected_pipes", False):
        raise EngineError("it refers to other repositories")
    return index, pipeline_class


def _check_options(part: str, options: Collection[str], known: Collection[str], name: str) -> None:
    """Raise an error for arguments that are unknown, or that pqpp sets for each image."""
    for key in options:
        if key not in known or key in _RESERVED:
            allowed = ", ".join(n for n in known if n not in ("self", "kwargs", *_RESERVED))
            raise EngineError(f"{name}: cannot set {part}.{key}; choose one of {allowed:.400}")
