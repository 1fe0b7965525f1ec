"""Whether assessors see what is there: scenes and photographs of known truth, graded."""

import itertools
import resource
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_feedback.assess.assessor import Assessor
from pqpp_feedback.assess.boxes import overlap_of
from pqpp_feedback.assess.gallery import found_boxes
from pqpp_feedback.assess.pictures import Picture, Row, find_pictures
from pqpp_feedback.assess.run import Ran, assess
from pqpp_feedback.assess.verdicts import read_verdicts
from pqpp_feedback.check.scenes import KnownScene, known_scenes
from pqpp_feedback.errors import AssessError
from pqpp_files.figures import Figures
from pqpp_files.foreign.json_values import parse_json
from pqpp_metrics.functional.match_rate import match_rate

# The intersection over union of a box in place; a joint's distance in shares of the person.
IN_PLACE, NEAR = 0.5, 0.1
_CHANCE = {"answers": 0.5, "depth order": 0.5, "boxes": 0.0, "joints": 0.0}
_ORIENTATION, _SIDEWAYS = 0x0112, 6

VERDICTS = (
    "answers: of a right and a wrong prompt (or image) the right one has the higher score; boxes: "
    "what the prompt names is found in place, under its name; depth order: of two balls the nearer "
    "one is seen nearer; joints: within a tenth of the person.",
    "right: the interval of 95 % lies above the middle between chance and 1; wrong: it lies below, "
    "or reaches down to chance; not shown by these scenes: neither, or nothing was seen in most of "
    "them (detectors of photographs need not know drawings; --photos FOLDER takes photographs).",
)


@dataclass(frozen=True)
class Checked:
    """What a check has found.

    Attributes:
        scores: What each score says, kind by kind.
        models: What each model is, and how long it looks at an image.
        notes: How to read both, and the memory that was taken.
    """

    scores: Figures
    models: Figures
    notes: Sequence[str]

    @property
    def wrong(self) -> list[str]:
        """The scores that are wrong."""
        return sorted({row["score"] for row in self.scores.rows if row["said"] == "wrong"})


def check(
    assessors: Sequence[Assessor],
    photos: str | Path | None = None,
    scenes: int = 200,
    batch_size: int = 16,
    progress: bool = False,
) -> Checked:
    """Let assessors look at scenes of known truth, or at a user's photographs, and grade them.

    Args:
        assessors: With their models loaded.
        photos: A folder of images with a table of truth, as `read_photos` takes it.
        scenes: How many.
        batch_size: Images at once.
        progress: Whether a bar is shown.

    Raises:
        AssessError: The table of truth lacks a column.
        BudgetError: It would cost more than is allowed.
    """
    with tempfile.TemporaryDirectory() as folder:
        known = read_photos(photos) if photos else write_scenes(folder, known_scenes(scenes))
        output = Path(folder, "verdicts.parquet")
        ran = assess([picture for picture, _ in known], assessors, output, batch_size, progress)
        rows = list(read_verdicts(output))
    columns = ("score", "scenes", "what", "told", "of", "accuracy", "said")
    graded = grade(rows, [scene for _, scene in known])
    figures = Figures("scores", "Scores on scenes of known truth", columns, graded)
    return Checked(figures, _models(assessors, ran), [*VERDICTS, _memory()])


def write_scenes(
    folder: str | Path, pairs: Iterable[tuple[KnownScene, KnownScene]]
) -> list[tuple[Picture, KnownScene]]:
    """Write the images of scenes, every fourth one sideways, and return a picture for each scene.

    Example:
        >>> pairs = write_scenes(tempfile.mkdtemp(), known_scenes(1))
        >>> len(pairs), pairs[0][0].path == pairs[1][0].path, pairs[0][0].image_id
        (16, True, 'text-000/right')
    """
    from PIL import Image

    known: list[tuple[Picture, KnownScene]] = []
    paths: dict[int, Path] = {}
    for scene in (scene for pair in pairs for scene in pair):
        if id(scene.image) not in paths:
            number = len(paths)
            path = paths[id(scene.image)] = Path(folder, f"{number:03d}.png")
            exif, image = Image.Exif(), scene.image
            if number % 4 == 3:
                exif[_ORIENTATION], image = _SIDEWAYS, image.rotate(90, expand=True)
            image.save(path, exif=exif)
        path = paths[id(scene.image)]
        picture = Picture(path, scene.prompt, scene.image_id, scene.name, "", scene.about)
        known.append((picture, scene))
    return known


def read_photos(folder: str | Path) -> list[tuple[Picture, KnownScene]]:
    """Return the images of a folder with what is true of them.

    The table in the folder (`metadata.jsonl` or `.csv`) has `file_name`, `prompt` and `wrong`, a
    prompt that does not hold; further columns, as assessors read them; `wrong_NAME` where such a
    column differs for the wrong prompt; and perhaps `kind`, by which figures are grouped, and
    `boxes`, a list of `label` and `box` (left, top, right, bottom in shares of the sides).

    Raises:
        AssessError: A row has no `wrong`, or boxes that are none.
    """
    known = []
    for number, picture in enumerate(find_pictures(folder)[0]):
        about = dict(picture.about)
        kind, wrong, boxes = (about.pop(name, None) for name in ("kind", "wrong", "boxes"))
        if picture.problem or not isinstance(wrong, str):
            lacking = f"{picture.image_id} {picture.problem or 'has no wrong prompt'}"
            raise AssessError(f"{lacking}; each row needs `file_name`, `prompt` and `wrong`")
        differs = {name[6:]: value for name, value in about.items() if name.startswith("wrong_")}
        about = {name: value for name, value in about.items() if not name.startswith("wrong_")}
        boxes = parse_json(boxes) if isinstance(boxes, str) else boxes or []
        if len(found_boxes(boxes)) != len(boxes):
            wanted = "a list of `label` and `box`, four numbers from 0 to 1"
            raise AssessError(f"{picture.image_id}: boxes that are none; write {wanted}")
        name = f"{kind or 'photos'}-{number:03d}"
        for is_right, prompt, more in ((True, picture.prompt, {}), (False, wrong, differs)):
            scene = KnownScene(name, is_right, prompt, {**about, **more}, boxes=boxes)
            asked = replace(picture, prompt=prompt, about=scene.about, image_id=scene.image_id)
            known.append((asked, scene))
    return known


def grade(rows: Iterable[Row], truth: Iterable[KnownScene]) -> list[dict[str, Any]]:
    """Return what each assessor gets right of each kind of scene.

    Args:
        rows: Of verdicts on the scenes.
        truth: The scenes.

    Returns:
        Rows of `score`, `scenes`, `what`, `told` (how often something was said), `of`, `accuracy`
        with Wilson's interval of 95 %, and `said`: right, wrong, or not shown.

    Example:
        >>> pair = [KnownScene("text-000", is_right, "", {}) for is_right in (True, False)]
        >>> row = {"assessor": "a", "evidence": "[]", "verdict": None}
        >>> rows = [{**row, "image": one.image_id, "score": float(one.is_right)} for one in pair]
        >>> grade(rows, pair)[0]["accuracy"][0]
        1.0
    """
    by_id = {scene.image_id: scene for scene in truth}
    seen: dict[tuple[str, str], dict[tuple[str, bool], Row]] = {}
    for row in rows:
        scene = by_id[row["image"]]
        key = row["assessor"], scene.name.rpartition("-")[0]
        seen.setdefault(key, {})[scene.name, scene.is_right] = row
    graded = []
    for (assessor, kind), some in seen.items():
        if all(row["evidence"] == "{}" for row in some.values()):
            continue  # it is about other scenes
        ties = itertools.cycle((True, False))  # of equal scores every second one counts as right
        names = [name for name, is_right in some if is_right]
        hits_of = {"answers": [_answer(some, name, ties) for name in names]}
        for (_, is_right), row in some.items():
            if is_right and row["evidence"] is not None:
                for what, hits in _perceived(by_id[row["image"]], row).items():
                    hits_of.setdefault(what, []).extend(hits)
        line = {"score": assessor, "scenes": kind}
        graded += [{**line, "what": what, **_figures(what, hits)} for what, hits in hits_of.items()]
    return graded


def _figures(what: str, hits: Sequence[bool | None]) -> dict[str, Any]:
    known, chance = [hit for hit in hits if hit is not None], _CHANCE[what]
    figures = {"told": len(known), "of": len(hits), "accuracy": None, "said": "not shown"}
    if not known:
        return figures
    rate, middle = match_rate(np.array(known, float)), (1 + chance) / 2
    accuracy, low, high = (rate[name] for name in ("match_rate", "ci_low", "ci_high"))
    is_seen = 2 * len(known) > len(hits)
    if is_seen and low > middle:
        figures["said"] = "right"
    elif high < chance or (is_seen and (high < middle or low <= chance)):
        figures["said"] = "wrong"
    return {**figures, "accuracy": (accuracy, low, high)}


def _answer(rows: Mapping[tuple[str, bool], Row], name: str, ties: Iterator[bool]) -> bool | None:
    """Return whether the right one scores higher; None where nothing is told."""
    pair = [rows[name, is_right] for is_right in (True, False)]
    right, wrong = (row["verdict"] if row["score"] is None else row["score"] for row in pair)
    if right is None or wrong is None:
        return None
    if right != wrong:
        return bool(right > wrong)
    lists = [some for row in pair for some in _things(parse_json(row["evidence"] or "{}"))]
    is_blind = lists and not any(lists)
    return None if is_blind else next(ties)


def _things(evidence: Mapping[str, Any]) -> list[list[Any]]:
    """Return the lists of what was seen that evidence has, of an assessor that looks for things."""
    lists = [evidence.get(name) for name in ("pieces", "people", "seen")]
    lists.append((evidence.get("detector") or {}).get("boxes"))
    return [some for some in lists if some is not None]


def _perceived(scene: KnownScene, row: Row) -> dict[str, list[bool | None]]:
    """Return what of a scene was perceived as it is; None where nothing was seen."""
    evidence = parse_json(row["evidence"])
    hits: dict[str, list[bool | None]] = {}
    if scene.boxes and (lists := _things(evidence)):
        boxes = lists[0]
        hits["boxes"] = [_find(true, boxes) is not None if boxes else None for true in scene.boxes]
    if len(scene.boxes) > 1 and "depths" in evidence:
        places = [_find(true, evidence["seen"]) for true in scene.boxes[:2]]
        near, far = (np.nan if n is None else evidence["depths"][n] for n in places)
        hits["depth order"] = [None if np.isnan(near + far) else bool(near < far)]
    if scene.joints is not None and "people" in evidence:
        people, size = evidence["people"], np.array(scene.image.size)
        points = np.array([person["keypoints"] for person in people[:1]]).reshape(-1, 17, 3)
        away = np.linalg.norm(points[..., :2] - scene.joints * size, axis=-1).ravel()
        tall = float(np.ptp(scene.joints * size, axis=0).max())
        hits["joints"] = (away < NEAR * tall).tolist() if people else [None] * 17
    return hits


def _find(true: Mapping[str, Any], boxes: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the place of a box where a true one is, under its name."""
    for place, box in enumerate(boxes):
        is_named = not true["label"] or box.get("label", "").lower() == true["label"]
        if is_named and overlap_of(box["box"], true["box"]) >= IN_PLACE:
            return place
    return None


def _models(assessors: Sequence[Assessor], ran: Ran) -> Figures:
    columns = ("score", "role", "model", "revision", "seconds")
    rows, counted = [], max(ran.images, 1)
    for assessor in assessors:
        for role, model in assessor.models.items():
            seconds = assessor.seconds.get(role)
            each = None if seconds is None else round(seconds / counted, 4)
            cells = (assessor.name, role, model.name, model.revision, each)
            rows.append(dict(zip(columns, cells, strict=True)))
    return Figures("models", f"Models, and seconds an image ({counted} images)", columns, rows)


def _memory() -> str:
    """Return in words the most memory that this process has taken, and a GPU's."""
    unit = 1 if sys.platform == "darwin" else 1024
    text = f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20:,.0f} MiB"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        text += f", {torch.cuda.max_memory_allocated() / 2**20:,.0f} MiB of the GPU"
    return text
