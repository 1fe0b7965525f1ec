"""Pictures drawn for the demo: coloured shapes, as a prompt asks for them or not."""

import math
import random
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFilter

_SIZE, _FINER = 448, 2
_COLORS = {
    "red": "#d64545",
    "blue": "#3b6fd4",
    "yellow": "#e9b949",
    "green": "#3f9142",
    "purple": "#7c4dbd",
    "orange": "#e8793a",
}
_SHAPES = ("circle", "square", "triangle", "star")
_NUMBERS = ("one", "two", "three", "four", "five")
_GROUNDS = (("#f6f1e7", "#e3d9c6"), ("#eaf1f6", "#cddbe6"), ("#f3ecf5", "#dccfe2"))


@dataclass(frozen=True)
class Scene:
    """What a prompt asks for: so many shapes of a colour, and one more of another kind."""

    count: int
    color: str
    shape: str
    other_color: str
    other: str

    @property
    def prompt(self) -> str:
        """The prompt."""
        plural = "" if self.count == 1 else "s"
        first = f"{_NUMBERS[self.count - 1]} {self.color} {self.shape}{plural}"
        article = "an" if self.other_color[0] in "aeiou" else "a"
        return f"{first} beside {article} {self.other_color} {self.other}"


def scene(number: int, seed: int = 0) -> Scene:
    """Return what the prompt of a number asks for.

    Example:
        >>> scene(0).prompt == scene(0).prompt
        True
    """
    draw = random.Random(f"{seed} {number}")
    color, other_color = draw.sample(sorted(_COLORS), 2)
    shape, other = draw.sample(_SHAPES, 2)
    return Scene(1 + number % 5, color, shape, other_color, other)


def picture(asked: Scene, label: int, seed: str) -> Image.Image:
    """Draw a picture that deserves a label of PQPP.

    Args:
        asked: What the prompt asks for.
        label: 2 all of it, 1 a part of it, 0 something else, -1 spoilt.
        seed: From which places and the faults come.

    Example:
        >>> picture(scene(0), 2, "a").size
        (448, 448)
    """
    draw = random.Random(seed)
    shapes = [(asked.color, asked.shape)] * asked.count + [(asked.other_color, asked.other)]
    if label == 1:
        missing = draw.randrange(2)  # the other shape, or the right colour
        shapes = shapes[:-1] if missing == 0 else [(_another(draw, c), s) for c, s in shapes[:-1]]
        shapes += [] if missing == 0 else [(asked.other_color, asked.other)]
    elif label == 0:
        free = [shape for shape in _SHAPES if shape not in (asked.shape, asked.other)]
        shapes = [(draw.choice(sorted(_COLORS)), draw.choice(free)) for _ in range(3)]
    image = _drawn(shapes, draw)
    return _spoilt(image, draw) if label == -1 else image


def _another(draw: random.Random, color: str) -> str:
    return draw.choice([other for other in sorted(_COLORS) if other != color])


def _drawn(shapes: list[tuple[str, str]], draw: random.Random) -> Image.Image:
    """Draw shapes with soft shadows on a plain ground, each in a cell of its own."""
    size = _SIZE * _FINER
    top, bottom = draw.choice(_GROUNDS)
    image = Image.composite(
        Image.new("RGB", (size, size), bottom),
        Image.new("RGB", (size, size), top),
        Image.linear_gradient("L").resize((size, size)),
    )
    columns = 2 if len(shapes) <= 4 else 3
    cell = size // columns
    cells = draw.sample([(x, y) for x in range(columns) for y in range(columns)], len(shapes))
    placed = []
    for (color, shape), (x, y) in zip(shapes, cells, strict=True):
        radius = cell * draw.uniform(0.28, 0.36)
        spare = 0.6 * (cell / 2 - radius)
        middle = (
            (x + 0.5) * cell + draw.uniform(-spare, spare),
            (y + 0.5) * cell + draw.uniform(-spare, spare),
        )
        placed.append((shape, middle, radius, draw.uniform(-0.3, 0.3), _COLORS[color]))
    image.paste("#3a3530", (size // 90, size // 60), _shadows(placed, size))
    canvas = ImageDraw.Draw(image)
    for figure in placed:
        _shape(canvas, *figure)
    return image.resize((_SIZE, _SIZE), Image.Resampling.BILINEAR)


def _shadows(placed: list[tuple], size: int) -> Image.Image:
    """Return how dark the shadows of shapes make each place; small while it is blurred."""
    part = 8
    shadow = Image.new("L", (size // part, size // part), 0)
    canvas = ImageDraw.Draw(shadow)
    for shape, (x, y), radius, turn, _ in placed:
        _shape(canvas, shape, (x / part, y / part), radius / part, turn, 90)
    return shadow.filter(ImageFilter.GaussianBlur(2)).resize((size, size))


def _shape(canvas, shape: str, middle, radius: float, turn: float, fill) -> None:
    x, y = middle
    if shape == "circle":
        canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)
    elif shape == "star":
        points = _corners(x, y, radius * 1.1, radius * 0.48, 5, turn)
        canvas.polygon(points, fill=fill)
    else:
        sides = {"square": 4, "triangle": 3}[shape]
        canvas.regular_polygon((x, y, radius * 1.1), sides, rotation=turn * 57.3, fill=fill)


def _corners(x: float, y: float, outer: float, inner: float, tips: int, turn: float):
    corners = []
    for n in range(2 * tips):
        angle, radius = math.pi * n / tips - math.pi / 2 + turn, inner if n % 2 else outer
        corners.append((x + radius * math.cos(angle), y + radius * math.sin(angle)))
    return corners


def _spoilt(image: Image.Image, draw: random.Random) -> Image.Image:
    """Shift bands of a picture and smear others, as a generator's artifacts."""
    spoilt = image.copy()
    for _ in range(14):
        height = draw.randrange(12, 44)
        top = draw.randrange(_SIZE - height)
        band = image.crop((0, top, _SIZE, top + height))
        shift = draw.randrange(-150, 150)
        spoilt.paste(band, (shift, top))
        if draw.random() < 0.5:
            spoilt.paste(band.resize((_SIZE, height * 2)), (-shift, top))
    return spoilt.filter(ImageFilter.GaussianBlur(1.5))
