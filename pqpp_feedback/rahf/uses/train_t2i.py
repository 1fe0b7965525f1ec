r"""Fine-tune a diffusers text-to-image model with LoRA on images chosen by predicted scores.

The set is a folder with images and metadata.jsonl, as `pqpp_feedback.rahf.uses.select` writes it.

Examples::

  accelerate launch --quiet -m pqpp_cli train t2i --image-dir chosen \
      --model stable-diffusion-v1-5/stable-diffusion-v1-5
  pqpp train t2i --image-dir chosen --model my_pipeline --lora-rank 16
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import peft  # noqa: F401 -- what it is used in imports it late

from pqpp_backbones.training.loop import Task, make_accelerator, train
from pqpp_backbones.training.options import OptimisationOptions
from pqpp_backbones.training.publish import describe_run, refuse_finished
from pqpp_backbones.training.state import Progress
from pqpp_feedback.assess.pictures import read_folder
from pqpp_feedback.rahf.uses.fine_tune import (
    LORA_FILES,
    DenoisingModel,
    Images,
    held_out_loss,
    load_pipeline,
)
from pqpp_files.options.option import NEEDED, RecipeError, option
from pqpp_hub.card import render_card


@dataclass(kw_only=True)
class LoraRecipe(OptimisationOptions):
    """What a text-to-image model is fine-tuned by."""

    RETIRED: ClassVar = {"data_dir": "image_dir"}

    model: str = option(
        "stable-diffusion-v1-5/stable-diffusion-v1-5", "pipeline, Stable Diffusion or XL"
    )
    output_dir: str = option("runs/t2i")
    image_dir: str = option(NEEDED, "folder of chosen images", decides=False, path="folder")
    max_train_rows: int | None = option(None, "use only the first images", above=0)
    resolution: int = option(512, "pixels along a side, a multiple of 8", above=0)
    lora_rank: int = option(4, "rank of the adapters", above=0)
    lora_alpha: int = option(4, "scale of the adapters", above=0)
    held_out: float = option(
        0.1, "share of the images by which the best epoch is chosen", above=0, below=1
    )
    epochs: int = option(10)
    batch_size: int = option(4, "images a step and process")
    learning_rate: float = option(1e-4)
    early_stopping_patience: int = option(
        0, "epochs without a better held-out loss; 0: never stop", least=0
    )

    def __post_init__(self):
        """Check the values of this script."""
        super().__post_init__()
        if self.resolution % 8:
            raise RecipeError(f"`resolution` is {self.resolution}; it must be 8, 16, ...")


def held_out_count(recipe: LoraRecipe, images: int) -> int:
    """Return how many images choose the epoch: the recipe's share, one at least, never all."""
    if images < 2:
        raise RecipeError(f"{recipe.image_dir} holds {images} image(s); 2 or more are needed")
    return min(max(1, round(recipe.held_out * images)), images - 1)


def run(recipe: LoraRecipe) -> Progress:
    """Fine-tune, write the adapters and return how it went."""
    folder = Path(recipe.output_dir) / "lora"
    refuse_finished(folder, recipe, LORA_FILES)
    pictures = read_folder(recipe.image_dir)[: recipe.max_train_rows]
    n = held_out_count(recipe, len(pictures))
    accelerator = make_accelerator(recipe)
    pipe = load_pipeline(recipe.model)
    model = DenoisingModel(pipe, recipe.lora_rank, recipe.lora_alpha).to(accelerator.device)
    images = Images(pictures, pipe, recipe.resolution)
    order = np.random.default_rng(recipe.seed).permutation(len(images)).tolist()

    def evaluate(model, accelerator):
        plain = accelerator.unwrap_model(model)
        loss = held_out_loss(plain, images, order[:n], recipe.batch_size, recipe.seed)
        return {"negative_loss": -loss}

    task = Task(
        model=model,
        examples=order[n:],
        collate=images.collate,
        evaluate=evaluate,
        identity={"images": images.fingerprint()},
        primary="negative_loss",
        shown=("negative_loss",),
    )

    def save(progress):
        data = {"training": len(images) - n, "held out": n, "SHA-256": images.fingerprint()}
        told = describe_run(recipe, data, progress, accelerator.num_processes)
        task.model.save_adapters(folder, render_card("feedback/lora", details=told))
        print(f"saved in {folder}; use it by pipe.load_lora_weights({str(folder)!r})")

    return train(task, recipe, accelerator, save)
