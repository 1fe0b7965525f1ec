"""The model card of a trained predictor, written from what happened, with its `model-index`."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqpp_models.targets import target_range
from pqpp_models.training.data import Rows, sha256_of_rows
from pqpp_models.training.options import OptimisationOptions, PredictorRecipe
from pqpp_models.training.state import Progress

_LIBRARIES = ("pqpp", "torch", "transformers", "accelerate", "datasets", "peft", "numpy")
_ABOUT = {
    "bert": "A text encoder with a regression head, fine-tuned on prompts alone: it predicts "
    "before an image is generated or retrieved (PQPP, section 5.1).",
    "bert_onnx": "A fine-tuned text encoder with a regression head, converted for onnxruntime: it "
    "predicts from prompts alone, without torch.",
    "clip": "A CLIP-like model with a head on its text and image features: it predicts from a "
    "prompt and the images generated or retrieved for it (PQPP, section 5.2).",
    "correlation_cnn": "A convolutional network on the cosine similarities among the images "
    "generated or retrieved for a prompt (PQPP, section 5.2).",
}
_USE = {
    "text": 'predictor.predict(["a man riding a wave on a surfboard"])',
    "text+images": 'predictor.predict([{"prompt": "a wave", "images": [image, other_image]}])',
    "text+scores": 'predictor.predict([{"prompt": "a wave", "similarities": matrices}])',
}


def describe(
    recipe: PredictorRecipe, train: Rows, validation: Rows, progress: Progress, processes: int
) -> dict[str, Any]:
    """Return what happened in a training, as plain values for configuration and card.

    Args:
        recipe: The recipe.
        train: The rows that were learned from.
        validation: The rows that early stopping looked at.
        progress: How it went.
        processes: How many processes took part.
    """
    data = {
        "train_rows": len(train),
        "train_sha256": sha256_of_rows(train),
        "validation_rows": len(validation),
        "validation_sha256": sha256_of_rows(validation),
    }
    return describe_run(recipe, data, progress, processes)


def describe_run(
    recipe: OptimisationOptions, data: Mapping[str, Any], progress: Progress, processes: int
) -> dict[str, Any]:
    """Return what happened in any training; `data` says what was learned from."""
    settings = recipe.deciding()
    for name in ("model", "vision_model", "text_model", "dataset"):
        if Path(settings.get(name) or "").name and Path(settings[name]).exists():
            settings[name] = Path(settings[name]).resolve().name  # a card tells no local path
    pushed = getattr(recipe, "push_to_hub", False)
    return {
        **({"repository": recipe.hub_model_id} if pushed else {}),
        "recipe": settings,
        "data": dict(data),
        "epochs": progress.epoch,
        "best_epoch": progress.best_epoch + 1,
        "steps": progress.step,
        "seconds": round(progress.seconds),
        "processes": processes,
        "validation": {k: round(v, 6) for k, v in (progress.best or {}).items()},
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that take part and are installed."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def render_card(predictor: Any) -> str:
    """Return a trained predictor's card in Markdown; what is not known is left out.

    Args:
        predictor: A `TorchPredictor`; its `details` come from `describe`.
    """
    from huggingface_hub import ModelCardData

    details = predictor.details
    recipe = details.get("recipe", {})
    data = ModelCardData(
        license="apache-2.0",
        language="en",
        library_name="transformers",
        pipeline_tag="other",
        tags=["pqpp", "prompt-performance-prediction", "query-performance-prediction"],
        base_model=recipe.get("model") if "/" in str(recipe.get("model")) else None,
        model_name=f"pqpp-{predictor.name}",
        eval_results=_results(details) or None,
    )
    parts = [
        f"---\n{data.to_yaml()}\n---",
        f"# pqpp-{predictor.name}\n\n{_ABOUT.get(predictor.name, '')}",
        _usage(predictor),
    ]
    if details:
        parts += [_training(details), _scores(details)]
    return "\n\n".join(parts) + "\n"


def _usage(predictor: Any) -> str:
    # What is converted for onnxruntime is not what the training pushed.
    trained = predictor.name != "bert_onnx"
    repository = predictor.details.get("repository") if trained else None
    ranges = ", ".join(
        f"`{name}` ({target_range(name)[0]:g} to {target_range(name)[1]:g})"
        for name in predictor.targets
    )
    return (
        f"It predicts {ranges}; higher is better.\n\n```python\n"
        "from pqpp_models import Predictor\n\n"
        f'predictor = Predictor.from_pretrained("{repository or "OWNER/REPOSITORY"}")'
        "  # or a folder\n"
        f"{_USE[predictor.inputs]}\n```"
    )


def _training(details: Mapping[str, Any]) -> str:
    data = details["data"]
    rows = {
        "training prompts": f"{data['train_rows']:,}, SHA-256 `{data['train_sha256']}`",
        "validation prompts": f"{data['validation_rows']:,}, SHA-256 `{data['validation_sha256']}`",
        "epochs": f"{details['epochs']}, the best is {details['best_epoch']}",
        "steps": details["steps"],
        "time": f"{details['seconds']} s on {details['processes']} process(es)",
        "recipe": ", ".join(f"`{k}`: {_shown(v)}" for k, v in details["recipe"].items()),
        "versions": ", ".join(f"{k} {v}" for k, v in details["versions"].items()),
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["## How it was trained", "", "| | |", "|---|---|", *lines])


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _scores(details: Mapping[str, Any]) -> str:
    found = details["validation"]
    names = [name.removesuffix("_kendall") for name in found if name.endswith("_kendall")]
    lines = [
        f"| {name} | {found[f'{name}_pearson']:.3f} | {found[f'{name}_kendall']:.3f} |"
        for name in names
    ]
    if "pearson" in found and len(names) > 1:
        lines.append(f"| mean | {found['pearson']:.3f} | {found['kendall']:.3f} |")
    split = details["recipe"].get("validation_split", "validation")
    note = (
        f"On the {split} split, which also chose the epoch: a test on other prompts will be "
        "a little lower. Prompts unlike the training prompts are predicted worse."
    )
    header = ["| target | Pearson | Kendall |", "|---|---|---|"]
    return "\n".join(["## What it scores", "", note, "", *header, *lines])


def _results(details: Mapping[str, Any]) -> list[Any]:
    from huggingface_hub import EvalResult

    recipe = details.get("recipe", {})
    found = []
    for name, value in details.get("validation", {}).items():
        target, _, kind = name.rpartition("_")
        if kind in ("pearson", "kendall") and target:
            found.append(
                EvalResult(
                    task_type="prompt-performance-prediction",
                    dataset_type=recipe.get("dataset", "pqpp"),
                    dataset_name=recipe.get("dataset", "pqpp"),
                    dataset_config=recipe.get("subset", recipe.get("dataset_config")),
                    dataset_split=recipe.get("validation_split"),
                    metric_type=f"{kind}_qpp",
                    metric_name=f"{target} {kind.capitalize()}",
                    metric_value=value,
                )
            )
    return found
