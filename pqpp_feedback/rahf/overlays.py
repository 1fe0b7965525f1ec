"""What RAHF said of images, out of kept verdicts: as plain values, and as tinted images."""

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pqpp_feedback.assess.pictures import Row, open_picture
from pqpp_files.foreign.images import open_image
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.write_beside import write_beside

# The colour, and how much of it there is where a heatmap is 1.
_TINT, _STRENGTH = (255, 40, 0), 0.65


def heatmap_image(heatmap: NDArray[np.floating], size: tuple[int, int]) -> Any:
    """Return a heatmap in 0 .. 1 as a grey image of a width and height, white where it is 1."""
    grey = (255 * np.clip(heatmap, 0, 1)).round().astype(np.uint8)
    return Image.fromarray(grey).resize(size, Image.Resampling.BILINEAR)


def overlay(image: Any, heatmap: NDArray[np.floating]) -> Any:
    """Return an image of PIL tinted where a heatmap is high.

    Args:
        image: The image.
        heatmap: `(height, width)` in 0 .. 1, of any size.
    """
    image = image.convert("RGB")
    weight = _STRENGTH * np.asarray(heatmap_image(heatmap, image.size))[..., None] / 255
    mixed = (1 - weight) * np.asarray(image) + weight * np.array(_TINT)
    return Image.fromarray(mixed.round().astype(np.uint8))


def save_overlays(rows: Iterable[Row], images: Path, folder: Path) -> None:
    """Write each image tinted by each heatmap, as `NAME.HEATMAP.png`."""
    for row in rows:
        heatmaps = parse_json(row["evidence"] or "{}").get("heatmaps", {})
        for name, text in heatmaps.items():
            grey = np.asarray(open_image(base64.b64decode(text), "L")) / 255
            image = open_picture(images / row["image"])
            with write_beside(folder / f"{row['image']}.{name}.png") as beside:
                overlay(image, grey).save(beside)
