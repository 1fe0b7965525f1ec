"""Train the RichHF paper's learned baselines: ResNet-50 with heads, and CLIP (section 4.2.1)."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pqpp_backbones.training.script import run_script, script_imports

with script_imports("train_rahf_baselines"):
    from pqpp_backbones.training.loop import Task, make_accelerator, train
    from pqpp_backbones.training.options import DataOptions, OptimisationOptions
    from pqpp_backbones.training.publish import describe_run, refuse_finished
    from pqpp_feedback.rahf.bench.baselines import BASELINES, TrainedBaseline
    from pqpp_feedback.rahf.bench.evaluation import feedback_figures, truth_of
    from pqpp_feedback.rahf.bench.experiments import format_tables, tables
    from pqpp_feedback.rahf.examples import describe_data, load_split
    from pqpp_files.options.option import option
    from pqpp_files.options.recipe import parse_recipe
    from pqpp_files.write_beside import write_whole
    from pqpp_hub.card import render_card

EXAMPLES = """\
  python training/train_rahf_baselines.py --baseline resnet --pickapic-dir pickapic_v1
  python training/train_rahf_baselines.py --baseline clip --model openai/clip-vit-base-patch32 \\
      --pickapic-dir pickapic_v1"""
MODELS = {"resnet": "microsoft/resnet-50", "clip": "openai/clip-vit-base-patch32"}


@dataclass(kw_only=True)
class BaselineRecipe(DataOptions, OptimisationOptions):
    """What a baseline is trained by."""

    baseline: str = option("resnet", "which one", BASELINES)
    subset: str | None = option("richhf", "its configuration")
    pickapic_dir: str | None = option(
        None, "folder of a copy of Pick-a-Pic v1", decides=False, path="folder"
    )
    model: str = option("default", "pretrained backbone; ResNet-50 or CLIP ViT-B/32 if left out")
    output_dir: str = option("runs/rahf_baseline")
    heatmap_size: int = option(
        224, "pixels along a side of the heatmaps that are compared", above=0
    )
    augmentation: bool = option(True, "the paper's augmentations")
    epochs: int = option(20)
    batch_size: int = option(64, "images a step and process")
    learning_rate: float = option(1e-4)

    def __post_init__(self):
        """Put the default backbone in and check all values."""
        super().__post_init__()
        if self.model == "default":
            self.model = MODELS[self.baseline]


def train_baseline(recipe: BaselineRecipe, training, validation):
    """Train one baseline, write its figures on the validation split and return how it went."""
    folder = Path(recipe.output_dir) / "model"
    TrainedBaseline.refuse_other_folder(folder)
    refuse_finished(folder, recipe)
    accelerator = make_accelerator(recipe)
    baseline = TrainedBaseline.from_backbone(recipe.baseline, recipe.model, recipe.heatmap_size)
    baseline.model.to(accelerator.device)
    examples = baseline.examples(training, augmented=recipe.augmentation, seed=recipe.seed)
    held_out = baseline.examples(validation)
    truth = truth_of(held_out)

    def evaluate_model(model, accelerator):
        figures = feedback_figures(baseline.predict(held_out, recipe.batch_size), truth)
        known = {k: v for k, v in figures["scores"].items() if k.endswith("plcc")}
        if "implausibility_heatmap" in figures:
            known["implausibility_cc"] = figures["implausibility_heatmap"]["cc"]
        known = {k: 0.0 if np.isnan(v) else v for k, v in known.items()}
        return {**known, "mean": float(np.mean(list(known.values())))}

    task = Task(
        model=baseline.model,
        examples=examples,
        lengths=examples.lengths(),
        collate=examples.collate,
        evaluate=evaluate_model,
        head="score_head",
        identity={"train": examples.fingerprint(), "validation": held_out.fingerprint()},
        primary="mean",
        shown=("mean",),
    )

    def save(progress):
        baseline.model = task.model
        told = describe_data(recipe, examples, held_out)
        run = describe_run(recipe, told["data"], progress, accelerator.num_processes)
        card = render_card("feedback/baseline", kind=recipe.baseline, details={**told, **run})
        baseline.save_pretrained(folder, card)
        figures = feedback_figures(baseline.predict(held_out, recipe.batch_size), truth)
        path = Path(recipe.output_dir) / "figures.json"
        write_whole(path, json.dumps(figures, indent=1))
        print(f"saved in {folder}")
        print(format_tables("table", tables({recipe.baseline: figures})))

    return train(task, recipe, accelerator, save)


def main() -> None:
    """Read the recipe and the data, and train."""
    recipe = parse_recipe(BaselineRecipe, __doc__, EXAMPLES)
    where = recipe.data_dir, recipe.pickapic_dir, recipe.dataset, recipe.subset
    training = load_split(recipe.train_split, *where, recipe.max_train_rows)
    train_baseline(recipe, training, load_split(recipe.validation_split, *where))


if __name__ == "__main__":
    run_script(main)
