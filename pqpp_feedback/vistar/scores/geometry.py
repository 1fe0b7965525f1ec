"""Geometry (GC): the worst of six cues."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, stats

from pqpp_feedback.assess.assessor import Verdict
from pqpp_feedback.assess.pictures import Picture, image_files, open_picture
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.vistar.choices import choices
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.sight import Sight, smaller
from pqpp_files.extras import needing
from pqpp_files.hashes import hash_file, hash_parts
from pqpp_metrics.functional.vistar import geometric_minimum

CUES = ("normals", "curvature", "highlights", "contours", "texture", "anomaly")


class Geometry(VistarScore):
    """The lowest of six cues, each scaled to [0, 1], after VISTAR's section 3.3.6.

    Args:
        sight: What tells depth and features; not needed to score kept evidence.
        flawless_dir: A folder of images without flaws that the sixth cue compares with; without it
            the cue is left out, and the reason says so.

    Example:
        >>> from pathlib import Path
        >>> seen = {"normals": 0, "curvature": 0, "highlights": [1, 2], "contours": [0, 0]}
        >>> seen |= {"texture": 1, "anomaly": None}
        >>> Geometry().score(seen, Picture(Path("a.png"), "")).score
        0.5
    """

    angle = "GC"
    roles = ("depth",)
    options = ("flawless_dir",)

    def __init__(self, sight: Sight | None = None, flawless_dir: str | None = None) -> None:
        super().__init__(sight)
        self._padim, self._references = None, ""
        if sight and flawless_dir:
            self.models |= sight.get_models("anomaly")
            files = image_files(Path(flawless_dir))
            self._references = hash_parts(f"{hash_file(file)}\n" for file in files)
            seen = [self.sight.features(open_picture(file)) for file in files]
            self._padim = fit_padim(seen)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The choices, and which reference images there were."""
        return {**super().settings, "references": self._references}

    def scan(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the raw cues."""
        pixels = np.asarray(smaller(image)) / 255.0
        seen = raw_cues(pixels, self.sight.depth(image, picture))
        if self._padim:
            seen["anomaly"] = [self._padim.distance(self.sight.features(image)), self._padim.usual]
        return seen

    def judge(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the lowest cue, and which it is."""
        scores = cue_scores(evidence)
        known = {name: score for name in CUES if (score := scores[name]) is not None}
        lowest = float(geometric_minimum([[known.get(name, 1.0) for name in scores]])[0])
        texts = {name: f"{known[name]:.2f}" if name in known else "none" for name in scores}
        reason = ", ".join(f"{name} {score}" for name, score in texts.items())
        left_out = "" if "anomaly" in known else "; no references for the anomaly"
        worst = min(known, key=known.__getitem__)
        return Verdict(None, lowest, f"lowest is {worst}: {reason}{left_out}")


def raw_cues(pixels: np.ndarray, depth: np.ndarray) -> dict[str, Any]:
    """Return the five cues that need no references, as they are measured.

    Args:
        pixels: (height, width, 3), 0 to 1.
        depth: (height, width), distance along the view.

    Example:
        >>> found = raw_cues(np.zeros((32, 32, 3)), np.ones((32, 32)))  # flat and even
        >>> found["normals"], found["contours"][0], found["anomaly"]
        (0.0, 0, None)
    """
    return {
        "normals": normals_dispersion(depth),
        "curvature": depth_curvature(depth),
        "highlights": list(highlight_pieces(pixels)),
        "contours": list(contour_pieces(pixels)),
        "texture": uniform_patterns(pixels),
        "anomaly": None,
    }


def cue_scores(evidence: Mapping[str, Any]) -> dict[str, float | None]:
    """Return each cue scaled to [0, 1], 1 without a flaw; None where it was not measured.

    Example:
        >>> seen = {"normals": 0, "curvature": 0, "highlights": [1, 2], "contours": [0, 0]}
        >>> cue_scores({**seen, "texture": 1, "anomaly": [4, 2]})["highlights"]
        0.5
    """
    chosen = choices("geometry")
    spots, highlights = evidence["highlights"]
    pieces, edge = evidence["contours"]
    chance = chosen["uniform_by_chance"]
    scores = {
        "normals": math.exp(-evidence["normals"] / chosen["normals_scale"]),
        "curvature": math.exp(-evidence["curvature"] / chosen["curvature_scale"]),
        "highlights": min(spots / highlights, 1.0) if highlights else 1.0,
        "contours": math.exp(-1000 * pieces / edge / chosen["contours_scale"]) if edge else 1.0,
        "texture": max(evidence["texture"] - chance, 0.0) / (1 - chance),
        "anomaly": None,
    }
    if evidence["anomaly"] is not None:
        distance, usual = evidence["anomaly"]
        scores["anomaly"] = math.exp(-max(distance / max(usual, 1e-9) - 1, 0.0))
    return scores


LEAST_REFERENCES = 8
Values = NDArray[np.floating]


def normals_dispersion(depth: Values) -> float:
    """Return the mean angle, in degrees, between a surface's normal and those around it.

    Args:
        depth: (height, width), distance along the view in any unit.

    Example:
        >>> normals_dispersion(np.full((20, 20), 2.0))
        0.0
    """
    height = depth.shape[0]
    reach = np.tan(np.radians(choices("light")["vertical_view_degrees"]) / 2)
    down, across = np.gradient(depth)
    # A pixel is as wide as the view at its depth over the picture's height.
    wide = 2 * reach * np.maximum(depth, 1e-9) / height
    normals = np.stack([-across / wide, down / wide, np.ones(depth.shape)], -1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    side = choices("geometry")["neighbourhood"]
    mean = np.stack([ndimage.uniform_filter(normals[..., n], side) for n in range(3)], -1)
    mean /= np.maximum(np.linalg.norm(mean, axis=-1, keepdims=True), 1e-12)
    # Half the chord: exact where normals are almost equal.
    chord = np.linalg.norm(normals - mean, axis=-1) / 2
    return _trimmed_mean(np.degrees(2 * np.arcsin(np.clip(chord, 0, 1))))


def depth_curvature(depth: Values) -> float:
    """Return the mean size of the Laplacian of depth, over the median depth.

    Example:
        >>> round(depth_curvature(np.arange(400.0).reshape(20, 20) + 1), 6)
        0.0
    """
    bent = ndimage.laplace(depth / max(float(np.median(depth)), 1e-9))
    return _trimmed_mean(np.abs(bent[1:-1, 1:-1]))


def _trimmed_mean(values: Values) -> float:
    """Return the mean without the largest values: where objects end."""
    return float(stats.trim1(values, choices("geometry")["trimmed"], axis=None).mean())


def highlight_pieces(image: Values) -> tuple[int, int]:
    """Return the number of specular spots, and of the pieces that they lie in.

    Args:
        image: (height, width, 3), 0 to 1.

    Example:
        >>> image = np.zeros((20, 40, 3))
        >>> image[8:12, 5:35] = 1
        >>> image[:, 18:20] = 0
        >>> highlight_pieces(image)
        (1, 2)
    """
    chosen = choices("geometry")
    bright, dull = image.max(-1), image.min(-1)
    shine = bright >= chosen["highlight_brightness"]
    shine &= bright - dull <= chosen["highlight_saturation"] * bright
    labels, number = pieces(shine, chosen["least_highlight"])
    side = chosen["highlight_bridge"]
    padded = np.pad(labels > 0, side)  # or pieces at the picture's rim would be worn off
    _, spots = pieces(ndimage.binary_closing(padded, np.ones((side, side))))
    return spots, number


def pieces(mask: NDArray[np.bool_], least: float = 1) -> tuple[NDArray[np.int64], int]:
    """Return the pieces of a mask that have enough pixels, numbered from 1, and how many.

    Args:
        mask: (height, width); pixels that touch at a corner are of one piece.
        least: How many pixels are enough.

    Example:
        >>> pieces(np.array([[1, 1, 0, 1]]), 2)
        (array([[1, 1, 0, 0]]), 1)
    """
    labels, number = ndimage.label(mask, np.ones((3, 3)))
    kept = np.bincount(labels.ravel(), minlength=number + 1) >= least
    kept[0] = False
    return np.where(kept, np.cumsum(kept), 0)[labels], int(kept.sum())


def contour_pieces(image: Values) -> tuple[int, int]:
    """Return the number of pieces of contour, and their pixels.

    Args:
        image: (height, width, 3), 0 to 1.

    Example:
        >>> image = np.zeros((40, 40, 3))
        >>> image[10:30, 10:30] = 1
        >>> contour_pieces(image)[0]
        1
    """
    with needing("geometry", "assess"):
        import cv2
    chosen = choices("geometry")
    grey = cv2.GaussianBlur((image.mean(-1) * 255).astype(np.uint8), (0, 0), 1)
    edges = cv2.Canny(grey, *chosen["canny"]) > 0
    labels, number = pieces(edges, chosen["contour_piece_pixels"])
    return number, int((labels > 0).sum())


def uniform_patterns(image: Values) -> float:
    """Return the share of pixels whose local binary pattern changes at most twice around.

    Args:
        image: (height, width, 3), 0 to 1.

    Example:
        >>> uniform_patterns(np.zeros((9, 9, 3)))
        1.0
    """
    grey = image.mean(-1)
    inner = grey[1:-1, 1:-1]
    around = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
    height, width = inner.shape
    bits = np.stack(
        [grey[1 + y : 1 + y + height, 1 + x : 1 + x + width] >= inner for y, x in around]
    )
    changes = (bits != np.roll(bits, 1, axis=0)).sum(0)
    return float((changes <= 2).mean())


@dataclass(frozen=True)
class Padim:
    """A Gaussian of features at each place, after Defard et al., ICPR 2021.

    Attributes:
        mean: (places, features).
        inverse: (places, features, features), of the covariance.
        usual: The distance that few references exceed when each is left out in turn.

    Example:
        >>> Padim(np.zeros((1, 2)), np.eye(2)[None], 1.0).distance(np.array([[3.0, 4.0]]))
        5.0
    """

    mean: NDArray[np.float64]
    inverse: NDArray[np.float64]
    usual: float

    def distance(self, features: NDArray[np.floating]) -> float:
        """Return the largest Mahalanobis distance of an image over all places.

        Args:
            features: (places, features) of one image.
        """
        apart = features - self.mean
        return float(np.sqrt(np.einsum("pi,pij,pj->p", apart, self.inverse, apart).max()))


def fit_padim(references: Sequence[NDArray[np.floating]]) -> Padim:
    """Fit the Gaussians on references, and the usual distance on each of them left out.

    Args:
        references: At least 8, each (places, features).

    Raises:
        FeedbackError: There are fewer.

    Example:
        >>> random = np.random.default_rng(0)
        >>> model = fit_padim(random.normal(size=(20, 4, 3)))
        >>> model.distance(np.zeros((4, 3))) < model.usual < model.distance(np.full((4, 3), 9))
        True
    """
    if len(references) < LEAST_REFERENCES:
        wanted = f"at least {LEAST_REFERENCES}, better hundreds"
        raise FeedbackError(f"{len(references)} reference images; give {wanted}")
    values = np.asarray(references, dtype=float)
    left_out = []
    for number in range(len(values)):
        mean, inverse = _gaussians(np.delete(values, number, axis=0))
        left_out.append(Padim(mean, inverse, 0.0).distance(values[number]))
    usual = float(np.quantile(left_out, choices("geometry")["anomaly_usual"]))
    return Padim(*_gaussians(values), usual)


def _gaussians(values: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    mean = values.mean(0)
    apart = values - mean
    covariance = np.einsum("npi,npj->pij", apart, apart) / (len(values) - 1)
    covariance += choices("geometry")["anomaly_regularisation"] * np.eye(values.shape[2])
    return mean, np.linalg.inv(covariance)
