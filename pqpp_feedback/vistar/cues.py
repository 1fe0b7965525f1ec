"""Six image-space cues of geometry, each a raw measure of one image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.vistar.choices import choices
from pqpp_files.extras import needing

Values = NDArray[np.floating]


def normals_dispersion(depth: Values) -> float:
    """Return the mean angle, in degrees, between a surface's normal and those around it.

    Args:
        depth: (height, width), distance along the view in any unit.

    Example:
        >>> normals_dispersion(np.full((20, 20), 2.0))
        0.0
    """
    from scipy import ndimage

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
    return _trimmed(np.degrees(2 * np.arcsin(np.clip(chord, 0, 1))))


def depth_curvature(depth: Values) -> float:
    """Return the mean size of the Laplacian of depth, over the median depth.

    Example:
        >>> round(depth_curvature(np.arange(400.0).reshape(20, 20) + 1), 6)
        0.0
    """
    from scipy import ndimage

    bent = ndimage.laplace(depth / max(float(np.median(depth)), 1e-9))
    return _trimmed(np.abs(bent[1:-1, 1:-1]))


def _trimmed(values: Values) -> float:
    """Return the mean without the largest values: where objects end."""
    flat = np.sort(values, axis=None)
    kept = flat[: max(1, round(len(flat) * (1 - choices("geometry")["trimmed"])))]
    return float(kept.mean())


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
    from scipy import ndimage

    chosen, square = choices("geometry"), np.ones((3, 3))
    bright, dull = image.max(-1), image.min(-1)
    shine = bright >= chosen["highlight_brightness"]
    shine &= bright - dull <= chosen["highlight_saturation"] * bright
    labels, number = ndimage.label(shine, square)
    sizes = np.bincount(labels.ravel(), minlength=number + 1)
    sizes[0] = 0
    pieces = sizes >= chosen["least_highlight"]
    shine = pieces[labels]
    side = chosen["highlight_bridge"]
    padded = np.pad(shine, side)  # or pieces at the picture's rim would be worn off
    _, spots = ndimage.label(ndimage.binary_closing(padded, np.ones((side, side))), square)
    return int(spots), int(pieces.sum())


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
    from scipy import ndimage

    chosen = choices("geometry")
    grey = cv2.GaussianBlur((image.mean(-1) * 255).astype(np.uint8), (0, 0), 1)
    edges = cv2.Canny(grey, *chosen["canny"]) > 0
    labels, number = ndimage.label(edges, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel(), minlength=number + 1)[1:]
    kept = sizes[sizes >= chosen["contour_piece_pixels"]]
    return len(kept), int(kept.sum())


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
