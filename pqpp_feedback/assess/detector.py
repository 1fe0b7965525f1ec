"""Object detectors with fixed classes or an open vocabulary."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pqpp_backbones.pretrained import LoadedModel, load_model
from pqpp_feedback.assess.values import OVERLAP, nms

MIN_SCORE = 0.05  # the lowest score of a stored box; routines use higher thresholds
# Other spellings of MS COCO's names in some detectors, and irregular plurals.
SYNONYMS = {
    **{"people": "person", "mice": "mouse", "knives": "knife"},
    **{"airplane": "aeroplane", "couch": "sofa", "dining table": "diningtable"},
    **{"motorcycle": "motorbike", "potted plant": "pottedplant", "tv": "tvmonitor"},
}


class Detector:
    """A detector of the objects that a prompt names.

    Detectors with fixed classes (DETR, RT-DETR, D-FINE, ...) use the classes that match the names;
    detectors with an open vocabulary (OWLv2, GroundingDINO, ...) search for each name separately.

    Args:
        name: Name or path of the detector, for `pqpp_backbones.pretrained.fetch_model`.
        device: The device; None for the default.
    """

    def __init__(self, name: str, device: str | None = None, dtype: str = "float32") -> None:

        def get_class(config: Any) -> str:
            return f"AutoModelFor{'ZeroShot' if _is_open_set(config) else ''}ObjectDetection"

        self._loaded: LoadedModel = load_model(name, get_class, "detector", device, dtype)
        config = self._loaded.model.config
        self._is_open = _is_open_set(config)
        self.identity = self._loaded.identity
        self.settings: dict[str, Any] = {"dtype": dtype, "kept_above": MIN_SCORE}
        if self._is_open:
            self.settings["overlap"] = OVERLAP
        self._labels = list(getattr(config, "id2label", {}).values())

    @torch.inference_mode()
    def observe(self, images: Sequence[Any], names: Sequence[list[str]]) -> list[dict[str, Any]]:
        """Return each image's `boxes`, as fractions of its sides, and the `labels` of the names."""
        evidence, config = [], self._loaded.model.config
        is_grounded = "dino" in config.model_type
        for image, object_names in zip(images, names, strict=True):
            labels: dict[str, str | None] = {name: name for name in object_names}
            boxes: list[dict[str, Any]] = []
            for name in object_names if self._is_open else ():  # separately: some merge names
                text = f"{name}." if is_grounded else [[f"a photo of a {name}"]]
                answer = self._run_model(image, text, is_grounded)
                boxes += nms(make_boxes(answer, [name] * len(answer["scores"]), image.size))
            if not self._is_open:
                labels = {name: find_label(name, self._labels) for name in object_names}
                answer = self._run_model(image)  # alone: padding in a batch would move boxes
                classes = [config.id2label[int(number)] for number in answer["labels"]]
                boxes = make_boxes(answer, classes, image.size)
                boxes = [box for box in boxes if box["label"] in labels.values()]
            evidence.append({"labels": labels, "boxes": boxes})
        return evidence

    def _run_model(self, image: Any, text: Any = None, is_grounded: bool = False) -> Any:
        """Return the post-processed outputs of the model, boxes in pixels."""
        model, processor = self._loaded.model, self._loaded.processor
        text_input = {} if text is None else {"text": text}
        prepared = processor(images=image, return_tensors="pt", **text_input)
        inputs = move_to_device(prepared, self._loaded)
        options: dict[str, Any] = {"threshold": MIN_SCORE, "target_sizes": [image.size[::-1]]}
        if is_grounded:
            options |= {"input_ids": inputs["input_ids"], "text_threshold": MIN_SCORE}
        prefix = "" if text is None else "grounded_"
        post_process = getattr(processor, f"post_process_{prefix}object_detection")
        return post_process(model(**inputs), **options)[0]


def move_to_device(inputs: Any, loaded: LoadedModel) -> dict[str, Any]:
    """Return a processor's tensors on the model's device, with floats in the model's dtype."""
    dtype = getattr(torch, loaded.dtype)
    return {
        name: value.to(loaded.device, dtype if value.is_floating_point() else value.dtype)
        for name, value in inputs.items()
    }


def _is_open_set(config: Any) -> bool:
    from transformers.models.auto import modeling_auto

    return config.model_type in modeling_auto.MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES


def make_boxes(answer: Any, names: Sequence[str], size: tuple[int, int]) -> list[dict[str, Any]]:
    """Return boxes as plain values, sorted by descending score, then by label and position.

    Boxes outside the image, such as in its padding, are left out.

    Args:
        answer: `scores` (n,) and `boxes` (n, 4) in pixels, tensors.
        names: The label of each box.
        size: Width and height of the image.

    Example:
        >>> answer = {"scores": torch.tensor([0.9]), "boxes": torch.tensor([[0, 2, 10, 30.0]])}
        >>> make_boxes(answer, ["cat"], (10, 20))[0]["box"]
        [0.0, 0.10000000149011612, 1.0, 1.0]
    """
    fractions = answer["boxes"].float().cpu().numpy() / np.array([*size, *size], np.float32)
    boxes = [
        {"label": name, "score": float(score), "box": box.tolist()}
        for name, score, box in zip(names, answer["scores"], fractions.clip(0, 1), strict=True)
        if (box[:2] < box[2:]).all()
    ]
    return sorted(boxes, key=lambda box: (-box["score"], box["label"], box["box"]))


def find_label(name: str, labels: Sequence[str]) -> str | None:
    """Return a detector's label for an object; None if the detector has no such class.

    Example:
        >>> find_label("couches", ["person", "Sofa"]), find_label("hat", ["person", "N/A"])
        ('Sofa', None)
    """
    labels_by_name = {label.strip().lower(): label for label in labels}
    singulars = (name, *map(name.removesuffix, ("s", "es")), name.removesuffix("ies") + "y")
    names = (name for singular in singulars for name in (singular, SYNONYMS.get(singular)))
    return next((labels_by_name[name] for name in names if name in labels_by_name), None)
