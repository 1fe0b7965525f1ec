"""Low-rank adapters on the denoising network of a diffusers pipeline: loss, data, saving."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers.utils import ModelOutput

from pqpp_models.clip.pairs import open_image
from pqpp_models.errors import CheckpointError, MissingResourceError
from pqpp_models.rahf.gallery import Picture

_ATTENTION = ["to_q", "to_k", "to_v", "to_out.0"]


def load_pipeline(name_or_path: str) -> Any:
    """Load a text-to-image pipeline whose parts this training knows.

    Args:
        name_or_path: A folder or repository of the Stable Diffusion kind: `unet`, `vae`, one
            `text_encoder` and its `tokenizer`, and a scheduler with discrete noise levels.

    Raises:
        MissingResourceError: diffusers is not installed.
        CheckpointError: There is no such pipeline, or it is of another kind.
    """
    try:
        from diffusers import DiffusionPipeline
    except ImportError:
        raise MissingResourceError("fine-tuning needs diffusers; install pqpp[apps]") from None
    try:
        pipe = DiffusionPipeline.from_pretrained(name_or_path, use_safetensors=True)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(f"{name_or_path} holds no usable pipeline ({reason})") from None
    for part in ("unet", "vae", "text_encoder", "tokenizer", "scheduler"):
        if getattr(pipe, part, None) is None:
            raise CheckpointError(
                f"{name_or_path} is a {type(pipe).__name__} without {part}; give a pipeline of the "
                "Stable Diffusion kind"
            )
    if getattr(pipe, "text_encoder_2", None) is not None:
        raise CheckpointError(
            f"{name_or_path} has two text encoders; give a pipeline with one, like Stable "
            "Diffusion 1 or 2"
        )
    return pipe


class DenoisingModel(nn.Module):
    """A pipeline's denoising network with adapters that learn; all else is frozen.

    Args:
        pipe: From `load_pipeline`.
        rank: Rank of the adapters.
        alpha: Their scale.
    """

    def __init__(self, pipe: Any, rank: int, alpha: int) -> None:
        from diffusers import DDPMScheduler
        from peft import LoraConfig

        super().__init__()
        for part in (pipe.unet, pipe.vae, pipe.text_encoder):
            part.requires_grad_(False)
        settings = {"r": rank, "lora_alpha": alpha, "target_modules": _ATTENTION}
        pipe.unet.add_adapter(LoraConfig(init_lora_weights="gaussian", **settings))
        self.unet, self.vae, self.text_encoder = pipe.unet, pipe.vae, pipe.text_encoder
        self.noising = DDPMScheduler.from_config(pipe.scheduler.config)
        self.pipe_class = type(pipe)

    def forward(self, pixel_values: torch.Tensor, input_ids: torch.Tensor) -> ModelOutput:
        """Return the loss of a batch: the squared error of the predicted noise.

        Args:
            pixel_values: `(batch, 3, height, width)` in -1 .. 1.
            input_ids: `(batch, length)`, the prompts.
        """
        with torch.no_grad():
            latents = self.vae.encode(pixel_values).latent_dist.sample()
            latents = latents * self.vae.config.scaling_factor
            states = self.text_encoder(input_ids)[0]
        noise = torch.randn_like(latents)
        steps = self.noising.config.num_train_timesteps
        times = torch.randint(steps, (len(latents),), device=latents.device)
        noisy = self.noising.add_noise(latents, noise, times)
        predicted = self.unet(noisy, times, encoder_hidden_states=states).sample
        velocity = self.noising.config.prediction_type == "v_prediction"
        wanted = self.noising.get_velocity(latents, noise, times) if velocity else noise
        return ModelOutput(loss=functional.mse_loss(predicted.float(), wanted.float()))

    def save_adapters(self, folder: Path) -> Path:
        """Write the adapters as `load_lora_weights` of the pipeline reads them."""
        from peft.utils import get_peft_model_state_dict

        layers = get_peft_model_state_dict(self.unet)
        self.pipe_class.save_lora_weights(folder, unet_lora_layers=layers, safe_serialization=True)
        return folder


class Images:
    """Chosen images with their prompts, prepared in batches by their numbers.

    Args:
        pictures: From `gallery.read_folder`.
        pipe: The pipeline, for its tokenizer.
        resolution: Pixels along a side.
    """

    def __init__(self, pictures: Sequence[Picture], pipe: Any, resolution: int) -> None:
        self.pictures, self.tokenizer, self.resolution = pictures, pipe.tokenizer, resolution

    def __len__(self) -> int:
        return len(self.pictures)

    def collate(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return some images and prompts as what the model takes."""
        from PIL import ImageOps

        size = (self.resolution, self.resolution)
        chosen = [self.pictures[number] for number in numbers]
        pixels = [np.asarray(ImageOps.fit(open_image(one.path), size)) for one in chosen]
        stacked = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2)
        tokens = self.tokenizer(
            [one.prompt for one in chosen],
            padding="max_length",
            max_length=self.tokenizer.model_max_length,
            truncation=True,
            return_tensors="pt",
        )
        return {"pixel_values": stacked / 127.5 - 1, "input_ids": tokens["input_ids"]}


def fingerprint(images: Images) -> str:
    """Return the SHA-256 of the files and prompts, in order."""
    digest = hashlib.sha256()
    for one in images.pictures:
        digest.update(one.prompt.encode() + b"\0" + one.path.read_bytes())
    return digest.hexdigest()


@torch.no_grad()
def held_out_loss(
    model: DenoisingModel, images: Images, numbers: Sequence[int], batch_size: int, seed: int
) -> float:
    """Return the mean loss over some images, with the same noise each time."""
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    device = next(model.unet.parameters()).device
    total = 0.0
    for start in range(0, len(numbers), batch_size):
        some = numbers[start : start + batch_size]
        batch = {name: value.to(device) for name, value in images.collate(some).items()}
        total += float(model(**batch).loss) * len(some)
    torch.set_rng_state(state)
    return total / len(numbers)
