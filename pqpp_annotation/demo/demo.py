"""Making the demo's study, letting three people made up do half of it, and opening it."""

import random
import sys
import tempfile
import threading
import webbrowser
from pathlib import Path

from sqlalchemy import select

from pqpp_annotation.demo.pictures import picture, scene
from pqpp_annotation.errors import StudyError
from pqpp_annotation.simulate import PlantedTruth, Simulated, simulate
from pqpp_annotation.store.database import Store, open_store
from pqpp_annotation.store.invitations import make_links
from pqpp_annotation.store.people import add_person
from pqpp_annotation.store.tables import ItemImage
from pqpp_annotation.study import Study, make_study, read_study
from pqpp_files.paths import expanded
from pqpp_files.write_beside import whole_folder

WORK, CONTROLS, TRAINING = 24, 8, 2
MODELS = {"painter-2": (2, 2, 2, 1, 1), "painter-1": (2, 1, 0, 0, -1)}
"""What each model made up deserves, drawn from these labels."""
CONTROL = tuple(Simulated(f"control-{n}", noise=0.05, role="control") for n in (1, 2))
PEOPLE = (
    Simulated("anna", noise=0.05, seconds=4.5),
    Simulated("boris", noise=0.12, seconds=3.2),
    Simulated("random-clicker", "random", seconds=0.9),
)
"""Two who do their best, and one who clicks at random."""
_TITLE = "How well does each picture show the prompt?"
_INSTRUCTIONS = """You see a prompt and, one after another, pictures that were made for it.

Say of each how much of the prompt it shows. A picture with torn or smeared parts is unrealistic,
whatever else is on it."""
_CONSENT = "This is a demo on your own machine. What you say stays in its folder."
_HOUR = 3_600_000
_DAY = _HOUR // 5


def make_demo(folder: str | Path, seed: int = 0) -> tuple[Path, Store]:
    """Make the demo's study in a folder, and let the people made up do their part.

    Args:
        folder: A new folder, or an empty one.
        seed: Of the pictures and of the people.

    Returns:
        The study file and the open database.

    Raises:
        StudyError: There is something else in the folder.
    """
    folder = expanded(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(f"{folder} is not empty; name a new folder by --output")
    with whole_folder(folder, ()) as beside:
        _make_study(beside, seed)
    path = folder / "study.yaml"
    return path, open_store(read_study(path))


def _make_study(folder: Path, seed: int) -> None:
    """Make the study, and let the people made up do their part."""
    (folder / "images").mkdir()
    labels = _write_pictures(folder, seed)
    study = make_study(
        folder / "study.yaml",
        folder / "prompts.csv",
        folder / "images",
        "relevance",
        title=_TITLE,
        instructions=_INSTRUCTIONS,
        consent=_CONSENT,
        payment={"per_item": 0.1, "currency": "EUR"},
        seed=seed,
    )
    store = open_store(study)
    with store.reading() as db:
        rows = db.execute(select(ItemImage.sha256, ItemImage.image)).all()
    truth = PlantedTruth(seed, {sha256: (labels[image] + 1.5) / 4 for sha256, image in rows})
    store.clock = _Days(store.clock(), 4)
    simulate(store, CONTROL, truth, seed=seed)
    simulate(store, PEOPLE, truth, items=24, seed=seed)
    add_person(store, "owner", "owner")
    store.close()


def demo(
    folder: str | Path = "pqpp-annotation-demo", port: int = 8000, opens: bool = True, seed: int = 0
) -> None:
    """Make the demo's study, serve it until it is told to stop, and open it in a browser.

    Args:
        folder: Where; one that holds an earlier demo is served as it is.
        port: Of this machine's own address.
        opens: Whether the owner's page is opened in a browser.
        seed: As of `make_demo`.
    """
    from pqpp_annotation.web.serve import serve

    path = expanded(folder) / "study.yaml"
    if path.is_file():
        store = open_store(read_study(path))
    else:
        sys.stderr.write("drawing pictures, and three people made up judge them ...\n")
        path, store = make_demo(folder, seed)
    links = {}
    for role in ("owner", "annotator"):
        [(token, _)] = make_links(store, role=role, label="demo")
        links[role] = f"http://127.0.0.1:{port}/join/{token}"
        sys.stderr.write(f"{links[role]}  (as {role})\n")
    store.close()
    if opens:
        threading.Timer(1.5, webbrowser.open, [links["owner"]]).start()
    serve(path, port=port)


def example_study(answered: bool = False) -> tuple[Path, Study, Store]:
    """Make a study of ratings with one prompt and one image, for examples.

    Args:
        answered: Whether two made-up people, `ann` and `bob`, have answered it.

    Returns:
        Its folder, below the folder for temporary files, the study and its open store.

    Example:
        >>> folder, study, store = example_study()
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
        simulate(store, [Simulated("ann"), Simulated("bob", "random")], seed=1)
    return folder, study, store


def _write_pictures(folder: Path, seed: int) -> dict[str, int]:
    """Draw the pictures, write the table of prompts, and return what each deserves."""
    import pandas

    draw, labels, rows = random.Random(seed), {}, []
    purposes = ["work"] * WORK + ["control"] * CONTROLS + ["training"] * TRAINING
    for number, purpose in enumerate(purposes):
        asked = scene(number, seed)
        own = {model: draw.choice(made) for model, made in MODELS.items()} | {"reference": 2}
        for place, (model, label) in enumerate(own.items()):
            name = f"{number:02}-{place}.png"
            picture(asked, label, f"{seed} {name}").save(folder / "images" / name)
            labels[name] = label
            rows.append(
                {
                    "prompt_id": f"p{number:02}",
                    "prompt": asked.prompt,
                    "image": name,
                    "model": model,
                    "control": "yes" if purpose == "control" else "",
                    "training": "yes" if purpose == "training" else "",
                    "expected": label if purpose == "training" else "",
                }
            )
    pandas.DataFrame(rows).to_csv(folder / "prompts.csv", index=False, lineterminator="\r\n")
    return labels


class _Days:
    """A clock for people made up: some seconds pass at each look, and a night after some hours."""

    def __init__(self, now: int, days: int) -> None:
        self._now, self._ends = now - days * 24 * _HOUR, now
        self._night = self._now + _DAY

    def __call__(self) -> int:
        self._now += 2500
        if self._now > self._night:
            self._now += 24 * _HOUR - _DAY
            self._night = self._now + _DAY
        return min(self._now, self._ends)
