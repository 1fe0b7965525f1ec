"""Drawing for the generated stand-in of RichHF: coloured shapes, and artifacts planted in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 170, 50),
    "blue": (40, 70, 225),
    "yellow": (240, 215, 30),
    "purple": (150, 40, 180),
    "orange": (245, 135, 20),
}
SHAPES = ("circle", "square", "triangle", "cross", "ring")
GROUNDS = {"white": 235, "gray": 150, "black": 40}
_FINE = 3  # drawn three times larger and averaged, for smooth edges


@dataclass(frozen=True)
class Item:
    """A coloured shape.

    Attributes:
        colour: A name of `COLOURS`.
        shape: One of `SHAPES`.
        x: Of its centre, in parts of the image's side.
        y: Of its centre.
        radius: Its size, in parts of the side.
    """

    colour: str
    shape: str
    x: float
    y: float
    radius: float

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom, in parts of the side."""
        r = self.radius
        return self.x - r, self.y - r, self.x + r, self.y + r


@dataclass
class Canvas:
    """An image under work.

    Attributes:
        pixels: `(size, size, 3)`, 8 bit.
    """

    pixels: np.ndarray


def paint(
    random: np.random.Generator, size: int, items: Sequence[Item], ground: str, grain: float
) -> Canvas:
    """Draw shapes on a ground, with some grain.

    Args:
        random: For the grain.
        size: Pixels along a side.
        items: The shapes.
        ground: A name of `GROUNDS`.
        grain: Spread of the grain, in parts of full brightness.
    """
    from PIL import Image, ImageDraw

    level = GROUNDS[ground]
    image = Image.new("RGB", (size * _FINE, size * _FINE), (level, level, level))
    draw = ImageDraw.Draw(image)
    for item in items:
        _draw(draw, item, size * _FINE, (level, level, level))
    pixels = np.asarray(image.reduce(_FINE), dtype=np.float64)
    pixels = pixels + random.normal(0, 255 * grain, pixels.shape)
    return Canvas(pixels.clip(0, 255).round().astype(np.uint8))


def _draw(draw, item: Item, side: int, ground: tuple[int, int, int]) -> None:
    left, top, right, bottom = (side * value for value in item.box)
    colour, third = COLOURS[item.colour], (right - left) / 3
    if item.shape == "circle":
        draw.ellipse((left, top, right, bottom), fill=colour)
    elif item.shape == "square":
        inset = third * 0.2
        draw.rectangle((left + inset, top + inset, right - inset, bottom - inset), fill=colour)
    elif item.shape == "triangle":
        draw.polygon([((left + right) / 2, top), (right, bottom), (left, bottom)], fill=colour)
    elif item.shape == "cross":
        draw.rectangle((left + third, top, right - third, bottom), fill=colour)
        draw.rectangle((left, top + third, right, bottom - third), fill=colour)
    else:
        inner = third * 0.8
        draw.ellipse((left, top, right, bottom), fill=colour)
        draw.ellipse((left + inner, top + inner, right - inner, bottom - inner), fill=ground)


def plant_artifact(
    random: np.random.Generator, canvas: Canvas, items: Sequence[Item]
) -> tuple[float, float, float, float]:
    """Spoil a part of an image.

    Args:
        random: Chooses what, where and how large.
        canvas: Changed in place.
        items: The shapes; two of the three kinds of artifact happen to one of them.

    Returns:
        The spoilt box: left, top, right, bottom, in parts of the side.
    """
    kind = random.choice(["noise", "doubled", "distorted"])
    if kind == "noise":
        half = float(random.choice([0.11, 0.16]))
        x, y = random.uniform(half, 1 - half, 2)
        box = (float(x) - half, float(y) - half, float(x) + half, float(y) + half)
    else:
        box = items[int(random.integers(len(items)))].box
    size = len(canvas.pixels)
    left, top, right, bottom = (round(size * value) for value in box)
    region = canvas.pixels[top:bottom, left:right]
    region[:] = {"noise": _noise, "doubled": _doubled, "distorted": _distorted}[kind](
        random, region.copy()
    )
    return left / size, top / size, right / size, bottom / size


def _noise(random, region: np.ndarray) -> np.ndarray:
    return random.integers(0, 256, region.shape, dtype=np.uint8)


def _doubled(random, region: np.ndarray) -> np.ndarray:
    """Return the region twice, half as large, above and beside itself."""
    small = region[::2, ::2]
    rows, columns = -(-region.shape[0] // len(small)), -(-region.shape[1] // small.shape[1])
    return np.tile(small, (rows, columns, 1))[: region.shape[0], : region.shape[1]]


def _distorted(random, region: np.ndarray) -> np.ndarray:
    """Return the region with its rows pushed to the sides, two by two."""
    width = region.shape[1]
    for row in range(0, len(region), 2):
        push = int(random.integers(-width // 3, width // 3 + 1))
        region[row : row + 2] = np.roll(region[row : row + 2], push, axis=1)
    return region
