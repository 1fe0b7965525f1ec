"""Saving a RAHF model with its card. `pqpp_models.hub.push_to_hub` publishes what is saved."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqpp_feedback.rahf.outputs import SCORES
from pqpp_feedback.rahf.provenance import counted
from pqpp_files.write_beside import whole_folder
from pqpp_models.checkpoint import CARD

FILES = (
    *("config.json", "generation_config.json", "model.safetensors", "README.md"),
    *("processor_config.json", "preprocessor_config.json", "tokenizer_config.json"),
    *("tokenizer.json", "spiece.model", "special_tokens_map.json", "added_tokens.json"),
    *("model.safetensors.index.json", "model-*.safetensors"),
)
"""What a folder holds and what is pushed: no code, no pickle."""


def save_whole(model: Any, processor: Any, card: str | None, folder: Path) -> Path:
    """Write model, processor and card beside and rename, so that a folder is never half new.

    Args:
        model: The model.
        processor: Its processor.
        card: The card's text; that of an older model there, if there is one, if left out.
        folder: Where to; an older model there is replaced.

    Raises:
        CheckpointError: The folder holds other things.
    """
    folder = Path(folder).expanduser()
    with whole_folder(folder, FILES) as beside:
        model.save_pretrained(beside)
        processor.save_pretrained(beside)
        if card is not None:
            (beside / CARD).write_text(card, encoding="utf-8")
        elif (folder / CARD).is_file():
            shutil.copyfile(folder / CARD, beside / CARD)
    return folder


def render_card(details: Mapping[str, Any]) -> str:
    """Return a model card in Markdown, written from what happened.

    Args:
        details: `variant`, and from a training `recipe`, `data`, `epochs`, `steps`, `seconds`,
            `processes`, `validation` and `versions`; `published` is False where the validation
            split is not RichHF's published one.
    """
    from huggingface_hub import ModelCardData

    data = ModelCardData(
        license="apache-2.0",
        language="en",
        library_name="transformers",
        pipeline_tag="image-text-to-text",
        tags=["pqpp", "rich-human-feedback", "text-to-image-evaluation"],
        model_name="pqpp-rahf",
        eval_results=_results(details) or None,
    )
    about = (
        "RAHF, the model of rich human feedback for generated images (Liang et al., CVPR 2024), in "
        f"its {details['variant'].replace('_', '-')} variant. From an image and the prompt that it "
        f"was generated from it predicts four scores ({', '.join(SCORES)}, each 0 to 1), heatmaps "
        "of implausible and of misaligned regions, and the misaligned words of the prompt."
    )
    use = (
        "```python\nfrom transformers import pipeline\n\n"
        'feedback = pipeline("rich-human-feedback", model="OWNER/REPOSITORY")\n'
        'feedback({"image": "image.png", "prompt": "a yellow cat"})\n```'
    )
    parts = [f"---\n{data.to_yaml()}\n---", f"# pqpp-rahf\n\n{about}", use]
    if "recipe" in details:
        parts += [_training(details), _figures(details)]
    return "\n\n".join(parts) + "\n"


def _training(details: Mapping[str, Any]) -> str:
    rows = {
        "images": ", ".join(f"{k}: {v}" for k, v in details["data"].items()),
        "epochs": f"{details['epochs']}, the best is {details['best_epoch']}",
        "steps": details["steps"],
        "time": f"{details['seconds']} s on {details['processes']} process(es)",
        "recipe": ", ".join(f"`{k}`: {v}" for k, v in details["recipe"].items()),
        "versions": ", ".join(f"{k} {v}" for k, v in details["versions"].items()),
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["## How it was trained", "", "| | |", "|---|---|", *lines])


def _figures(details: Mapping[str, Any]) -> str:
    lines = [f"| {name} | {value:.4g} |" for name, value in details["validation"].items()]
    images = counted(details["data"]["validation"], details.get("published", True))
    note = (
        f"On the validation split ({images}), which also chose the epoch: other images will score "
        "lower."
    )
    return "\n".join(["## What it scores", "", note, "", "| metric | value |", "|---|---|", *lines])


def _results(details: Mapping[str, Any]) -> list[Any]:
    from huggingface_hub import EvalResult

    recipe, data = details.get("recipe", {}), details.get("data", {})
    dataset = recipe.get("dataset", "pqpp")
    other = "" if details.get("published", True) else " (not the published files)"
    return [
        EvalResult(
            task_type="rich-human-feedback",
            dataset_type=dataset,
            dataset_name=f"{dataset}{other}",
            dataset_config=recipe.get("subset", recipe.get("dataset_config")),
            dataset_split=recipe.get("validation_split"),
            dataset_args={"images": data["validation"]} if "validation" in data else None,
            metric_type=name,
            metric_name=name,
            metric_value=value,
        )
        for name, value in details.get("validation", {}).items()
    ]
