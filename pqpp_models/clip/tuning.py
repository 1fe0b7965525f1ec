"""What of a CLIP-like model learns: the head alone, low-rank adapters too, or everything."""

from typing import Any

from pqpp_files.extras import needing

TUNINGS = ("frozen", "lora", "full")


def prepare(model: Any, tuning: str, rank: int, alpha: int) -> None:
    """Freeze the backbone, or put low-rank adapters on its attention, in place.

    Args:
        model: A model with `backbone` and `head`.
        tuning: One of `TUNINGS`.

    Raises:
        MissingExtraError: Adapters are wanted and peft is not installed.
    """
    if tuning == "full":
        return
    model.backbone.requires_grad_(False)
    if tuning == "lora":
        with needing("`tuning: lora`", "models"):
            from peft import LoraConfig, get_peft_model
        adapters = LoraConfig(r=rank, lora_alpha=alpha, target_modules=["q_proj", "v_proj"])
        model.backbone = get_peft_model(model.backbone, adapters)


def merge(model: Any, tuning: str) -> None:
    """Add trained adapters to the weights that they belong to, so that any version loads them."""
    if tuning == "lora":
        model.backbone = model.backbone.merge_and_unload()
    model.requires_grad_(True)
