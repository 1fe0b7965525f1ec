"""The models that VISTAR's scores look with, each loaded once and shared by the scores."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.score import asked, listed
from pqpp_files.extras import needing
from pqpp_models.pretrained import Loaded, Model, load_model

if TYPE_CHECKING:
    from pqpp_feedback.assess.detector import DetectorEye

Timed = Callable[[str], AbstractContextManager[None]]
_KEPT = 32  # what was seen of the last images is kept for the next score
_LONGEST = 1024
"""Pixels of the longer side at which masks and depth are made."""

ROLES: Mapping[str, tuple[str, str]] = {
    "detector": ("IDEA-Research/grounding-dino-tiny", "any detector"),
    "segmenter": ("facebook/sam-vit-base", "AutoModelForMaskGeneration"),
    "depth": (
        "depth-anything/Depth-Anything-V2-Metric-Indoor-Small-hf",
        "AutoModelForDepthEstimation",
    ),
    "similarity": ("openai/clip-vit-large-patch14", "AutoModel"),
    "features": ("facebook/dinov2-base", "AutoModel"),
    "pose": ("usyd-community/vitpose-base-simple", "VitPoseForPoseEstimation"),
    "expression": ("trpakov/vit-face-expression", "AutoModelForImageClassification"),
    "anomaly": ("microsoft/resnet-18", "AutoModel"),
}
"""Role to the model's usual name and to its class in transformers."""


@dataclass
class Objects:
    """The objects of an image: `label`, `score`, `box` in shares; masks (n, height, width)."""

    seen: list[dict[str, Any]]
    masks: NDArray[np.bool_]


@dataclass
class Sight:
    """Models by role, loaded when a score first asks for one.

    Attributes:
        names: Role to the name of a folder or a repository, where it is not the usual one.
        device: Where they run; a GPU if there is one, if None.
        dtype: Of their numbers.

    Example:
        >>> Sight({"depth": "my/depth"}).names
        {'depth': 'my/depth'}
    """

    names: Mapping[str, str] = field(default_factory=dict)
    device: str | None = None
    dtype: str = "float32"
    _loaded: dict[str, Loaded] = field(default_factory=dict, repr=False)
    _detector: DetectorEye | None = field(default=None, repr=False)
    _seen: OrderedDict[tuple[str, str], Any] = field(default_factory=OrderedDict, repr=False)

    def __post_init__(self) -> None:
        for role in self.names:
            if role not in ROLES:
                raise AssessError(
                    f"{role!r} is no role of a model; choose among {', '.join(ROLES)}"
                )

    def model(self, role: str) -> Loaded:
        """Return the model of a role, loaded at first use.

        Raises:
            AssessError: It cannot be had, in one line.
        """
        if role not in self._loaded:
            usual, kind = ROLES[role]
            name = self.names.get(role) or usual
            self._loaded[role] = load_model(name, kind, role, self.device, self.dtype)
        return self._loaded[role]

    def told(self, *roles: str) -> dict[str, Model]:
        """Return the names and revisions of roles, which are loaded."""
        return {
            role: self.detector.told if role == "detector" else self.model(role).told
            for role in roles
        }

    def objects(self, image: Any, picture: Picture, timed: Timed) -> Objects:
        """Return an image's objects: of the words that the prompt lists, else of usual ones.

        Args:
            image: RGB, of PIL.
            picture: Its column or parameter `objects` may list the words.
            timed: Of the score that looks.
        """
        words = listed(asked(picture, "objects")) or choices("sight")["usual_objects"]
        key = "\n".join(words)
        return self._once(f"objects {key}", picture, lambda: self._objects(image, words, timed))

    def depth(self, image: Any, picture: Picture, timed: Timed) -> NDArray[np.float64]:
        """Return (height, width), the distance of each pixel along the view."""
        return self._once("depth", picture, lambda: self._depth(image, timed))

    def _once(self, what: str, picture: Picture, look: Callable[[], Any]) -> Any:
        key = (what, str(picture.path))
        if key not in self._seen:
            self._seen[key] = look()
            while len(self._seen) > _KEPT:
                self._seen.popitem(last=False)
        return self._seen[key]

    def _objects(self, image: Any, words: Sequence[str], timed: Timed) -> Objects:
        image = smaller(image)
        found = self.detect(image, words, timed)[: choices("sight")["most_objects"]]
        masks, sure = self.segment(image, [one["box"] for one in found], timed)
        seen = [{**one, "score": one["score"] * own} for one, own in zip(found, sure, strict=True)]
        return Objects(seen, masks)

    @property
    def detector(self) -> DetectorEye:
        """What finds boxes, loaded at first use."""
        if self._detector is None:
            name = self.names.get("detector") or ROLES["detector"][0]
            with needing("pqpp assess", "assess"):
                from pqpp_feedback.assess.detector import DetectorEye
            self._detector = DetectorEye(name, self.device, self.dtype)
        return self._detector

    def detect(self, image: Any, words: Sequence[str], timed: Timed) -> list[dict[str, Any]]:
        """Return boxes of some words, the surest first: `label`, `score`, `box` in shares."""
        from pqpp_feedback.assess.detector import apart

        chosen = choices("sight")
        with timed("detector"):
            (seen,) = self.detector.look([image], [list(words)])
        sure = [one for one in seen["boxes"] if one["score"] >= chosen["least_score"]]
        # An object that is found as several things is one object.
        return apart(sorted(sure, key=lambda one: -one["score"]))

    def segment(
        self, image: Any, shares: Sequence[Sequence[float]], timed: Timed
    ) -> tuple[NDArray[np.bool_], list[float]]:
        """Return the mask of what each box holds, and how sure the model is of it, in [0, 1]."""
        import torch

        boxes = in_pixels(shares, image.size)
        if not len(boxes):
            return np.zeros((0, *image.size[::-1]), bool), []
        segmenter = self.model("segmenter")
        with timed("segmenter"), torch.inference_mode():
            inputs = segmenter.processor(
                images=image, input_boxes=[boxes.tolist()], return_tensors="pt"
            )
            outputs = segmenter.model(**_placed(inputs, segmenter), multimask_output=False)
            sizes = [
                inputs[name]
                for name in ("original_sizes", "reshaped_input_sizes")
                if name in inputs
            ]
            masks = segmenter.processor.post_process_masks(
                outputs.pred_masks.cpu().float(), *sizes
            )[0]
        sure = outputs.iou_scores.float().cpu().reshape(-1).clamp(0, 1).tolist()
        return masks[:, 0].numpy().astype(bool), sure

    def _depth(self, image: Any, timed: Timed) -> NDArray[np.float64]:
        import torch

        image, depth = smaller(image), self.model("depth")
        with timed("depth"), torch.inference_mode():
            inputs = depth.processor(images=image, return_tensors="pt")
            outputs = depth.model(**_placed(inputs, depth))
            found = depth.processor.post_process_depth_estimation(
                outputs, target_sizes=[image.size[::-1]]
            )[0]["predicted_depth"]
        values = found.float().cpu().numpy().astype(float)
        if is_distance(depth.model.config):
            return np.maximum(values, 1e-6)
        # Nearness, up to scale and shift: what is nearest is taken to be at 1.
        near = np.clip(values / max(float(values.max()), 1e-6), 0, 1)
        return 1 / (near + choices("sight")["far_nearness"])

    def similarity(
        self, images: Sequence[Any], texts: Sequence[str], timed: Timed
    ) -> NDArray[np.float64]:
        """Return CLIP's cosines, a row an image, a column a text; each is embedded by itself."""
        clip = self.model("similarity")
        with timed("similarity"):
            pictures = [self._embedded(clip, image) for image in images]
            words = [self._embedded(clip, text) for text in texts]
        return np.array(pictures) @ np.array(words).T

    def _embedded(self, clip: Loaded, one: Any) -> NDArray[np.float64]:
        import torch

        from pqpp_models.images.backbone import embed_pixels, embed_tokens
        from pqpp_models.images.embedding import pixels_of, tokens_of

        with torch.inference_mode():
            if isinstance(one, str):
                tokens = tokens_of(clip.processor, [one], clip.model.config)
                placed = {name: value.to(clip.device) for name, value in tokens.items()}
                found = embed_tokens(clip.model, **placed)
            else:
                pixels = pixels_of(clip.processor, [one]).to(clip.device, clip.model.dtype)
                found = embed_pixels(clip.model, pixels)
        vector = found[0].double().cpu().numpy()
        return vector / max(np.linalg.norm(vector), 1e-12)

    def subject(self, image: Any, subject: str, timed: Timed) -> NDArray[np.float64] | None:
        """Return the features of the surest find of a subject, cut out; None without a find."""
        import torch

        image = smaller(image)
        found = self.detect(image, [subject], timed)[:1]
        if not found:
            return None
        masks, _ = self.segment(image, [found[0]["box"]], timed)
        cut = _cut_out(image, in_pixels([found[0]["box"]], image.size)[0], masks[0])
        if cut is None:
            return None
        features = self.model("features")
        with timed("features"), torch.inference_mode():
            inputs = features.processor(images=cut, return_tensors="pt")
            found = features.model(**_placed(inputs, features)).pooler_output
        return found[0].double().cpu().numpy().reshape(-1)

    def features(self, image: Any, timed: Timed) -> NDArray[np.float64]:
        """Return (places, features): early layers of a network of images, as PaDiM takes them."""
        import torch

        chosen, anomaly = choices("geometry"), self.model("anomaly")
        side = chosen["anomaly_grid"]
        with timed("anomaly"), torch.inference_mode():
            inputs = anomaly.processor(images=image, return_tensors="pt")
            layers = anomaly.model(**_placed(inputs, anomaly), output_hidden_states=True)
            maps = [one.float() for one in layers.hidden_states[1:4]]
            resized = [
                torch.nn.functional.interpolate(one, (side, side), mode="bilinear") for one in maps
            ]
        found = torch.cat(resized, 1)[0].flatten(1).T.double().cpu().numpy()
        kept = np.random.default_rng(0).permutation(found.shape[1])
        return found[:, np.sort(kept[: chosen["anomaly_features"]])]

    def people(self, image: Any, timed: Timed) -> list[dict[str, Any]]:
        """Return the people: `label`, `score`, `box`, `keypoints` in pixels, `expression`."""
        import torch

        image = smaller(image)
        seen = self.detect(image, ["person"], timed)
        if not seen:
            return []
        pose, boxes = self.model("pose"), in_pixels([one["box"] for one in seen], image.size)
        sides = np.column_stack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]])
        with timed("pose"), torch.inference_mode():
            inputs = pose.processor(image, boxes=[sides.tolist()], return_tensors="pt")
            outputs = pose.model(**_placed(inputs, pose))
            found = pose.processor.post_process_pose_estimation(outputs, boxes=[sides.tolist()])[0]
        people = []
        for person, one in zip(seen, found, strict=True):
            points, sure = (one[name].float().cpu().numpy() for name in ("keypoints", "scores"))
            keypoints = np.column_stack([points, sure]).tolist()
            expression = self._expression(image, keypoints, timed)
            people.append({**person, "keypoints": keypoints, "expression": expression})
        return people

    def _expression(self, image: Any, keypoints: list, timed: Timed) -> str | None:
        import torch

        box = face_box(keypoints, image.size)
        if box is None:
            return None
        model = self.model("expression")
        with timed("expression"), torch.inference_mode():
            inputs = model.processor(images=image.crop(box), return_tensors="pt")
            logits = model.model(**_placed(inputs, model)).logits
        return str(model.model.config.id2label[int(logits.argmax())]).lower()


def face_box(
    keypoints: Sequence[Sequence[float]], size: tuple[int, int]
) -> tuple[int, int, int, int] | None:
    """Return the box of a face around its sure keypoints; None where too few are seen.

    Args:
        keypoints: Of a person, in COCO's order: the first five are nose, eyes and ears.
        size: Width and height of the image.

    Example:
        >>> face = [(50, 52, 1), (54, 48, 1), (46, 48, 1), (60, 50, 0), (40, 50, 0)]
        >>> face_box([*face, *[(0, 0, 0)] * 12], (100, 100))
        (34, 34, 66, 66)
    """
    chosen = choices("characters")
    sure = np.array([point for point in keypoints[:5] if point[2] >= chosen["least_keypoint"]])
    if len(sure) < chosen["least_face"]:
        return None
    low, high = sure[:, :2].min(0), sure[:, :2].max(0)
    half = chosen["face_share"] * max(float((high - low).max()), 1.0)
    left, top = np.maximum((low + high) / 2 - half, 0).round().astype(int)
    right, bottom = np.minimum((low + high) / 2 + half, size).round().astype(int)
    return (int(left), int(top), int(right), int(bottom)) if right > left and bottom > top else None


def _cut_out(image: Any, box: NDArray[np.float64], mask: NDArray[np.bool_]) -> Any:
    """Return what a mask shows within a box, the rest in grey; None where that is nothing."""
    from PIL import Image

    left, top = np.floor(box[:2]).astype(int)
    right, bottom = np.ceil(box[2:]).astype(int)
    own = mask[top:bottom, left:right]
    if not own.any():
        return None
    pixels = np.where(own[..., None], np.asarray(image)[top:bottom, left:right], 128)
    return Image.fromarray(pixels.astype(np.uint8))


def in_pixels(shares: Sequence[Sequence[float]], size: tuple[int, int]) -> NDArray[np.float64]:
    """Return boxes (n, 4) in pixels, at least one wide and high, of boxes in shares of the sides.

    Example:
        >>> in_pixels([[0, 0.5, 0.5, 0.5]], (10, 20)).tolist()
        [[0.0, 10.0, 5.0, 11.0]]
    """
    boxes = np.array(shares, dtype=float).reshape(-1, 4) * [*size, *size]
    boxes[:, :2] = np.minimum(boxes[:, :2], np.array(size) - 1)
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    return boxes


def is_distance(config: Any) -> bool:
    """Return whether a model of depth tells distances; most others tell nearness.

    Example:
        >>> from types import SimpleNamespace as Made
        >>> is_distance(Made(depth_estimation_type="metric"))
        True
    """
    kind = getattr(config, "depth_estimation_type", None)
    return kind == "metric" or (
        kind is None and config.model_type in ("depth_pro", "glpn", "zoedepth")
    )


def smaller(image: Any) -> Any:
    """Return an image whose longer side has at most 1,024 pixels.

    Example:
        >>> from PIL import Image
        >>> smaller(Image.new("RGB", (2048, 512))).size
        (1024, 256)
    """
    from PIL import Image

    longest = max(image.size)
    if longest <= _LONGEST:
        return image
    size = [max(1, round(side * _LONGEST / longest)) for side in image.size]
    return image.resize(size, Image.Resampling.BICUBIC)


def _placed(inputs: Any, loaded: Loaded) -> dict[str, Any]:
    """Return a processor's tensors on the model's device, pixels in its dtype."""
    import torch

    kind = getattr(torch, loaded.dtype)
    return {
        name: value.to(loaded.device, kind)
        if value.is_floating_point()
        else value.to(loaded.device)
        for name, value in inputs.items()
        if name not in ("original_sizes", "reshaped_input_sizes")
    }
