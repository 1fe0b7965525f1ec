"""Detectors of objects, with classes of their own or of any word, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pqpp_models.pretrained import Loaded, load_model

KEPT_ABOVE = 0.05
"""The score from which on a box is kept as evidence; routines ask for more."""
OVERLAP = 0.5
"""Of detectors of any word, which find an object many times: boxes of one name that overlap by more
are one; ours to choose."""
SYNONYMS = {
    "airplane": "aeroplane",
    "couch": "sofa",
    "dining table": "diningtable",
    "motorcycle": "motorbike",
    "potted plant": "pottedplant",
    "tv": "tvmonitor",
}
"""Names of MS COCO as some detectors spell them."""


class DetectorEye:
    """Boxes of the objects that a prompt names.

    Detectors with classes of their own (DETR, RT-DETR, D-FINE, ...) find those that are called so;
    detectors of any word (OWLv2, GroundingDINO, ...) are asked for each name by itself.

    Args:
        name: A detector, as for `pqpp_models.pretrained.fetch`.
        device: Where it shall run; the usual one if None.
        dtype: Of its numbers.
    """

    def __init__(self, name: str, device: str | None = None, dtype: str = "float32") -> None:
        self._loaded: Loaded = load_model(name, _class_of, "detector", device, dtype)
        self._is_open = _takes_words(self._loaded.model.config)
        self.told = self._loaded.told
        self.settings = {"dtype": dtype, "kept_above": KEPT_ABOVE}
        if self._is_open:
            self.settings["overlap"] = OVERLAP
        self._labels = list(getattr(self._loaded.model.config, "id2label", {}).values())

    @torch.inference_mode()
    def look(self, images: Sequence[Any], names: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Return for each image the boxes, in shares of its sides, and what each name is called."""
        if self._is_open:
            return [self._looked_for(image, own) for image, own in zip(images, names, strict=True)]
        seen = []
        for image, own in zip(images, names, strict=True):
            labels = {name: label_of(name, self._labels) for name in own}
            wanted = set(labels.values())
            boxes = [box for box in self._detected(image) if box["label"] in wanted]
            seen.append({"labels": labels, "boxes": boxes})
        return seen

    def _detected(self, image: Any) -> list[dict[str, Any]]:
        # Images of a batch would be padded to one size, which moves boxes.
        model, processor = self._loaded.model, self._loaded.processor
        inputs = self._moved(processor(images=image, return_tensors="pt"))
        (found,) = processor.post_process_object_detection(
            model(**inputs), threshold=KEPT_ABOVE, target_sizes=[(1, 1)]
        )
        named = [model.config.id2label[int(label)] for label in found["labels"]]
        return _boxes(found, named)

    def _looked_for(self, image: Any, names: Sequence[str]) -> dict[str, Any]:
        boxes = []
        for name in names:  # asked together, the names of some detectors run into one
            boxes += apart(self._found(image, name))
        return {"labels": {name: name for name in names}, "boxes": boxes}

    def _found(self, image: Any, name: str) -> list[dict[str, Any]]:
        model, processor = self._loaded.model, self._loaded.processor
        is_grounded = "dino" in model.config.model_type
        text = f"{name}." if is_grounded else [[f"a photo of a {name}"]]
        inputs = self._moved(processor(images=image, text=text, return_tensors="pt"))
        outputs = model(**inputs)
        options: dict[str, Any] = {"threshold": KEPT_ABOVE, "target_sizes": [(1, 1)]}
        if is_grounded:
            options |= {"input_ids": inputs["input_ids"], "text_threshold": KEPT_ABOVE}
        (found,) = processor.post_process_grounded_object_detection(outputs, **options)
        return _boxes(found, [name] * len(found["scores"]))

    def _moved(self, inputs: Any) -> dict[str, Any]:
        model = self._loaded.model
        return {
            key: value.to(model.device, model.dtype if value.is_floating_point() else value.dtype)
            for key, value in inputs.items()
        }


def _class_of(config: Any) -> str:
    return f"AutoModelFor{'ZeroShotObjectDetection' if _takes_words(config) else 'ObjectDetection'}"


def _takes_words(config: Any) -> bool:
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES as OPEN,
    )

    return config.model_type in OPEN


def _boxes(found: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return boxes as plain values, the best first; equal ones in the order of their places."""
    boxes = [
        {
            "label": name,
            "score": float(score),
            "box": np.clip(box.float().cpu().numpy(), 0, 1).tolist(),
        }
        for name, score, box in zip(names, found["scores"], found["boxes"], strict=True)
    ]
    return sorted(boxes, key=lambda one: (-one["score"], one["label"], one["box"]))


def apart(boxes: Sequence[dict[str, Any]], overlap: float = OVERLAP) -> list[dict[str, Any]]:
    """Return boxes without those that overlap a better one.

    Args:
        boxes: With `score` and `box` (left, top, right, bottom), the best first.
        overlap: The intersection over union from which on the worse one is left out.

    Example:
        >>> boxes = [{"box": [0, 0, 1, 1]}, {"box": [0, 0, 1, 0.9]}, {"box": [2, 2, 3, 3]}]
        >>> [one["box"] for one in apart(boxes)]
        [[0, 0, 1, 1], [2, 2, 3, 3]]
    """
    kept: list[dict[str, Any]] = []
    for one in boxes:
        if all(_overlap(one["box"], other["box"]) <= overlap for other in kept):
            kept.append(one)
    return kept


def _overlap(one: Sequence[float], other: Sequence[float]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return width * height / (sum(areas) - width * height)


def label_of(name: str, labels: Sequence[str]) -> str | None:
    """Return what a detector calls an object; None where it has no such class.

    Example:
        >>> label_of("couch", ["person", "Sofa"]), label_of("hat", ["person", "N/A"])
        ('Sofa', None)
    """
    known = {label.strip().lower(): label for label in labels}
    return known.get(name) or known.get(SYNONYMS.get(name, ""))
