"""Geometry (GC): the worst of five cues.

The paper's sixth cue, PaDiM's anomaly score, needs flawless images, which the paper does not name.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, stats

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.vistar.choices import load_params
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.vision import shrink_image
from pqpp_files.extras import require_extra
from pqpp_metrics.functional.vistar import geometric_minimum


class Geometry(VistarScore):
    """The lowest of five cues, each scaled to [0, 1], as in VISTAR's section 3.3.6.

    Example:
        >>> from pathlib import Path
        >>> seen = {"normals": 0, "curvature": 0, "highlights": [1, 2], "contours": [0, 0]}
        >>> seen["texture"] = 1
        >>> Geometry().score(seen, Picture(Path("a.png"), "")).score
        0.5
    """

    angle = "GC"
    roles = ("depth",)

    def observe_image(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the raw cues."""
        pixels = np.asarray(shrink_image(image)) / 255.0
        return measure_cues(pixels, self.vision.estimate_depth(image, picture))

    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the lowest cue, and its name as the reason."""
        scores = scale_cues(evidence)
        lowest = float(geometric_minimum([[*scores.values(), 1.0]])[0])
        reason = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
        worst = min(scores, key=scores.__getitem__)
        return Verdict(None, lowest, f"lowest is {worst}: {reason}")


def measure_cues(pixels: np.ndarray, depth: np.ndarray) -> dict[str, Any]:
    """Return the five raw cues.

    Args:
        pixels: (height, width, 3), 0 to 1.
        depth: (height, width), distance along the view.

    Example:
        >>> found = measure_cues(np.zeros((32, 32, 3)), np.ones((32, 32)))  # flat and even
        >>> found["normals"], found["contours"][0]
        (0.0, 0)
    """
    return {
        "normals": measure_normals(depth),
        "curvature": measure_curvature(depth),
        "highlights": list(count_highlights(pixels)),
        "contours": list(count_contours(pixels)),
        "texture": measure_patterns(pixels),
    }


def scale_cues(evidence: Mapping[str, Any]) -> dict[str, float]:
    """Return each cue, scaled to [0, 1]; 1 means no flaw.

    Example:
        >>> seen = {"normals": 0, "curvature": 0, "highlights": [1, 2], "contours": [0, 0]}
        >>> scale_cues({**seen, "texture": 1})["highlights"]
        0.5
    """
    params = load_params("geometry")
    spots, highlights = evidence["highlights"]
    pieces, edge = evidence["contours"]
    chance = params["uniform_by_chance"]
    return {
        "normals": math.exp(-evidence["normals"] / params["normals_scale"]),
        "curvature": math.exp(-evidence["curvature"] / params["curvature_scale"]),
        "highlights": min(spots / highlights, 1.0) if highlights else 1.0,
        "contours": math.exp(-1000 * pieces / edge / params["contours_scale"]) if edge else 1.0,
        "texture": max(evidence["texture"] - chance, 0.0) / (1 - chance),
    }


Values = NDArray[np.floating]


def measure_normals(depth: Values) -> float:
    """Return the mean angle, in degrees, between neighbouring surface normals.

    Args:
        depth: (height, width), distance along the view in any unit.

    Example:
        >>> measure_normals(np.full((20, 20), 2.0))
        0.0
    """
    height = depth.shape[0]
    half_height = np.tan(np.radians(load_params("light")["vertical_view_degrees"]) / 2)
    down, across = np.gradient(depth)
    # A pixel's size in the scene is the height of the view at its depth, over the image's height.
    pixel_size = 2 * half_height * np.maximum(depth, 1e-9) / height
    normals = np.stack([-across / pixel_size, down / pixel_size, np.ones(depth.shape)], -1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    side = load_params("geometry")["neighbourhood"]
    mean = np.stack([ndimage.uniform_filter(normals[..., n], side) for n in range(3)], -1)
    mean /= np.maximum(np.linalg.norm(mean, axis=-1, keepdims=True), 1e-12)
    # Compute the angle from half the chord, which is exact for almost equal normals.
    chord = np.linalg.norm(normals - mean, axis=-1) / 2
    return _average_trimmed(np.degrees(2 * np.arcsin(np.clip(chord, 0, 1))))


def measure_curvature(depth: Values) -> float:
    """Return the mean absolute Laplacian of depth over the median depth.

    Example:
        >>> round(measure_curvature(np.arange(400.0).reshape(20, 20) + 1), 6)
        0.0
    """
    laplacian = ndimage.laplace(depth / max(float(np.median(depth)), 1e-9))
    return _average_trimmed(np.abs(laplacian[1:-1, 1:-1]))


def _average_trimmed(values: Values) -> float:
    """Return the mean without the largest values, which are at the edges of objects."""
    return float(stats.trim1(values, load_params("geometry")["trimmed"], axis=None).mean())


def count_highlights(image: Values) -> tuple[int, int]:
    """Return the number of specular spots, and the number of connected components in them.

    Args:
        image: (height, width, 3), 0 to 1.

    Example:
        >>> image = np.zeros((20, 40, 3))
        >>> image[8:12, 5:35] = 1
        >>> image[:, 18:20] = 0
        >>> count_highlights(image)
        (1, 2)
    """
    params = load_params("geometry")
    brightest, darkest = image.max(-1), image.min(-1)
    is_highlight = brightest >= params["highlight_brightness"]
    is_highlight &= brightest - darkest <= params["highlight_saturation"] * brightest
    labels, number = label_components(is_highlight, params["least_highlight"])
    side = params["highlight_bridge"]
    padded = np.pad(labels > 0, side)  # otherwise closing would erode spots at the border
    _, spots = label_components(ndimage.binary_closing(padded, np.ones((side, side))))
    return spots, number


def label_components(mask: NDArray[np.bool_], least: float = 1) -> tuple[NDArray[np.int64], int]:
    """Label the components of a mask that are large enough, and return their number.

    Args:
        mask: (height, width); pixels that touch at a corner are connected.
        least: The minimum number of pixels of a component.

    Example:
        >>> label_components(np.array([[1, 1, 0, 1]]), 2)
        (array([[1, 1, 0, 0]]), 1)
    """
    labels, number = ndimage.label(mask, np.ones((3, 3)))
    is_large = np.bincount(labels.ravel(), minlength=number + 1) >= least
    is_large[0] = False
    return np.where(is_large, np.cumsum(is_large), 0)[labels], int(is_large.sum())


def count_contours(image: Values) -> tuple[int, int]:
    """Return the number of contour components, and the number of their pixels.

    Args:
        image: (height, width, 3), 0 to 1.

    Example:
        >>> image = np.zeros((40, 40, 3))
        >>> image[10:30, 10:30] = 1
        >>> count_contours(image)[0]
        1
    """
    with require_extra("geometry", "assess"):
        import cv2
    params = load_params("geometry")
    grey = cv2.GaussianBlur((image.mean(-1) * 255).astype(np.uint8), (0, 0), 1)
    edges = cv2.Canny(grey, *params["canny"]) > 0
    labels, number = label_components(edges, params["contour_piece_pixels"])
    return number, int((labels > 0).sum())


def measure_patterns(image: Values) -> float:
    """Return the share of pixels with a uniform local binary pattern.

    Args:
        image: (height, width, 3), 0 to 1.

    Example:
        >>> measure_patterns(np.zeros((9, 9, 3)))
        1.0
    """
    grey = image.mean(-1)
    inner = grey[1:-1, 1:-1]
    if not inner.size:
        raise FeedbackError("the image is too narrow to measure its texture")
    neighbours = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
    height, width = inner.shape
    shifted = [grey[1 + y : 1 + y + height, 1 + x : 1 + x + width] for y, x in neighbours]
    bits = np.stack(shifted) >= inner
    changes = (bits != np.roll(bits, 1, axis=0)).sum(0)
    return float((changes <= 2).mean())
