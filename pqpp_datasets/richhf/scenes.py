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

    python -m pqpp_datasets.richhf.scenes FOLDER --train 10000 --validation 300 --test 300
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_datasets.errors import BenchmarkError, OptionError
from pqpp_datasets.richhf.richhf import SPLITS, write_split
from pqpp_datasets.richhf.shapes import (
    COLOURS,
    GROUNDS,
    SHAPES,
    Item,
    paint,
    plant_artifact,
)
from pqpp_files.written_beside import written_beside
from pqpp_metrics.functional.keywords import prompt_tokens

MAP_SIZE = 512
"""Pixels along a side of a published heatmap."""
_TEMPLATES = (
    "a {a} and a {b} on a {ground} floor",
    "{a}, {b}, {ground} floor",
    "A {ground} floor with a {a} and a {b}.",
    'a picture of a {a}, next to a {b}: "{ground} floor"',
)
_THIRD = " and a {c}"


@dataclass
class Scene:
    """One image with what is wrong with it.

    Attributes:
        uid: Its name.
        prompt: The prompt, with changed words.
        image: `(size, size, 3)`, 8 bit.
        labels: One a token of the prompt: 0 misaligned, 1 aligned.
        scores: The four scores.
        artifact_points: Of each annotator, `(x, y)` in parts of the image's side.
        misalignment_points: The same for what the changed words belong to.
    """

    uid: str
    prompt: str
    image: np.ndarray
    labels: list[int]
    scores: dict[str, float]
    artifact_points: list[list[tuple[float, float]]] = field(default_factory=list)
    misalignment_points: list[list[tuple[float, float]]] = field(default_factory=list)


def make_scene(
    seed: int,
    number: int,
    size: int = 64,
    misaligned: float = 0.75,
    implausible: float = 0.7,
) -> Scene:
    """Make a scene; the same numbers always make the same one.

    Args:
        seed: Of the set of scenes.
        number: Of the scene in it.
        size: Pixels along a side.
        misaligned: Share of the scenes with a changed word.
        implausible: Share of the scenes with an artifact.

    Raises:
        OptionError: A number is out of its range.

    Example:
        >>> scene = make_scene(0, 1)
        >>> len(scene.labels) == len(prompt_tokens(scene.prompt))
        True
    """
    _check(seed, size, misaligned=misaligned, implausible=implausible)
    random = np.random.default_rng([seed, number])
    items, ground = _content(random)
    grain = float(random.choice([0.0, 0.05, 0.1]))
    canvas = paint(random, size, items, ground, grain)
    artifacts = 0 if random.random() >= implausible else int(random.integers(1, 3))
    boxes = [plant_artifact(random, canvas, items) for _ in range(artifacts)]
    changes = 0 if random.random() >= misaligned else 1 + int(random.random() < 1 / 3)
    shown, wrong, blamed = _changed(random, items, ground, changes)
    prompt, labels = _prompt(random, shown, wrong)
    return Scene(
        uid=f"scene-{seed}-{number}",
        prompt=prompt,
        image=canvas.pixels,
        labels=labels,
        scores=_scores(boxes, len(wrong), grain),
        artifact_points=_annotated(random, boxes),
        misalignment_points=_annotated(random, [item.box for item in blamed]),
    )


def _check(seed: int, size: int, **shares: float) -> None:
    if seed < 0:
        raise OptionError(f"`seed` is {seed}; it must be 0 or more")
    if size < 2:  # there is no room for an artifact in a single pixel
        raise OptionError(f"`size` is {size}; it must be 2 or more")
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise OptionError(f"`{name}` is {share}; it must be from 0 to 1")


def _content(random: np.random.Generator) -> tuple[list[Item], str]:
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


def _changed(random, items: Sequence[Item], ground: str, changes: int):
    """Return the words for the prompt, which of them are changed, and the shapes concerned."""
    words = {"ground": ground}
    for i, item in enumerate(items):
        words[f"colour{i}"], words[f"shape{i}"] = item.colour, item.shape
    choices = {"ground": list(GROUNDS), "colour": list(COLOURS), "shape": list(SHAPES)}
    changed = [str(name) for name in random.permutation(list(words))[:changes]]
    blamed = []
    for name in changed:
        # A word that stands for nothing in the image: no word may be right for another shape.
        absent = sorted(set(choices[name.rstrip("012")]) - set(words.values()) - _all(items))
        words[name] = str(random.choice(absent))
        if name != "ground":
            blamed.append(items[int(name[-1])])
    return words, changed, blamed


def _all(items: Sequence[Item]) -> set[str]:
    return {item.colour for item in items} | {item.shape for item in items}


def _prompt(random, words: dict[str, str], changed: Sequence[str]) -> tuple[str, list[int]]:
    """Write the prompt, and mark the tokens that come from changed words."""
    n = sum(name.startswith("colour") for name in words)
    marked = {name: word + "\0" * (name in changed) for name, word in words.items()}
    described = [f"{marked[f'colour{i}']} {marked[f'shape{i}']}" for i in range(n)]
    if n == 3:
        described = [described[0] + _THIRD.format(c=described[1]), described[2]]
    template = str(random.choice(_TEMPLATES))
    text = template.format(a=described[0], b=described[1], ground=marked["ground"])
    labels = [int("\0" not in token) for token in prompt_tokens(text)]
    return text.replace("\0", ""), labels


def _scores(boxes: Sequence[Any], changes: int, grain: float) -> dict[str, float]:
    lost = sum(0.25 + 0.25 * (right - left > 0.27) for left, _, right, _ in boxes)
    scores = {
        "plausibility": max(0.0, 1 - lost),
        "alignment": 1 - 0.25 * changes,
        "aesthetics": 1 - grain / 0.12,
    }
    scores["overall"] = float(np.mean(list(scores.values())))
    return {name: round(value * 12) / 12 for name, value in scores.items()}


def _annotated(random, boxes: Sequence[Any]) -> list[list[tuple[float, float]]]:
    """Return the points of three annotators: the first ones exact, the others a little off."""
    found = []
    for spread in (0.0, 0.012, 0.012):
        points = [p for box in boxes for p in _covering(box)]
        moved = np.array(points).reshape(-1, 2) + random.normal(0, spread, (len(points), 2))
        found.append([tuple(map(float, point)) for point in moved.clip(0, 1)])
    return found


def _covering(box: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    """Return points in a box whose disks cover it."""
    left, top, right, bottom = box

    def along(low: float, high: float) -> np.ndarray:
        n = max(1, round((high - low) / 0.075))
        return low + (np.arange(n) + 0.5) * (high - low) / n

    return [(float(x), float(y)) for y in along(top, bottom) for x in along(left, right)]


def heatmap(points: Sequence[Sequence[tuple[float, float]]], size: int = MAP_SIZE) -> np.ndarray:
    """Return the mean over annotators of the union of their points' disks.

    Args:
        points: Of each annotator, `(x, y)` in parts of the side.
        size: Pixels along a side.

    Returns:
        `(size, size)` in 0 .. 1, float64.

    Example:
        >>> float(heatmap([[(0.5, 0.5)], []], 20).sum())
        2.0
    """
    radius = size / 20
    centres = np.arange(size) + 0.5
    total = np.zeros((size, size), dtype=np.uint16)
    for one in points:
        marked = np.zeros((size, size), dtype=bool)
        for x, y in one:
            rows, columns = (_near(middle * size, radius, size) for middle in (y, x))
            high, wide = centres[rows] - y * size, centres[columns] - x * size
            marked[rows, columns] |= high[:, None] ** 2 + wide**2 <= radius**2
        total += marked
    return total / max(1, len(points))


def _near(middle: float, radius: float, size: int) -> slice:
    """Return the pixels of a row or column that a disk can touch."""
    return slice(max(0, int(middle - radius)), min(size, int(middle + radius) + 1))


def scene_row(scene: Scene) -> dict[str, Any]:
    """Return a scene as a row for `richhf.write_split`."""
    maps = {
        "implausibility_map": heatmap(scene.artifact_points),
        "misalignment_map": heatmap(scene.misalignment_points),
    }
    return {
        "filename": f"scenes/{scene.uid}.png",
        **scene.scores,
        **{name: png((255 * one).round().astype(np.uint8)) for name, one in maps.items()},
        "token_labels": scene.labels,
    }


def png(pixels: np.ndarray) -> bytes:
    """Return an array of 8 bit as a PNG file's content."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "png", compress_level=1)
    return buffer.getvalue()


def write_scenes(
    folder: str | Path, counts: dict[str, int], seed: int = 0, size: int = 64, **shares: float
) -> Path:
    """Write splits of scenes: `richhf/*.tfrecord`, `pickapic/*.parquet`, `points/*.jsonl`.

    `load_dataset("pqpp", "richhf", data_dir=FOLDER/richhf, pickapic_dir=FOLDER/pickapic)` reads it.

    Args:
        folder: Where to.
        counts: Scenes of `train`, `validation` and `test`; a split with none is left out.
        seed: Of the scenes; no two splits share one.
        size: Pixels along a side of an image.
        **shares: `misaligned` and `implausible`, as `make_scene` takes them.

    Returns:
        The folder.

    Raises:
        OptionError: A number is out of its range, a split is unknown, or a file is in the way;
            nothing is written then.
    """
    folder = Path(folder)
    _check(seed, size, **shares)
    for split, count in counts.items():
        if split not in SPLITS or count < 0:
            raise OptionError(
                f"`{split}` is {count}; {', '.join(SPLITS)} are allowed, each 0 or more"
            )
    for place in (folder, *(folder / name for name in ("richhf", "pickapic", "points"))):
        if place.exists() and not place.is_dir():
            raise OptionError(f"{place} is a file; name a folder")
    start = 0
    for split, count in counts.items():
        if count:
            scenes = [make_scene(seed, start + n, size, **shares) for n in range(count)]
            _write(folder, split, scenes)
        start += count
    return folder


def _write(folder: Path, split: str, scenes: Sequence[Scene]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = "dev" if split == "validation" else split
    (folder / "richhf").mkdir(parents=True, exist_ok=True)
    write_split(folder / "richhf" / f"{name}.tfrecord", map(scene_row, scenes))
    images = [png(scene.image) for scene in scenes]
    table = pa.table(
        {
            "caption": [scene.prompt for scene in scenes],
            "image_0_uid": [scene.uid for scene in scenes],
            "jpg_0": images,
            "image_1_uid": [f"{scene.uid}-other" for scene in scenes],
            "jpg_1": pa.nulls(len(scenes), pa.binary()),
        }
    )
    with written_beside(folder / "pickapic" / f"{split}.parquet") as beside:
        pq.write_table(table, beside)
    lines = [
        json.dumps(
            {
                "uid": scene.uid,
                "prompt": scene.prompt,
                "artifact_points": scene.artifact_points,
                "misalignment_points": scene.misalignment_points,
            }
        )
        for scene in scenes
    ]
    with written_beside(folder / "points" / f"{split}.jsonl") as beside:
        beside.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Write scenes as the command line says."""
    parser = argparse.ArgumentParser(description="Write a generated stand-in for RichHF-18K.")
    parser.add_argument("folder")
    for name, count in (("train", 10000), ("validation", 300), ("test", 300)):
        parser.add_argument(f"--{name}", type=int, default=count, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=64, help="pixels along a side of an image")
    options = parser.parse_args()
    counts = {name: getattr(options, name) for name in ("train", "validation", "test")}
    try:
        write_scenes(options.folder, counts, options.seed, options.size)
    except (BenchmarkError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)


if __name__ == "__main__":
    main()
