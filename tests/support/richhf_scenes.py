"""A generated stand-in for RichHF-18K: rendered scenes with planted flaws, in its record format.

A scene is two or three coloured shapes on a ground. Artifacts are planted (a patch of noise, a
doubled part, a distorted part), and a word of the prompt is changed to one that the image does not
show. Points, labels and scores follow by rules, so that they are exact:

- three annotators mark an artifact, or the shape that a changed word belongs to, with points that
  cover it; a point is a disk of 1/20 of the image's height, a map is the mean over the annotators
  (RichHF, sections 3.1 and 3.2);
- plausibility falls by .25 for an artifact and by another .25 for a large one, alignment by .25
  for a changed word, aesthetics with the grain of the image; overall is their mean. All are rounded
  to twelfths, as means of three ratings on a scale of five are.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_metrics.functional.keywords import prompt_tokens
from support.richhf_records import write_split

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


MAP_SIZE = 512
"""Pixels along a side of a published heatmap."""
_TEMPLATES = (
    "a {a} and a {b} on a {ground} floor",
    "{a}, {b}, {ground} floor",
    "A {ground} floor with a {a} and a {b}.",
    'a picture of a {a}, next to a {b}: "{ground} floor"',
)
_THIRD = " and a {c}"


@dataclass(frozen=True)
class Item:
    """A coloured shape; its centre and radius in parts of the image's side."""

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
class Scene:
    """One image with what is wrong with it; points are `(x, y)` of each annotator, in parts."""

    uid: str
    prompt: str
    image: np.ndarray
    labels: list[int]
    scores: dict[str, float]
    artifact_points: list[list[tuple[float, float]]] = field(default_factory=list)
    misalignment_points: list[list[tuple[float, float]]] = field(default_factory=list)


def make_scene(
    seed: int, number: int, size: int = 64, misaligned: float = 0.75, implausible: float = 0.7
) -> Scene:
    """Make a scene; the same numbers always make the same one.

    `misaligned` and `implausible` are the shares of scenes with a changed word and an artifact.
    """
    random = np.random.default_rng([seed, number])
    items, ground = _make_items(random)
    grain = float(random.choice([0.0, 0.05, 0.1]))
    pixels = paint(random, size, items, ground, grain)
    artifacts = 0 if random.random() >= implausible else int(random.integers(1, 3))
    boxes = [plant_artifact(random, pixels, items) for _ in range(artifacts)]
    changes = 0 if random.random() >= misaligned else 1 + int(random.random() < 1 / 3)
    words, changed, shown_items = _change_words(random, items, ground, changes)
    prompt, labels = _write_prompt(random, words, changed)
    return Scene(
        uid=f"scene-{seed}-{number}",
        prompt=prompt,
        image=pixels,
        labels=labels,
        scores=_get_scores(boxes, len(changed), grain),
        artifact_points=_annotate(random, boxes),
        misalignment_points=_annotate(random, [item.box for item in shown_items]),
    )


def paint(
    random: np.random.Generator, size: int, items: Sequence[Item], ground: str, grain: float
) -> np.ndarray:
    """Draw shapes on a ground; the grain is a spread in parts of full brightness."""
    from PIL import Image, ImageDraw

    level = GROUNDS[ground]
    image = Image.new("RGB", (size * _FINE, size * _FINE), (level, level, level))
    draw = ImageDraw.Draw(image)
    for item in items:
        _draw(draw, item, size * _FINE, (level, level, level))
    pixels = np.asarray(image.reduce(_FINE), dtype=np.float64)
    pixels = pixels + random.normal(0, 255 * grain, pixels.shape)
    return pixels.clip(0, 255).round().astype(np.uint8)


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
    random: np.random.Generator, pixels: np.ndarray, items: Sequence[Item]
) -> tuple[float, float, float, float]:
    """Spoil a part of an image in place and return its box, in parts of the side."""
    kind = random.choice(["noise", "doubled", "distorted"])
    if kind == "noise":
        radius = float(random.choice([0.11, 0.16]))
        x, y = random.uniform(radius, 1 - radius, 2)
        box = (float(x) - radius, float(y) - radius, float(x) + radius, float(y) + radius)
    else:
        box = items[int(random.integers(len(items)))].box
    size = len(pixels)
    left, top, right, bottom = (round(size * value) for value in box)
    region = pixels[top:bottom, left:right]
    region[:] = {"noise": _add_noise, "doubled": _double, "distorted": _distort}[kind](
        random, region.copy()
    )
    return left / size, top / size, right / size, bottom / size


def _add_noise(random, region: np.ndarray) -> np.ndarray:
    return random.integers(0, 256, region.shape, dtype=np.uint8)


def _double(random, region: np.ndarray) -> np.ndarray:
    """Return the region twice, half as large, in both directions."""
    half = region[::2, ::2]
    rows, columns = -(-region.shape[0] // len(half)), -(-region.shape[1] // half.shape[1])
    return np.tile(half, (rows, columns, 1))[: region.shape[0], : region.shape[1]]


def _distort(random, region: np.ndarray) -> np.ndarray:
    """Return the region with its rows pushed to the sides, two by two."""
    width = region.shape[1]
    for row in range(0, len(region), 2):
        shift = int(random.integers(-width // 3, width // 3 + 1))
        region[row : row + 2] = np.roll(region[row : row + 2], shift, axis=1)
    return region


def _make_items(random: np.random.Generator) -> tuple[list[Item], str]:
    n = 2 + int(random.random() < 0.3)
    colours = random.permutation(list(COLOURS))[:n]
    shapes = random.permutation(SHAPES)[:n]
    cells = random.permutation(4)[:n]
    items = []
    for colour, shape, cell in zip(colours, shapes, cells, strict=True):
        centre = 0.25 + 0.5 * np.array([cell % 2, cell // 2]) + random.uniform(-0.02, 0.02, 2)
        x, y = map(float, centre)
        radius = float(random.uniform(0.17, 0.21))
        items.append(Item(str(colour), str(shape), x, y, radius))
    return items, str(random.choice(list(GROUNDS)))


def _change_words(random, items: Sequence[Item], ground: str, changes: int):
    """Return the words for the prompt, which of them are changed, and the shapes concerned."""
    words = {"ground": ground}
    for i, item in enumerate(items):
        words[f"colour{i}"], words[f"shape{i}"] = item.colour, item.shape
    choices = {"ground": list(GROUNDS), "colour": list(COLOURS), "shape": list(SHAPES)}
    changed = [str(name) for name in random.permutation(list(words))[:changes]]
    concerned = []
    for name in changed:
        # A word that stands for nothing in the image: no word may be right for another shape.
        absent = sorted(set(choices[name.rstrip("012")]) - set(words.values()) - _get_words(items))
        words[name] = str(random.choice(absent))
        if name != "ground":
            concerned.append(items[int(name[-1])])
    return words, changed, concerned


def _get_words(items: Sequence[Item]) -> set[str]:
    return {item.colour for item in items} | {item.shape for item in items}


def _write_prompt(random, words: dict[str, str], changed: Sequence[str]) -> tuple[str, list[int]]:
    """Write the prompt, and mark the tokens that come from changed words."""
    n = sum(name.startswith("colour") for name in words)
    marked = {name: word + "\0" * (name in changed) for name, word in words.items()}
    items = [f"{marked[f'colour{i}']} {marked[f'shape{i}']}" for i in range(n)]
    if n == 3:
        items = [items[0] + _THIRD.format(c=items[1]), items[2]]
    template = str(random.choice(_TEMPLATES))
    text = template.format(a=items[0], b=items[1], ground=marked["ground"])
    labels = [int("\0" not in token) for token in prompt_tokens(text)]
    return text.replace("\0", ""), labels


def _get_scores(boxes: Sequence[Any], changes: int, grain: float) -> dict[str, float]:
    penalty = sum(0.25 + 0.25 * (right - left > 0.27) for left, _, right, _ in boxes)
    scores = {
        "plausibility": max(0.0, 1 - penalty),
        "alignment": 1 - 0.25 * changes,
        "aesthetics": 1 - grain / 0.12,
    }
    scores["overall"] = float(np.mean(list(scores.values())))
    return {name: round(value * 12) / 12 for name, value in scores.items()}


def _annotate(random, boxes: Sequence[Any]) -> list[list[tuple[float, float]]]:
    """Return the points of three annotators: the first ones exact, the others a little off."""
    annotators = []
    for spread in (0.0, 0.012, 0.012):
        points = [p for box in boxes for p in _cover(box)]
        shifted = np.array(points).reshape(-1, 2) + random.normal(0, spread, (len(points), 2))
        annotators.append([tuple(map(float, point)) for point in shifted.clip(0, 1)])
    return annotators


def _cover(box: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    """Return points in a box whose disks cover it."""
    left, top, right, bottom = box

    def space(low: float, high: float) -> np.ndarray:
        n = max(1, round((high - low) / 0.075))
        return low + (np.arange(n) + 0.5) * (high - low) / n

    return [(float(x), float(y)) for y in space(top, bottom) for x in space(left, right)]


def draw_map(points: Sequence[Sequence[tuple[float, float]]], size: int = MAP_SIZE) -> np.ndarray:
    """Return the mean over annotators of the union of their points' disks, in 0 .. 1."""
    radius = size / 20
    centres = np.arange(size) + 0.5
    total = np.zeros((size, size), dtype=np.uint16)
    for annotator in points:
        marked = np.zeros((size, size), dtype=bool)
        for x, y in annotator:
            rows, columns = (_get_range(centre * size, radius, size) for centre in (y, x))
            heights, widths = centres[rows] - y * size, centres[columns] - x * size
            marked[rows, columns] |= heights[:, None] ** 2 + widths**2 <= radius**2
        total += marked
    return total / max(1, len(points))


def _get_range(centre: float, radius: float, size: int) -> slice:
    """Return the pixels of a row or column that a disk can touch."""
    return slice(max(0, int(centre - radius)), min(size, int(centre + radius) + 1))


def to_row(scene: Scene) -> dict[str, Any]:
    """Return a scene as a row for `write_split`."""
    maps = {
        "implausibility_map": draw_map(scene.artifact_points),
        "misalignment_map": draw_map(scene.misalignment_points),
    }
    return {
        "filename": f"scenes/{scene.uid}.png",
        **scene.scores,
        **{name: to_png((255 * values).round().astype(np.uint8)) for name, values in maps.items()},
        "token_labels": scene.labels,
    }


def to_png(pixels: np.ndarray) -> bytes:
    """Return an array of 8 bit as a PNG file's content."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "png", compress_level=1)
    return buffer.getvalue()


def write_scenes(folder, counts: dict[str, int], seed: int = 0, **options) -> Path:
    """Write splits of scenes: `richhf/*.tfrecord` and `pickapic/*.parquet`.

    `load_dataset("pqpp", "richhf", data_dir=FOLDER/richhf, pickapic_dir=FOLDER/pickapic)` reads it.
    No two splits share a scene; options as of `make_scene`.
    """
    folder, start = Path(folder), 0
    for split, count in counts.items():
        if count:
            _write(folder, split, [make_scene(seed, start + n, **options) for n in range(count)])
        start += count
    return folder


def _write(folder: Path, split: str, scenes: Sequence[Scene]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("richhf", "pickapic"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    name = "dev" if split == "validation" else split
    write_split(folder / "richhf" / f"{name}.tfrecord", map(to_row, scenes))
    table = pa.table(
        {
            "caption": [scene.prompt for scene in scenes],
            "image_0_uid": [scene.uid for scene in scenes],
            "jpg_0": [to_png(scene.image) for scene in scenes],
            "image_1_uid": [f"{scene.uid}-other" for scene in scenes],
            "jpg_1": pa.nulls(len(scenes), pa.binary()),
        }
    )
    pq.write_table(table, folder / "pickapic" / f"{split}.parquet")
