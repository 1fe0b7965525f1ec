"""Train the RichHF paper's learned baselines: ResNet-50 with heads, and CLIP (section 4.2.1)."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from transformers import AutoImageProcessor, AutoModel, AutoProcessor

from pqpp_models.clip.embedding import pixels_of, tokens_of
from pqpp_models.rahf.baselines import ClipBaseline, ResnetBaseline
from pqpp_models.rahf.evaluation import Predictions, evaluate, render_markdown, tables, truth_of
from pqpp_models.rahf.examples import Examples, fingerprint, load_split
from pqpp_models.rahf.labels import HEATMAPS
from pqpp_models.training.arguments import Recipe, RecipeError, option, parse_recipe
from pqpp_models.training.loop import Task, make_accelerator, train
from pqpp_models.training.publish import run_script
from pqpp_models.training.state import write_atomically

EXAMPLES = """\
  python training/train_rahf_baselines.py --baseline resnet --pickapic_dir pickapic_v1
  python training/train_rahf_baselines.py --baseline clip --model openai/clip-vit-base-patch32 \\
      --pickapic_dir pickapic_v1"""
MODELS = {"resnet": "microsoft/resnet-50", "clip": "openai/clip-vit-base-patch32"}


@dataclass(kw_only=True)
class BaselineRecipe(Recipe):
    """What a baseline is trained by."""

    baseline: str = option("resnet", "which one", tuple(MODELS))
    dataset_config: str | None = option("richhf", "its configuration")
    pickapic_dir: str | None = option(None, "folder of a copy of Pick-a-Pic v1")
    targets: list[str] = option([], "not used")
    model: str = option("default", "pretrained backbone; ResNet-50 or CLIP ViT-B/32 if left out")
    output_dir: str = option("runs/rahf_baseline", "folder for weights, checkpoints and figures")
    heatmap_size: int = option(224, "pixels along a side of the heatmaps that are compared")
    augmentation: bool = option(True, "the paper's augmentations")
    epochs: int = option(20, "passes over the data at most")
    batch_size: int = option(64, "images a step and process")
    learning_rate: float = option(1e-4, "highest learning rate")

    def __post_init__(self):
        """Put the default backbone in."""
        super().__post_init__()
        if self.model == "default":
            self.model = MODELS[self.baseline]
        if self.push_to_hub:
            raise RecipeError("`push_to_hub` is not for baselines; leave it out")


class BaselineInputs:
    """Stands where `Examples` wants a processor: prepares what a baseline takes."""

    variant = "multi_head"

    def __init__(self, recipe: BaselineRecipe, clip) -> None:
        self.clip = clip
        kind = AutoProcessor if recipe.baseline == "clip" else AutoImageProcessor
        self.processor = kind.from_pretrained(recipe.model)

    def __call__(self, images, text, tasks=None):
        """Return a batch's tensors."""
        if self.clip is None:
            return dict(self.processor(images, return_tensors="pt"))
        tokens = tokens_of(self.processor, text, self.clip.config)
        return {**tokens, "pixel_values": pixels_of(self.processor, images)}

    def labels(self, prompts, labels):
        """Return no keywords: baselines do not predict them."""
        return torch.empty(len(prompts), 0)


def new_baseline(recipe: BaselineRecipe):
    """Return the model with pretrained backbones and new heads, and what prepares its inputs."""
    if recipe.baseline == "clip":
        clip = AutoModel.from_pretrained(recipe.model, use_safetensors=True)
        return ClipBaseline(clip), BaselineInputs(recipe, clip)
    pair = [AutoModel.from_pretrained(recipe.model, use_safetensors=True) for _ in range(2)]
    return ResnetBaseline(pair[0].config, pair), BaselineInputs(recipe, None)


@torch.inference_mode()
def predict(model, examples: Examples, batch_size: int) -> Predictions:
    """Return what a baseline says about a split."""
    device = next(model.parameters()).device
    scores, heatmaps = [], []
    size = (examples.heatmap_size,) * 2
    for start in range(0, len(examples), batch_size):
        rows = range(start, min(start + batch_size, len(examples)))
        batch = examples.collate([examples[row] for row in rows])
        found = model(**{name: value.to(device) for name, value in batch.items()})
        scores.append(found.scores.double().cpu().numpy())
        if found.heatmaps is not None:
            scaled = functional.interpolate(found.heatmaps, size, mode="bilinear")
            heatmaps.append(scaled.float().cpu().numpy())
    maps = np.concatenate(heatmaps) if heatmaps else None
    named = {} if maps is None else {name: maps[:, i] for i, name in enumerate(HEATMAPS)}
    return Predictions(scores=np.concatenate(scores), **named)


def train_baseline(recipe: BaselineRecipe, training, validation):
    """Train one baseline, write its figures on the validation split and return how it went."""
    accelerator = make_accelerator(recipe)
    model, inputs = new_baseline(recipe)
    model.to(accelerator.device)
    options = {"augmented": recipe.augmentation, "seed": recipe.seed}
    examples = Examples(training, inputs, recipe.heatmap_size, **options)
    held_out = Examples(validation, inputs, recipe.heatmap_size)
    truth = truth_of(held_out)

    def evaluate_model(model, accelerator):
        plain = accelerator.unwrap_model(model)
        figures = evaluate(predict(plain, held_out, recipe.batch_size), truth)
        known = {k: v for k, v in figures["scores"].items() if k.endswith("plcc")}
        if "implausibility_heatmap" in figures:
            known["implausibility_cc"] = figures["implausibility_heatmap"]["cc"]
        known = {k: 0.0 if np.isnan(v) else v for k, v in known.items()}
        return {**known, "mean": float(np.mean(list(known.values())))}

    task = Task(
        model=model,
        examples=examples,
        lengths=examples.lengths(),
        collate=examples.collate,
        evaluate=evaluate_model,
        head="score_head",
        identity={"train": fingerprint(examples), "validation": fingerprint(held_out)},
        primary="mean",
        shown=("mean",),
    )
    progress = train(task, recipe, accelerator)
    if accelerator.is_main_process:
        figures = evaluate(predict(model, held_out, recipe.batch_size), truth)
        path = Path(recipe.output_dir) / "figures.json"
        write_atomically(path, json.dumps(figures, indent=1).encode())
        print(render_markdown(tables({recipe.baseline: figures})))
    accelerator.wait_for_everyone()
    return progress


def main() -> None:
    """Read the recipe and the data, and train."""
    recipe = parse_recipe(BaselineRecipe, __doc__, EXAMPLES)
    splits = [
        load_split(
            split, recipe.data_dir, recipe.pickapic_dir, recipe.dataset, recipe.dataset_config
        )
        for split in (recipe.train_split, recipe.validation_split)
    ]
    train_baseline(recipe, *splits)


if __name__ == "__main__":
    run_script(main)
