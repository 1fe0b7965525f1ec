"""The vision models of VISTAR's scores, each loaded once and shared by the scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from pqpp_backbones.pretrained import load_model
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.assess.values import nms, parse_list, to_unit
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.vistar.choices import get_param, load_params
from pqpp_files.extras import require_extra

# Outputs of the processor for the post-processing, which the model does not accept.
_SIZES = ("original_sizes", "reshaped_input_sizes")
_CACHE_SIZE = 32  # results of the last images, which the next score reuses
_MAX_SIDE = 1024  # pixels of the longer side of images for masks and depth

_DEPTH = "depth-anything/Depth-Anything-V2-Metric-Indoor-Small-hf"
# The default model and its class in transformers, by role.
ROLES: Mapping[str, tuple[str, str]] = {
    "detector": ("IDEA-Research/grounding-dino-tiny", "any detector"),
    "segmenter": ("facebook/sam-vit-base", "AutoModelForMaskGeneration"),
    "depth": (_DEPTH, "AutoModelForDepthEstimation"),
    "similarity": ("openai/clip-vit-large-patch14", "AutoModel"),
    "features": ("facebook/dinov2-base", "AutoModel"),
    "pose": ("usyd-community/vitpose-base-simple", "VitPoseForPoseEstimation"),
    "expression": ("trpakov/vit-face-expression", "AutoModelForImageClassification"),
}


Masks = NDArray[np.bool_]
Objects = tuple[list[dict[str, Any]], Masks]


@dataclass
class Vision:
    """Vision models by role, loaded at first use.

    Attributes:
        names: Folders or repositories by role; roles that are not named have the default model.
        device: The device; default: a GPU if available.

    Example:
        >>> Vision({"depth": "my/depth"}).names
        {'depth': 'my/depth'}
    """

    names: Mapping[str, str] = field(default_factory=dict)
    device: str | None = None
    dtype: str = "float32"
    _loaded: dict[str, Any] = field(default_factory=dict, repr=False)
    _cached: dict[tuple[str, str, str], Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if unknown := set(self.names) - set(ROLES):
            known = ", ".join(ROLES)
            raise FeedbackError(f"`model` has no role {min(unknown)!r}; choose one of {known}")

    def get_model(self, role: str) -> Any:
        """Return the model of a role, loaded at first use: `LoadedModel`, or a `Detector`.

        Raises:
            ModelError: The model is not available.
        """
        if role not in self._loaded:
            default_name, kind = ROLES[role]
            name = self.names.get(role) or default_name
            if role == "detector":
                with require_extra("pqpp assess", "assess"):
                    from pqpp_feedback.assess.detector import Detector
                self._loaded[role] = Detector(name, self.device, self.dtype)
            else:
                self._loaded[role] = load_model(name, kind, role, self.device, self.dtype)
        return self._loaded[role]

    def find_objects(self, image: Any, picture: Picture) -> Objects:
        """Return an image's objects: those in the prompt's list, or else common ones.

        Args:
            image: An RGB image (PIL).
            picture: The picture, whose column or parameter `objects` can list objects.

        Returns:
            Each object's `label`, `score` and `box` as fractions of the sides, and masks (n,
            height, width).
        """
        words = parse_list(get_param(picture, "objects")) or load_params("vision")["usual_objects"]
        key = "\n".join(words)

        def detect_objects() -> Objects:
            shrunk = shrink_image(image)
            boxes = self.detect(shrunk, words)[: load_params("vision")["most_objects"]]
            masks, confidences = self.segment(shrunk, [box["box"] for box in boxes])
            pairs = zip(boxes, confidences, strict=True)
            return [{**box, "score": box["score"] * iou} for box, iou in pairs], masks

        return self._cache(f"objects {key}", picture, detect_objects)

    def estimate_depth(self, image: Any, picture: Picture) -> NDArray[np.float64]:
        """Return the distance of each pixel along the view, (height, width).

        Raises:
            FeedbackError: The depth is the same everywhere.
        """
        return self._cache("depth", picture, lambda: self._compute_depth(shrink_image(image)))

    def _cache(self, name: str, picture: Picture, compute: Callable[[], Any]) -> Any:
        key = (name, str(picture.path), picture.image_id)  # images in memory have no path
        if key not in self._cached:
            self._cached[key] = compute()
            if len(self._cached) > _CACHE_SIZE:
                del self._cached[next(iter(self._cached))]
        return self._cached[key]

    def _run_model(self, role: str, inputs: dict[str, Any], **options: Any) -> tuple[Any, Any]:
        """Return a role's processed inputs and the model's outputs."""
        import torch

        from pqpp_feedback.assess.detector import move_to_device

        loaded = self.get_model(role)
        with torch.inference_mode():
            prepared = loaded.processor(**inputs, return_tensors="pt")
            tensors = {name: prepared[name] for name in prepared if name not in _SIZES}
            return prepared, loaded.model(**move_to_device(tensors, loaded), **options)

    def detect(self, image: Any, words: Sequence[str]) -> list[dict[str, Any]]:
        """Return the boxes of named objects, best first: `label`, `score`, `box` as fractions."""
        (evidence,) = self.get_model("detector").observe([image], [list(words)])
        min_score = load_params("vision")["least_score"]
        confident = [box for box in evidence["boxes"] if box["score"] >= min_score]
        # Boxes of the same object under several names are one object.
        return nms(sorted(confident, key=lambda box: -box["score"]))

    def segment(self, image: Any, boxes: Sequence[Sequence[float]]) -> tuple[Masks, list[float]]:
        """Return the mask of the object in each box, and the model's confidences in [0, 1]."""
        scaled = scale_boxes(boxes, image.size)
        if not len(scaled):
            return np.zeros((0, *image.size[::-1]), bool), []
        prompt_inputs = {"images": image, "input_boxes": [scaled.tolist()]}
        inputs, outputs = self._run_model("segmenter", prompt_inputs, multimask_output=False)
        sizes = [inputs[name] for name in _SIZES if name in inputs]
        processor = self.get_model("segmenter").processor
        masks = processor.post_process_masks(outputs.pred_masks.cpu().float(), *sizes)[0]
        confidences = outputs.iou_scores.float().cpu().reshape(-1).clamp(0, 1).tolist()
        return masks[:, 0].numpy().astype(bool), confidences

    def _compute_depth(self, image: Any) -> NDArray[np.float64]:
        loaded, (_, outputs) = self.get_model("depth"), self._run_model("depth", {"images": image})
        sizes = [image.size[::-1]]
        (depths,) = loaded.processor.post_process_depth_estimation(outputs, target_sizes=sizes)
        values = depths["predicted_depth"].float().cpu().numpy().astype(float)
        if predicts_distance(loaded.model.config):
            values = np.maximum(values, 1e-6)
        else:  # nearness, up to scale and shift; the nearest point is assumed at distance 1
            nearness = np.clip(values / max(float(values.max()), 1e-6), 0, 1)
            values = 1 / (nearness + load_params("vision")["far_nearness"])
        if not np.ptp(values) > 1e-5 * values.mean():
            raise FeedbackError("the depth model predicts the same distance for all pixels")
        return values

    def compare(self, images: Sequence[Any], texts: Sequence[str]) -> NDArray[np.float64]:
        """Return CLIP's cosines of images and texts, one row per image and one column per text."""
        from pqpp_backbones.images.embedding import embed_images, embed_prompts

        clip = self.get_model("similarity")
        image_vectors = to_unit(embed_images(clip.model, clip.processor, images, 1))
        return image_vectors @ to_unit(embed_prompts(clip.model, clip.processor, texts, 1)).T

    def embed_subject(self, image: Any, subject: str) -> NDArray[np.float64] | None:
        """Return the features of the best detection of a subject; None without one."""
        image = shrink_image(image)
        boxes = [box["box"] for box in self.detect(image, [subject])[:1]]
        if not boxes:
            return None
        masks, _ = self.segment(image, boxes)
        (box,) = scale_boxes(boxes, image.size)
        (left, top), (right, bottom) = np.floor(box[:2]).astype(int), np.ceil(box[2:]).astype(int)
        inside = masks[0, top:bottom, left:right]
        if not inside.any():
            return None
        # The background is grey.
        pixels = np.where(inside[..., None], np.asarray(image)[top:bottom, left:right], 128)
        crop = Image.fromarray(pixels.astype(np.uint8))
        _, outputs = self._run_model("features", {"images": crop})
        return outputs.pooler_output[0].double().cpu().numpy().reshape(-1)

    def find_people(self, image: Any) -> list[dict[str, Any]]:
        """Return the people: `label`, `score`, `box`, `keypoints` (in pixels) and `expression`."""
        image = shrink_image(image)
        detections = self.detect(image, ["person"])
        if not detections:
            return []
        boxes = scale_boxes([person["box"] for person in detections], image.size)
        sides = [np.column_stack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]]).tolist()]
        _, outputs = self._run_model("pose", {"images": image, "boxes": sides})
        post_process = self.get_model("pose").processor.post_process_pose_estimation
        people = []
        for person, pose in zip(detections, post_process(outputs, boxes=sides)[0], strict=True):
            points, scores = (pose[name].float().cpu().numpy() for name in ("keypoints", "scores"))
            keypoints = np.column_stack([points, scores]).tolist()
            expression = None
            if face_box := get_face_box(keypoints, image.size):
                _, face = self._run_model("expression", {"images": image.crop(face_box)})
                labels = self.get_model("expression").model.config.id2label
                expression = str(labels[int(face.logits.argmax())]).lower()
            people.append({**person, "keypoints": keypoints, "expression": expression})
        return people


def get_face_box(
    keypoints: Sequence[Sequence[float]], size: tuple[int, int]
) -> tuple[int, int, int, int] | None:
    """Return the box of a face from its reliable keypoints; None if there are too few.

    Args:
        keypoints: A person's keypoints in COCO's order: nose, eyes and ears come first.
        size: Width and height of the image.

    Example:
        >>> face = [(50, 52, 1), (54, 48, 1), (46, 48, 1), (60, 50, 0), (40, 50, 0)]
        >>> get_face_box([*face, *[(0, 0, 0)] * 12], (100, 100))
        (34, 34, 66, 66)
    """
    params = load_params("characters")
    reliable = np.array([point for point in keypoints[:5] if point[2] >= params["least_keypoint"]])
    if len(reliable) < params["least_face"]:
        return None
    low, high = reliable[:, :2].min(0), reliable[:, :2].max(0)
    half_side = params["face_share"] * max(float((high - low).max()), 1.0)
    left, top = np.maximum((low + high) / 2 - half_side, 0).round().astype(int)
    right, bottom = np.minimum((low + high) / 2 + half_side, size).round().astype(int)
    return (int(left), int(top), int(right), int(bottom)) if right > left and bottom > top else None


def scale_boxes(boxes: Sequence[Sequence[float]], size: tuple[int, int]) -> NDArray[np.float64]:
    """Convert boxes (n, 4) from fractions to pixels, at least one pixel wide and high.

    Example:
        >>> scale_boxes([[0, 0.5, 0.5, 0.5]], (10, 20)).tolist()
        [[0.0, 10.0, 5.0, 11.0]]
    """
    scaled = np.array(boxes, dtype=float).reshape(-1, 4) * [*size, *size]
    scaled[:, :2] = np.minimum(scaled[:, :2], np.array(size) - 1)
    scaled[:, 2:] = np.maximum(scaled[:, 2:], scaled[:, :2] + 1)
    return scaled


def predicts_distance(config: Any) -> bool:
    """Return whether a depth model predicts distance instead of nearness.

    Example:
        >>> from types import SimpleNamespace
        >>> predicts_distance(SimpleNamespace(depth_estimation_type="metric"))
        True
    """
    estimation_type = getattr(config, "depth_estimation_type", None)
    if estimation_type is None:
        return config.model_type in ("depth_pro", "glpn", "zoedepth")
    return estimation_type == "metric"


def shrink_image(image: Any) -> Any:
    """Scale an image down to a longer side of at most 1,024 pixels.

    Example:
        >>> from PIL import Image, ImageOps
        >>> shrink_image(Image.new("RGB", (2048, 512))).size
        (1024, 256)
    """
    if max(image.size) <= _MAX_SIDE:
        return image
    return ImageOps.contain(image, (_MAX_SIDE, _MAX_SIDE), Image.Resampling.BICUBIC)
