"""Object detectors with fixed classes or an open vocabulary."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pqpp_backbones.pretrained import LoadedModel, load_model
from pqpp_feedback.assess.values import OVERLAP, nms

KEPT_ABOVE = 0.05  # the lowest score of a stored box; routines use higher thresholds
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
        kinds = ("ObjectDetection", "ZeroShotObjectDetection")
        self._loaded: LoadedModel = load_model(
            name, lambda it: f"AutoModelFor{kinds[_is_open_set(it)]}", "detector", device, dtype
        )
        config = self._loaded.model.config
        self._is_open = _is_open_set(config)
        self.identity = self._loaded.identity
        self.settings: dict[str, Any] = {"dtype": dtype, "kept_above": KEPT_ABOVE}
        if self._is_open:
            self.settings["overlap"] = OVERLAP
        self._labels = list(getattr(config, "id2label", {}).values())

    @torch.inference_mode()
    def observe(self, images: Sequence[Any], names: Sequence[list[str]]) -> list[dict[str, Any]]:
        """Return each image's `boxes`, as fractions of its sides, and the `labels` of the names."""
        seen, config = [], self._loaded.model.config
        is_grounded = "dino" in config.model_type
        for image, asked in zip(images, names, strict=True):
            labels: dict[str, str | None] = {name: name for name in asked}
            boxes: list[dict[str, Any]] = []
            for name in asked if self._is_open else ():  # some detectors merge adjacent names
                text = f"{name}." if is_grounded else [[f"a photo of a {name}"]]
                answer = self._run_model(image, text, is_grounded)
                boxes += nms(make_boxes(answer, [name] * len(answer["scores"]), image.size))
            if not self._is_open:
                labels = {name: find_label(name, self._labels) for name in asked}
                answer = self._run_model(image)  # in a batch images are padded, which moves boxes
                classes = [config.id2label[int(number)] for number in answer["labels"]]
                boxes = make_boxes(answer, classes, image.size)
                boxes = [box for box in boxes if box["label"] in labels.values()]
            seen.append({"labels": labels, "boxes": boxes})
        return seen

    def _run_model(self, image: Any, text: Any = None, is_grounded: bool = False) -> Any:
        """Return the post-processed outputs of the model, boxes in pixels."""
        model, processor = self._loaded.model, self._loaded.processor
        asked = {} if text is None else {"text": text}
        prepared = processor(images=image, return_tensors="pt", **asked)
        inputs = move_to_device(prepared, self._loaded)
        options: dict[str, Any] = {"threshold": KEPT_ABOVE, "target_sizes": [image.size[::-1]]}
        if is_grounded:
            options |= {"input_ids": inputs["input_ids"], "text_threshold": KEPT_ABOVE}
        kind = "" if text is None else "grounded_"
        read = getattr(processor, f"post_process_{kind}object_detection")
        return read(model(**inputs), **options)[0]


def move_to_device(inputs: Any, loaded: LoadedModel) -> dict[str, Any]:
    """Return a processor's tensors on the model's device, with floats in the model's dtype."""
    kind = getattr(torch, loaded.dtype)
    return {
        name: value.to(loaded.device, kind if value.is_floating_point() else value.dtype)
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
        >>> found = {"scores": torch.tensor([0.9]), "boxes": torch.tensor([[0, 2, 10, 30.0]])}
        >>> make_boxes(found, ["cat"], (10, 20))[0]["box"]
        [0.0, 0.10000000149011612, 1.0, 1.0]
    """
    shares = answer["boxes"].float().cpu().numpy() / np.array([*size, *size], np.float32)
    boxes = [
        {"label": name, "score": float(score), "box": box.tolist()}
        for name, score, box in zip(names, answer["scores"], shares.clip(0, 1), strict=True)
        if (box[:2] < box[2:]).all()
    ]
    return sorted(boxes, key=lambda box: (-box["score"], box["label"], box["box"]))


def find_label(name: str, labels: Sequence[str]) -> str | None:
    """Return a detector's label for an object; None if the detector has no such class.

    Example:
        >>> find_label("couches", ["person", "Sofa"]), find_label("hat", ["person", "N/A"])
        ('Sofa', None)
    """
    known = {label.strip().lower(): label for label in labels}
    singulars = (name, *map(name.removesuffix, ("s", "es")), name.removesuffix("ies") + "y")
    names = (other for one in singulars for other in (one, SYNONYMS.get(one)))
    return next((known[one] for one in names if one in known), None)
