"""Drawn scenes of known truth: each a right and a wrong prompt, or a right and a wrong image.

A quarter of the images is stored sideways, with the orientation told by EXIF, as cameras do; none
is a square.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.vistar.choices import choices

PAINTS = {
    "red": (205, 30, 40),
    "blue": (40, 70, 200),
    "green": (40, 150, 60),
    "yellow": (240, 210, 40),
    "purple": (130, 50, 160),
}
_WORDS = "OPEN COFFEE MUSEUM EXIT BAKERY HOTEL MARKET GARDEN SCHOOL MUSIC SILVER WINTER".split()  # noqa: SIM905
# Posture to the degrees of thigh and shank from straight down, forwards positive.
_LEGS = {"standing": (2, -4), "sitting": (88, -4), "kneeling": (2, -88), "lying": (2, -4)}


@dataclass(frozen=True, eq=False)
class KnownScene:
    """An image, what is asked of it, and what is true of it.

    Attributes:
        name: Of its kind and number; the right and the wrong one share it.
        is_right: Whether image and prompt fit each other.
        prompt: The text.
        about: Columns of the prompt.
        image: Of PIL, upright, in RGB.
        boxes: Of what the prompt names: `label`, which is empty where any will do, and `box` in
            shares; of two balls the nearer one first.
        joints: (17, 2), in shares, of a person.
        masks: (boxes, height, width), where known.
        depth: (height, width), along the view, where known.
    """

    name: str
    is_right: bool
    prompt: str
    about: Mapping[str, Any]
    image: Any = None
    boxes: Sequence[Mapping[str, Any]] = ()
    joints: NDArray[np.floating] | None = None
    masks: NDArray[np.bool_] | None = None
    depth: NDArray[np.floating] | None = field(default=None, repr=False)

    @property
    def image_id(self) -> str:
        """As rows of verdicts name it."""
        return f"{self.name}/{'right' if self.is_right else 'wrong'}"


Pair = tuple[KnownScene, KnownScene]
Random = np.random.Generator
Size = tuple[int, int]


def known_scenes(number: int = 200, seed: int = 0) -> Iterator[Pair]:
    """Give the scenes, the right one of each and the wrong one.

    Args:
        number: How many, in the shares of `SCENE_KINDS`; one of each kind at least.
        seed: Of all that is drawn.

    Example:
        >>> right, wrong = next(known_scenes())
        >>> right.name, right.prompt != wrong.prompt, right.image is wrong.image
        ('text-000', True, True)
    """
    for index, (kind, (count, drawn)) in enumerate(SCENE_KINDS.items()):
        for place in range(max(1, round(number * count / 200))):
            random = np.random.default_rng([seed, index, place])
            right, wrong = drawn(random, [(320, 240), (240, 320)][place % 2])
            name = f"{kind}-{place:03d}"
            yield replace(right, name=name), replace(wrong, name=name, is_right=False)


def _blank(random: Random, size: Size) -> Any:
    from PIL import Image

    return Image.new("RGB", size, tuple(int(value) for value in random.integers(225, 250, 3)))


def _two(
    image: Any, prompts: Sequence[str], abouts: Sequence[Mapping[str, Any]], **truth: Any
) -> Pair:
    """Return an image with a right and a wrong prompt."""
    right, wrong = (
        KnownScene("", True, prompt, about, image, **truth)
        for prompt, about in zip(prompts, abouts, strict=True)
    )
    return right, wrong


def _box(label: str, corners: Sequence[float] | NDArray, size: Sequence[int]) -> dict[str, Any]:
    return {"label": label, "box": (np.array(corners, float) / [*size, *size]).tolist()}


def _text(random: Random, size: Size) -> Pair:
    from PIL import ImageDraw, ImageFont

    image, (wanted, other) = _blank(random, size), random.permutation(_WORDS)[:2].tolist()
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(int(random.integers(32, 40)))
    place = size[0] / 2, float(random.uniform(0.25, 0.75)) * size[1]
    pen.text(place, wanted, (20, 20, 60), font, anchor="mm")
    boxes = [_box("", pen.textbbox(place, wanted, font, anchor="mm"), size)]
    prompts = [f'a sign that says "{word}"' for word in (wanted, other)]
    abouts = [{"text": word, "angle": "TR"} for word in (wanted, other)]
    return _two(image, prompts, abouts, boxes=boxes)


def _apple(pen: Any, box: NDArray[np.float64], colour: Any) -> None:
    left, top, right, bottom = box
    middle, quarter = (left + right) / 2, (bottom - top) / 4
    pen.line((middle, top, middle, top + quarter), (90, 60, 30), 3)
    pen.ellipse((left, top + quarter / 2, right, bottom), colour or PAINTS["red"])


def _clock(pen: Any, box: NDArray[np.float64], colour: Any) -> None:
    centre, half = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2
    pen.ellipse(tuple(box), colour or (255, 255, 255), (20, 20, 20), 4)
    for far, turn in ((0.8, 0.0), (0.5, 2.0), *((0.9, hour) for hour in np.arange(6) * np.pi / 3)):
        way = np.array([np.sin(turn), -np.cos(turn)]) * half
        start = centre if far < 0.85 else centre + 0.8 * way
        pen.line((*start, *(centre + far * way)), (20, 20, 20), 3)


def _umbrella(pen: Any, box: NDArray[np.float64], colour: Any) -> None:
    left, top, right, bottom = box
    middle = (left + right) / 2
    pen.pieslice((left, top, right, 2 * bottom - top), 180, 360, colour or PAINTS["purple"])
    pen.line((middle, top, middle, bottom), (60, 40, 20), 4)


def _kite(pen: Any, box: NDArray[np.float64], colour: Any) -> None:
    left, top, right, bottom = box
    middle, cross = (left + right) / 2, top + (bottom - top) / 3
    corners = [(middle, top), (right, cross), (middle, bottom), (left, cross)]
    pen.polygon(corners, colour or PAINTS["green"], (20, 20, 20))


_ICONS: Mapping[str, Callable[[Any, NDArray[np.float64], Any], None]] = {
    "apple": _apple,
    "clock": _clock,
    "umbrella": _umbrella,
    "kite": _kite,
}


def _drawn(
    random: Random, size: Size, names: Sequence[str], cells: Any = None, colour: Any = None
) -> tuple[Any, list[dict[str, Any]]]:
    """Return an image of some things, each in a cell of three by three, and their boxes."""
    from PIL import ImageDraw

    image, side = _blank(random, size), np.array(size) / 3
    pen, boxes = ImageDraw.Draw(image), []
    cells = random.permutation(9)[: len(names)].tolist() if cells is None else cells
    for name, cell in zip(names, cells, strict=True):
        extent = np.full(2, random.uniform(0.6, 0.8) * side.min())
        corner = np.array([cell % 3, cell // 3]) * side + random.uniform(0, side - extent)
        box = np.concatenate([corner, corner + extent])
        _ICONS[name](pen, box, colour)
        boxes.append(_box(name, box, size))
    return image, boxes


def _objects(random: Random, size: Size) -> Pair:
    name, other = random.permutation(list(_ICONS))[:2].tolist()
    image, boxes = _drawn(random, size, [name])
    about = {"task": "Single object", "angle": "SF"}
    abouts = [{**about, "representations": [it]} for it in (name, other)]
    return _two(image, [f"one {it}" for it in (name, other)], abouts, boxes=boxes)


def _counts(random: Random, size: Size) -> Pair:
    name, other = random.permutation(list(_ICONS))[:2].tolist()
    count, more = random.permutation(np.arange(1, 6))[:2].tolist()
    image, boxes = _drawn(random, size, [name] * count + [other] * more)
    about = {"task": "Counting", "representations": [name], "angle": "SF"}
    abouts = [{**about, "task_specific_label": str(n)} for n in (count, more)]
    return _two(image, [f"{n} {name}s" for n in (count, more)], abouts, boxes=boxes[:count])


def _colours(random: Random, size: Size) -> Pair:
    name = str(random.choice(["umbrella", "kite"]))
    colour, other = random.permutation(list(PAINTS))[:2].tolist()
    image, boxes = _drawn(random, size, [name], colour=PAINTS[colour])
    prompts = [f"a {paint} {name}" for paint in (colour, other)]
    return _two(image, prompts, [{"angle": "SF"}] * 2, boxes=boxes)


def _places(random: Random, size: Size) -> Pair:
    names = random.permutation(list(_ICONS))[:2].tolist()
    cells, words = [((3, 5), "to the left of"), ((1, 7), "above")][int(random.integers(2))]
    image, boxes = _drawn(random, size, names, cells)
    prompts = [f"the {a} is {words} the {b}" for a, b in (names, names[::-1])]
    return _two(image, prompts, [{"angle": "SF"}] * 2, boxes=boxes)


@dataclass(frozen=True)
class Ball:
    """A ball in the room: x to the right, y up from the floor, z towards the viewer."""

    centre: tuple[float, float, float]
    radius: float
    colour: tuple[int, int, int]


def cast(
    balls: Sequence[Ball], light: Sequence[float], size: Size
) -> tuple[Any, NDArray[np.bool_], NDArray[np.float64]]:
    """Return an image of balls over a floor, cast by rays, with their masks and the depth.

    Args:
        balls: They cast shadows.
        light: The direction to it.
        size: Width and height of the image.

    Example:
        >>> ball = Ball((0, 0.5, 0), 0.5, PAINTS["red"])
        >>> image, masks, depth = cast([ball], (0, 1, 0), (32, 24))
        >>> masks.shape, bool(depth[masks[0]].max() < depth[~masks[0]].max())
        ((1, 24, 32), True)
    """
    from PIL import Image

    tilt, reach = np.radians(32), np.tan(np.radians(choices("light")["vertical_view_degrees"]) / 2)
    ahead = np.array([0, -np.sin(tilt), -np.cos(tilt)])
    up = np.array([0, np.cos(tilt), -np.sin(tilt)])
    eye = np.array([0, 0.3, 0]) - 4.2 * ahead
    y, x = np.mgrid[: size[1], : size[0]]
    x, y = (2 * (x + 0.5) - size[0]) / size[1] * reach, (1 - 2 * (y + 0.5) / size[1]) * reach
    rays = ahead + x[..., None] * np.array([1.0, 0, 0]) + y[..., None] * up
    far = [np.where(rays[..., 1] < 0, -eye[1] / np.minimum(rays[..., 1], -1e-9), 40.0).clip(0, 40)]
    far += [_hit(eye, rays, ball) for ball in balls]
    first, depth = np.argmin(far, axis=0), np.min(far, axis=0)
    points = eye + depth[..., None] * rays
    normals = np.broadcast_to([0.0, 1.0, 0.0], points.shape).copy()
    for number, ball in enumerate(balls, 1):
        normals[first == number] = ((points - ball.centre) / ball.radius)[first == number]
    towards = np.array(light) / np.linalg.norm(light)
    starts = points + 1e-3 * normals
    is_lit = np.all([_hit(starts, towards, ball) == np.inf for ball in balls], axis=0)
    colours = np.array([(185, 180, 170), *(ball.colour for ball in balls)])[first]
    shade = 0.35 + 0.65 * np.clip(normals @ towards, 0, 1) * is_lit
    pixels = np.where((depth < 40)[..., None], colours * shade[..., None], (190, 210, 235))
    masks = np.array([first == number for number in range(1, len(balls) + 1)])
    return Image.fromarray(pixels.astype(np.uint8)), masks, depth


def _hit(start: NDArray, rays: NDArray, ball: Ball) -> NDArray[np.float64]:
    """Return how far along rays a ball is; infinity where it is missed."""
    from_centre = start - np.array(ball.centre)
    a, b = (rays * rays).sum(-1), (rays * from_centre).sum(-1)
    root = b * b - a * ((from_centre**2).sum(-1) - ball.radius**2)
    far = (-b - np.sqrt(np.maximum(root, 0))) / a
    return np.where((root > 0) & (far > 1e-6), far, np.inf)


def _balls(
    prompt: str, about: Mapping[str, Any], balls: Sequence[Ball], light: Any, size: Any
) -> KnownScene:
    image, masks, depth = cast(balls, light, size)
    boxes = []
    for mask in masks:
        rows, columns = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
        corners = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
        boxes.append(_box("ball", corners, size))
    about = {**about, "objects": ["ball"]}
    return KnownScene("", True, prompt, about, image, boxes, masks=masks, depth=depth)


def _light(random: Random, size: Size) -> Pair:
    upper = {k: v for k, v in choices("light")["phrases"].items() if "upper" in k}
    # A ball hides its own shadow where the light comes from behind the viewer.
    phrase = str(random.choice([k for k in upper if not k.endswith("upper-front")]))
    x, y, z = upper[phrase]
    other = next(k for k, v in upper.items() if np.allclose(v, (-x, y, -z)))
    radius = float(random.uniform(0.3, 0.4))
    ball = Ball((float(random.uniform(-0.2, 0.2)), radius, 0.0), radius, PAINTS["red"])
    right = _balls(f"a ball, {phrase}", {"angle": "LI"}, [ball], (x, y, z), size)
    return right, replace(right, prompt=f"a ball, {other}")


def _depth(random: Random, size: Size) -> Pair:
    """Return two balls apart, in half of the scenes one in the air, and two stuck in each other."""
    names = random.permutation(list(PAINTS))[:2].tolist()
    side = 0.5 * float(random.choice([-1, 1]))
    # What is nearer need not lie lower in the picture.
    high = float(random.choice([0.4, random.uniform(1.4, 1.6)]))

    def shown(order: Sequence[str], *centres: tuple[float, float, float]) -> KnownScene:
        pairs = zip(order, centres, strict=True)
        balls = [Ball(centre, 0.4, PAINTS[name]) for name, centre in pairs]
        prompt = f"a {names[0]} ball in front of a {names[1]} ball, apart"
        return _balls(prompt, {"angle": "PSC"}, balls, (0.3, 1, 0.4), size)

    stuck = (side / 2, 0.4, 0.25), (-side / 2, 0.4, -0.15)
    return shown(names, (side, high, 0.9), (-side, 0.4, -0.8)), shown(names[::-1], *stuck)


def _posture(random: Random, size: Size) -> Pair:
    from PIL import ImageDraw

    posture, other = random.permutation(list(_LEGS))[:2].tolist()
    joints = _joints(random, posture)
    low, high = joints.min(0), joints.max(0)
    scale = 0.75 * min(np.array(size) / (high - low))
    points = (joints - (low + high) / 2) * scale + np.array(size) / 2
    image = _blank(random, size)
    pen, width = ImageDraw.Draw(image), int(0.12 * scale)
    for chain in ((5, 7, 9), (6, 8, 10), (5, 11, 13, 15), (6, 12, 14, 16), (5, 6, 12, 11, 5)):
        for a, b in itertools.pairwise(chain):
            pen.line((*points[a], *points[b]), (60, 80, 140), width, joint="curve")
    reach = 0.13 * scale
    pen.ellipse((*(points[0] - reach), *(points[0] + reach)), (225, 180, 150))
    edges = [*(points.min(0) - reach / 2), *(points.max(0) + reach / 2)]
    abouts = [{"count": 1, "postures": [word], "angle": "CPA"} for word in (posture, other)]
    prompts = [f"a person {word}" for word in (posture, other)]
    truth = {"boxes": [_box("person", edges, size)], "joints": points / np.array(size)}
    return _two(image, prompts, abouts, **truth)


def _joints(random: Random, posture: str) -> NDArray[np.float64]:
    """Return (17, 2): a person from the side, in COCO's order, y downwards."""

    def way(degrees: float, length: float) -> NDArray[np.float64]:
        turn = np.radians(degrees + random.uniform(-4, 4))
        return length * np.array([np.sin(turn), np.cos(turn)])

    thigh, shank = _LEGS[posture]
    hip, neck = np.zeros(2), way(180, 0.5)
    head = neck + way(175, 0.2)
    face = head + np.array([(0, 0), (0.03, -0.03), (0.02, -0.03), (-0.04, 0), (-0.05, 0)])
    pairs = [neck, neck + way(20, 0.3), neck + way(35, 0.55), hip]
    pairs += [hip + way(thigh, 0.45)]
    pairs += [pairs[-1] + way(shank, 0.43)]
    apart = np.array([0.03, 0])
    body = [point + sign * apart for point in pairs for sign in (1, -1)]
    joints = np.array([*face, *body])
    return joints[:, ::-1] * [1, -1] if posture == "lying" else joints


# What a scene is about, how many of 200 are, and what draws them.
SCENE_KINDS: Mapping[str, tuple[int, Callable[..., Pair]]] = {
    "text": (30, _text),
    "objects": (20, _objects),
    "counts": (30, _counts),
    "colours": (20, _colours),
    "places": (20, _places),
    "light": (30, _light),
    "depth": (20, _depth),
    "posture": (30, _posture),
}
