"""Simulated annotators, good and bad, and a demo study that they have worked on."""

import itertools
import random
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import select

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.access import make_links
from pqpp_annotation.store.answers import save_answer
from pqpp_annotation.store.database import Store, open_store
from pqpp_annotation.store.people import add_person, save_consent
from pqpp_annotation.store.tables import ItemImage
from pqpp_annotation.store.work import reserve_item
from pqpp_annotation.study import Study, make_study, read_study
from pqpp_files.atomic_write import atomic_folder
from pqpp_files.paths import expand

MODELS = {"painter-2": (2, 2, 2, 1, 1), "painter-1": (2, 1, 0, 0, -1)}
"""The possible true labels of each model's images."""
_PURPOSES = ["work"] * 24 + ["control"] * 8 + ["training"] * 2
_COLORS = ("red", "blue", "gold", "green", "purple", "orange")
_STUDY: dict[str, Any] = {
    "kind": "relevance",
    "title": "How well does each image match the prompt?",
    "instructions": "Rate how much of the prompt each image shows. Images with torn or smeared "
    "parts are unrealistic, whatever else they show.",
    "consent": "This is a demo on your own computer. Your answers stay in its folder.",
    "payment": {"per_item": 0.1, "currency": "EUR"},
}
_COLUMNS = ["prompt_id", "prompt", "image", "model", "control", "training", "expected"]
_HOUR = 3_600_000


@dataclass(frozen=True)
class Persona:
    """A simulated annotator.

    Attributes:
        manner: `honest` (the true label with some noise), `random`, or `constant` (always the
            highest label).
        noise: Share of honest answers that are one label off, 0 to 1.
        seconds: Mean time per answer.
    """

    name: str
    manner: str = "honest"
    noise: float = 0.1
    role: str = "annotator"
    seconds: float = 4.0

    def draw_label(self, truth: float, levels: int, draw: random.Random) -> int:
        """Return the label that the person gives to an image.

        Args:
            truth: Quality of the image, 0 to 1.
            levels: Number of labels; 0 is the lowest.

        Example:
            >>> Persona("a", "constant").draw_label(0.0, 4, random.Random(0))
            3
            >>> Persona("a", noise=0).draw_label(0.3, 4, random.Random(0))
            1
        """
        if self.manner == "random":
            return draw.randrange(levels)
        if self.manner == "constant":
            return levels - 1
        label = min(int(truth * levels), levels - 1)
        if draw.random() >= self.noise:
            return label
        return min(max(label + draw.choice((-1, 1)), 0), levels - 1)


def simulate_answers(
    store: Store,
    people: Sequence[Persona],
    truth: Mapping[str, float] | None = None,
    items: int | None = None,
    seed: int = 0,
) -> int:
    """Add simulated people to a study and save their answers.

    Args:
        people: The people to add; they answer in turn, one item each.
        truth: Quality of images by hash, from 0 (the lowest label) to 1 (the highest). By default,
            1 for reference images, and uniformly random for others.
        items: Maximum number of items per person; default: all.

    Returns:
        The number of saved answers.

    Example:
        >>> folder, study, store = make_example_study()
        >>> simulate_answers(store, [Persona("ann"), Persona("bob", "random")])
        2
        >>> store.close()
    """
    with store.begin_read() as db:
        references = db.scalars(select(ItemImage.sha256).where(ItemImage.is_reference)).all()
    quality = {**dict.fromkeys(references, 1.0), **(truth or {})}
    workers = [_answer_items(store, person, quality, seed) for person in people]
    for worker in workers:
        next(worker)  # everybody is added before the first answer
    saved = 0
    for _ in itertools.count() if items is None else range(items):
        answers = sum(next(worker, 0) for worker in workers)
        saved += answers
        if not answers:
            break
    return saved


def _answer_items(
    store: Store, person: Persona, quality: Mapping[str, float], seed: int
) -> Iterator[int]:
    """Add a person and yield 0; then answer items, and yield the number of answers to each."""
    kind = store.study.kind
    labels = kind.list_choices(store.study.task)
    person_id = add_person(store, person.name, person.role).id
    save_consent(store, person_id, store.study.consent or "")
    draw = random.Random(f"{seed} {person.name}")
    yield 0
    while (item := reserve_item(store, person_id)) is not None:
        truth: dict[int | None, float] = {}
        for image in sorted(item.images, key=lambda image: image.id):
            default = random.Random(f"{seed} {item.prompt} {image.sha256}").random()
            truth[image.id] = quality.get(image.sha256, default)
        if not kind.about_image:  # 1 if only the first image of a pair is good, 0 if only the last
            first, *_, last = truth.values()
            truth = {None: (1 + first - last) / 2}
        rater = person
        if item.purpose == "training":  # everybody passes the training round
            rater = replace(person, manner="honest", noise=0.0)
        for image_id, value in truth.items():
            answer = labels[rater.draw_label(value, len(labels), draw)]
            client_id = f"simulated-{person_id}-{item.assignment}-{image_id or 0}"
            seconds = round(draw.lognormvariate(0, 0.4) * person.seconds, 1)
            save_answer(store, person_id, item.assignment, image_id, answer, client_id, seconds)
        yield len(truth)


def make_demo_study(folder: str | Path, seed: int = 0) -> tuple[Path, Store]:
    """Create the demo study in a folder, partly rated by simulated people.

    Args:
        folder: A new or empty folder.
        seed: Random seed of the images and answers.

    Returns:
        The study file and the open database.

    Raises:
        AnnotationError: The folder has other content.
    """
    folder = expand(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AnnotationError(f"{folder} is not empty, or is a file; choose another `output`")
    with atomic_folder(folder, ()) as temp:
        labels = _write_demo_images(temp, seed)
        paths = (temp / "study.yaml", temp / "prompts.csv", temp / "images")
        store = open_store(make_study(*paths, **_STUDY, seed=seed))
        with store.begin_read() as db:
            rows = db.execute(select(ItemImage.sha256, ItemImage.image)).all()
        truth = {sha256: (labels[image] + 1.5) / 4 for sha256, image in rows}
        end, ticks = store.clock(), itertools.count()

        def read_clock() -> int:  # adds 2.5 s per call, and a day after every 12 minutes of work
            tick = next(ticks)
            return min(end - 96 * _HOUR + tick * 2500 + tick // 288 * 24 * _HOUR, end)

        store.clock = read_clock
        # Two control members rate all their items, three annotators only some.
        control = [Persona(f"control-{n}", noise=0.05, role="control") for n in (1, 2)]
        simulate_answers(store, control, truth, seed=seed)
        people = [Persona("anna", noise=0.05, seconds=4.5), Persona("boris", noise=0.12)]
        people.append(Persona("random-clicker", "random", seconds=0.9))
        simulate_answers(store, people, truth, items=24, seed=seed)
        add_person(store, "owner", "owner")
        store.close()
    path = folder / "study.yaml"
    return path, open_store(read_study(path))


def serve_demo_study(
    folder: str = "pqpp-annotation-demo", port: int = 8000, open_browser: bool = True
) -> None:
    """Create the demo study, open it in a browser, and serve it until Ctrl-C.

    Args:
        folder: The study's folder; a demo study that it contains is served as it is.
        open_browser: Whether to open the owner's page in a browser.
    """
    from pqpp_annotation.web.serve import serve

    path = expand(folder) / "study.yaml"
    if path.is_file():
        store = open_store(read_study(path))
    else:
        sys.stderr.write("drawing images; three simulated annotators rate them ...\n")
        path, store = make_demo_study(folder)
    links = {}
    for role in ("owner", "annotator"):
        [(token, _)] = make_links(store, role=role, label="demo")
        links[role] = f"http://127.0.0.1:{port}/join/{token}"
        sys.stderr.write(f"{links[role]}  (as {role})\n")
    store.close()
    if open_browser:
        threading.Timer(1.5, webbrowser.open, [links["owner"]]).start()
    serve(path, port=port)


def make_example_study(answered: bool = False) -> tuple[Path, Study, Store]:
    """Create a rating study with one prompt and one image, for docstring examples.

    Args:
        answered: Whether two simulated people, `ann` and `bob`, have answered it.

    Returns:
        Its temporary folder, the study, and its open database.

    Example:
        >>> folder, study, store = make_example_study()
        >>> study.kind_name, (folder / "a.png").is_file()
        ('rating', True)
        >>> store.close()
    """
    from PIL import Image

    folder = Path(tempfile.mkdtemp())
    Image.new("RGB", (8, 6)).save(folder / "a.png")
    (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n", encoding="utf-8")
    study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
    store = open_store(study)
    if answered:
        simulate_answers(store, [Persona("ann"), Persona("bob", "random")], seed=1)
    return folder, study, store


def _write_demo_images(folder: Path, seed: int) -> dict[str, int]:
    """Draw the images, write the table of prompts, and return true labels by image name."""
    import pandas

    (folder / "images").mkdir()
    draw, labels, rows = random.Random(seed), {}, []
    scenes = [*itertools.product(range(1, 6), itertools.permutations(_COLORS, 2))]
    scenes = draw.sample(scenes, len(_PURPOSES))
    for number, (purpose, scene) in enumerate(zip(_PURPOSES, scenes, strict=True)):
        count, (color, other) = scene
        prompt = f"{count} {color} circle{'s' if count > 1 else ''} and one {other} square"
        shapes = [(color, 60)] * count + [(other, 4)]  # circles, and the square
        by_model = {m: draw.choice(truths) for m, truths in MODELS.items()} | {"reference": 2}
        for index, (model, label) in enumerate(by_model.items()):
            name = f"{number:02}-{index}.png"
            _draw_demo_image(folder / "images" / name, shapes, label, draw)
            labels[name] = label
            flags = ["yes" if purpose == flag else "" for flag in ("control", "training")]
            expected = label if purpose == "training" else ""
            rows.append((f"p{number:02}", prompt, name, model, *flags, expected))
    pandas.DataFrame(rows, columns=_COLUMNS).to_csv(folder / "prompts.csv", index=False)
    return labels


def _draw_demo_image(path: Path, shapes: Sequence[tuple], label: int, draw: random.Random) -> None:
    """Draw the shapes (color, sides), with faults if the label is below 2, and save the image."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (448, 448), draw.choice(("ivory", "aliceblue", "lavender")))
    canvas = ImageDraw.Draw(image)
    if label == 1:
        shapes = shapes[:-1]
    elif label == 0:
        shapes = [(color, 3) for color in draw.sample(_COLORS, 3)]
    cells = draw.sample(list(itertools.product(range(3), repeat=2)), len(shapes))
    for (color, sides), (x, y) in zip(shapes, cells, strict=True):
        circle = (75 + 149 * x, 75 + 149 * y, draw.randint(45, 65))
        canvas.regular_polygon(circle, sides, draw.randint(-15, 15), color)
    for _ in range(14 if label == -1 else 0):
        top = draw.randrange(400)
        image.paste(image.crop((0, top, 448, top + 30)), (draw.randrange(-150, 150), top))
    image.save(path)
