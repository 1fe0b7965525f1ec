"""Low-rank adapters on the denoising network of a diffusers pipeline: loss, data, saving."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers.utils import ModelOutput

from pqpp_backbones.checkpoint import CARD
from pqpp_backbones.errors import CheckpointError
from pqpp_backbones.pretrained import loading
from pqpp_feedback.assess.pictures import Picture
from pqpp_files.extras import needing
from pqpp_files.foreign.images import open_image
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.write_beside import whole_folder

LORA_FILES = ("pytorch_lora_weights.safetensors", CARD)
"""What a folder of adapters holds."""

_ATTENTION = ["to_q", "to_k", "to_v", "to_out.0"]
_PARTS = ("unet", "vae", "text_encoder", "tokenizer", "scheduler")


def load_pipeline(name_or_path: str) -> Any:
    """Load a text-to-image pipeline whose parts this training knows.

    Args:
        name_or_path: A folder or repository of the Stable Diffusion kind: `unet`, `vae`,
            `text_encoder` and its `tokenizer`, and a scheduler with discrete noise levels; in
            Stable Diffusion XL there are a second encoder and tokenizer.

    Raises:
        MissingExtraError: diffusers is not installed.
        CheckpointError: There is no such pipeline, or it is of another kind.
    """
    with needing("fine-tuning", "apps"):
        from diffusers import DiffusionPipeline
    remedy = "give a folder or OWNER/REPOSITORY of a diffusers pipeline"
    with loading(f"{name_or_path} holds no usable pipeline", remedy, name_or_path, files=()):
        pipe = DiffusionPipeline.from_pretrained(
            name_or_path, use_safetensors=True, trust_remote_code=False
        )
    has_second = getattr(pipe, "text_encoder_2", None) is not None
    parts = *_PARTS, *["tokenizer_2"] * has_second
    fault = next((f"without {one}" for one in parts if getattr(pipe, one, None) is None), "")
    # A network that also takes a mask or an image has more channels than the latents.
    if not fault and pipe.unet.config.in_channels != pipe.vae.config.latent_channels:
        fault = f"whose network takes {pipe.unet.config.in_channels} channels"
    if fault:
        raise CheckpointError(
            f"{name_or_path} is a {type(pipe).__name__} {fault}; give a pipeline of the Stable "
            "Diffusion or Stable Diffusion XL kind that makes images from text alone"
        )
    return pipe


class DenoisingModel(nn.Module):
    """A pipeline's denoising network with adapters of a rank and a scale (alpha) that learn.

    All else of the pipeline, which comes from `load_pipeline`, is frozen.
    """

    def __init__(self, pipe: Any, rank: int, alpha: int) -> None:
        from diffusers import DDPMScheduler
        from peft import LoraConfig

        super().__init__()
        self.unet, self.vae, self.text_encoder = pipe.unet, pipe.vae, pipe.text_encoder
        self.text_encoder_2 = getattr(pipe, "text_encoder_2", None)
        self.requires_grad_(False)
        settings = {"r": rank, "lora_alpha": alpha, "target_modules": _ATTENTION}
        pipe.unet.add_adapter(LoraConfig(init_lora_weights="gaussian", **settings))
        self.noising = DDPMScheduler.from_config(pipe.scheduler.config)
        self.pipe_class = type(pipe)

    def forward(
        self,
        pixel_values: torch.Tensor,
        input_ids: torch.Tensor,
        input_ids_2: torch.Tensor | None = None,
        time_ids: torch.Tensor | None = None,
    ) -> ModelOutput:
        """Return the loss of a batch: the squared error of what the network predicts.

        Args:
            pixel_values: `(batch, 3, height, width)` in -1 .. 1.
            input_ids: `(batch, length)`, the prompts.
            input_ids_2: The same by the second tokenizer, where there is one.
            time_ids: `(batch, 6)`, as `time_ids_of` gives them, for XL.
        """
        with torch.no_grad():
            latents = self.vae.encode(pixel_values).latent_dist.sample()
            latents = latents * self.vae.config.scaling_factor
            states, added = self.encode_prompts(input_ids, input_ids_2, time_ids)
        noise, config = torch.randn_like(latents), self.noising.config
        times = torch.randint(config.num_train_timesteps, (len(latents),), device=latents.device)
        noisy = self.noising.add_noise(latents, noise, times)
        given = {"encoder_hidden_states": states, "added_cond_kwargs": added or None}
        predicted = self.unet(noisy, times, **given).sample
        wanted = latents if config.prediction_type == "sample" else noise
        if config.prediction_type == "v_prediction":
            wanted = self.noising.get_velocity(latents, noise, times)
        return ModelOutput(loss=functional.mse_loss(predicted.float(), wanted.float()))

    def encode_prompts(
        self,
        input_ids: torch.Tensor,
        input_ids_2: torch.Tensor | None = None,
        time_ids: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return what the denoising network is told: the states, and what XL is told beside.

        Arguments as of `forward`; `time_ids` has the six numbers of `time_ids_of` an image.
        """
        if self.text_encoder_2 is None:
            return self.text_encoder(input_ids)[0], {}
        assert time_ids is not None
        pairs = ((self.text_encoder, input_ids), (self.text_encoder_2, input_ids_2))
        both = [encoder(ids, output_hidden_states=True) for encoder, ids in pairs]
        # XL was trained on the layer before the last, of both side by side.
        states = torch.cat([one.hidden_states[-2] for one in both], dim=-1)
        return states, {"text_embeds": both[1][0], "time_ids": time_ids.to(states.dtype)}

    def save_adapters(self, folder: Path, card: str) -> Path:
        """Write the adapters as `load_lora_weights` of the pipeline reads them, and their card.

        Older adapters in the folder are replaced, whole or not at all.

        Raises:
            FileError: The folder holds other things.
        """
        from peft.utils import get_peft_model_state_dict

        layers = get_peft_model_state_dict(self.unet)
        with whole_folder(folder, LORA_FILES) as beside:
            options = {"unet_lora_layers": layers, "safe_serialization": True}
            self.pipe_class.save_lora_weights(beside, **options)
            (beside / CARD).write_text(card, encoding="utf-8")
        return folder


class Images:
    """Chosen images with their prompts, prepared in batches by their numbers.

    Args:
        pictures: From `pqpp_feedback.assess.pictures.read_folder`.
        pipe: The pipeline, for its tokenizers.
        resolution: Pixels along a side.
    """

    def __init__(self, pictures: Sequence[Picture], pipe: Any, resolution: int) -> None:
        self.pictures, self.resolution = pictures, resolution
        both = pipe.tokenizer, getattr(pipe, "tokenizer_2", None)
        self.tokenizers = [tokenizer for tokenizer in both if tokenizer is not None]

    def __len__(self) -> int:
        return len(self.pictures)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the files and prompts, in order."""
        return sha256_of_parts(
            part for one in self.pictures for part in (one.prompt, b"\0", one.path.read_bytes())
        )

    def collate(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return some images and prompts as what the model takes; images are cut to squares."""
        from PIL import ImageOps

        size = (self.resolution, self.resolution)
        chosen = [self.pictures[number] for number in numbers]
        opened = [open_image(picture.path) for picture in chosen]
        pixels = np.stack([np.asarray(ImageOps.fit(image, size)) for image in opened])
        batch = {"pixel_values": torch.from_numpy(pixels).permute(0, 3, 1, 2) / 127.5 - 1}
        if len(self.tokenizers) > 1:
            sizes = [time_ids_of(image.size, self.resolution) for image in opened]
            batch["time_ids"] = torch.tensor(sizes)
        prompts = [picture.prompt for picture in chosen]
        options = {"padding": "max_length", "truncation": True, "return_tensors": "pt"}
        for name, tokenizer in zip(("input_ids", "input_ids_2"), self.tokenizers, strict=False):
            most = tokenizer.model_max_length
            batch[name] = tokenizer(prompts, max_length=most, **options)["input_ids"]
        return batch


def time_ids_of(size: tuple[int, int], resolution: int) -> list[int]:
    """Return what Stable Diffusion XL is told of an image that was cut to a square.

    Args:
        size: Width and height of the image as it was.
        resolution: Pixels along a side of the square.

    Returns:
        Height and width as it was, the upper and left edge of the square in the image scaled to
        the resolution, and the square's height and width.

    Example:
        >>> time_ids_of((1024, 512), 256)
        [512, 1024, 0, 128, 256, 256]
    """
    wide, high = size
    scale = resolution / min(size)
    edges = (round((high * scale - resolution) / 2), round((wide * scale - resolution) / 2))
    return [high, wide, *edges, resolution, resolution]


@torch.no_grad()
def held_out_loss(
    model: DenoisingModel, images: Images, numbers: Sequence[int], batch_size: int, seed: int
) -> float:
    """Return the mean loss over some images, with the same noise each time."""
    device, total = next(model.unet.parameters()).device, 0.0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for start in range(0, len(numbers), batch_size):
            some = numbers[start : start + batch_size]
            batch = {name: value.to(device) for name, value in images.collate(some).items()}
            total += float(model(**batch).loss) * len(some)
    return total / len(numbers)
