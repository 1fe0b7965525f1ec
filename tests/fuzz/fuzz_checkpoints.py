"""Folders of predictors that come from strangers: an answer, or one typed line, and nothing else.

A case is a whole number: the same number makes the same folder, loads it and asks it in the same
way, in a fork that may take 15 seconds of a processor and 500 MB.
"""

import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuzz.forked import Found, in_a_fork, opened_in, unprinted
from fuzz.hostile_folders import make_hostile

SECONDS, MEMORY = 15, 500_000_000
TOKEN = "hf_fuzzedTokenThatNobodyMaySee"
PROMPTS = ["a red cat", "two dogs and a bird " * 20]
_CHECKPOINTS = Path(__file__).parents[1] / "models" / "checkpoints"
_PIXELS = np.arange(16 * 16 * 3).reshape(16, 16, 3)
_IMAGES = [(_PIXELS * factor % 251).astype(np.uint8) for factor in (1, 3, 7)]
_PAIRS = [{"prompt": "a wave", "images": _IMAGES}]
_MATRICES = [{"similarities": np.eye(4).tolist()}]


@dataclass(frozen=True)
class Family:
    """A kind of foreign folder.

    Attributes:
        make: Writes a sound one to a new folder.
        uses: What is done with it: each takes the folder and a free place beside it.
        often: How often it is drawn.
    """

    make: Callable[[Path], object]
    uses: tuple[Callable[[Path, Path], object], ...]
    often: int = 2


def case_of(case: int, room: Path) -> tuple[str, str, Callable[[], object]]:
    """Make the folder of a case in `room`; return its family, what it is and what is done."""
    random = np.random.default_rng(case)
    families = FAMILIES()
    often = np.array([one.often for one in families.values()], float)
    name = str(random.choice(list(families), p=often / often.sum()))
    folder = room / "model"
    shutil.copytree(sound_folders()[name], folder)
    (room / "secret").mkdir()
    for one in ("weights.safetensors", "vocab.txt", "tokenizer.json"):
        (room / "secret" / one).write_bytes(b"secret " * 1000)
    said = make_hostile(random, folder, room)
    uses = families[name].uses
    use = uses[random.integers(len(uses))]
    return name, f"{use.__name__} of {said}", functools.partial(use, folder, room / "saved")


def fault_of(case: int) -> str | None:
    """Make, load and ask the folder of a case; say in one line what went wrong, if anything."""
    sound_folders()
    with tempfile.TemporaryDirectory(prefix="pqpp-fuzz-") as beside:
        room = Path(beside)
        name, said, use = case_of(case, room)
        before = _state_of(room)
        with opened_in(room / "secret") as opened:
            found = in_a_fork(use, room)
            seen = opened()
        fault = _fault_in(found)
        if (room / "canary").exists() or list(room.rglob("canary")):
            fault = "execution: the canary is dead"
        elif seen:
            fault = f"execution: {', '.join(seen)} outside of the folder was opened"
        elif TOKEN in found.said + found.printed:
            fault = "token: it was shown"
        elif _state_of(room) != before:
            fault = "lost file: the folder was changed"
        return fault and f"{fault} [{name}, {said:.200}]".replace("\n", " ")


def _fault_in(found: Found) -> str | None:
    """Say what is wrong with how a case went."""
    last = " | ".join(found.printed.splitlines()[-2:])[-300:]
    if found.kind == "foreign":
        return f"execution: {found.said}"
    if found.kind == "ended":
        return f"untyped error: ended {found.said}: {last}"
    if found.kind not in ("answer", "refused"):
        return f"untyped error: {found.kind}: {' '.join(found.said.split())[:300]}"
    if found.kind == "refused" and (not found.said.strip() or not found.said.isprintable()):
        return f"untyped error: {len(found.said.splitlines())} lines: {found.said[:80]!r}"
    if found.kind == "refused" and len(found.said) > 1500:
        return f"untyped error: a line of {len(found.said)}: {found.said[:80]!r}"
    if "Traceback" in found.printed:
        return f"traceback: {last}"
    if found.seconds > SECONDS:
        return f"untyped error: {found.seconds:.1f} s: {found.said[:100]!r}"
    if found.memory > MEMORY:
        return f"untyped error: {found.memory / 1e6:.0f} MB: {found.said[:100]!r}"
    return None


def _state_of(room: Path) -> list:
    """Return what must not change: names, kinds, sizes, times, and contents of small files."""
    found = []
    for folder in ("model", "secret"):
        for path in sorted((room / folder).rglob("*")):
            status = path.lstat()
            is_small = path.is_file() and not path.is_symlink() and status.st_size < 10**6
            is_read = is_small and folder != "secret"  # nobody opens that
            content = hashlib.sha256(path.read_bytes()).hexdigest() if is_read else ""
            found.append((str(path), status.st_mode, status.st_size, status.st_mtime_ns, content))
    return found


def _by_python(rows: list) -> Callable[[Path, Path], object]:
    def by_python(folder: Path, saved: Path) -> object:
        from pqpp_models import Predictor

        predictor = Predictor.from_pretrained(folder)
        found = predictor.predict(rows)
        assert found.shape == (len(rows), len(predictor.list_columns(None)))
        repr(predictor)
        predictor.render_card()
        if predictor.supervised:
            predictor.save_pretrained(saved)
        return found

    return by_python


def _as_encoder(folder: Path, saved: Path) -> object:
    from pqpp_backbones.encoder.encoding import get_layer_means
    from pqpp_backbones.encoder.pretrained import load_encoder

    encoder, tokenizer = load_encoder(str(folder))
    return get_layer_means(encoder, tokenizer, PROMPTS, [0, 1])[1].shape


def _as_model(folder: Path, saved: Path) -> object:
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    model = BertForPerformancePrediction.from_pretrained(folder)
    model.save_pretrained(saved)
    return type(model).__name__


def _as_feedback(folder: Path, saved: Path) -> object:
    from PIL import Image

    from pqpp_feedback.rahf import FeedbackModel

    model = FeedbackModel.from_pretrained(folder, "cpu")
    return model.predict([Image.fromarray(_IMAGES[0])], ["a red cat on a mat"])[0].scores


def _ridge(folder: Path) -> None:
    from pqpp_models.text.ridge.fitting import fit

    words = ("cat", "dog", "bird", "bus", "wave", "clock")
    prompts = [f"a {one} near a {other}" for one in words for other in words if one != other]
    fit(prompts, np.linspace(0, 1, len(prompts))[:, None], ["rating"], "made up").save_pretrained(
        folder
    )


def _copied(source: Path) -> Callable[[Path], object]:
    return lambda folder: shutil.copytree(source, folder)


@functools.cache
def FAMILIES() -> dict[str, Family]:
    """Return all kinds of folders that we load."""
    from support.tiny_models import save_text_encoder
    from support.tiny_rahf import tiny_feedback

    import pqpp_models

    shipped = Path(pqpp_models.__file__).parent / "weights" / "static"
    texts = (_by_python(PROMPTS),)
    images = (_by_python(_PAIRS),)
    return {
        "static": Family(_copied(shipped), texts),
        "ridge": Family(_ridge, texts),
        "bert": Family(_copied(_CHECKPOINTS / "bert"), (*texts, _as_model), 4),
        "clip": Family(_copied(_CHECKPOINTS / "clip_generation"), images, 3),
        "correlation_cnn": Family(
            _copied(_CHECKPOINTS / "correlation_cnn"), (_by_python(_MATRICES),)
        ),
        "encoder": Family(save_text_encoder, (_as_encoder,), 3),
        "rahf": Family(lambda folder: tiny_feedback().save_pretrained(folder), (_as_feedback,)),
    }


@functools.cache
def sound_folders() -> dict[str, Path]:
    """Make the sound folders once a process, and import all that loading them takes.

    Raises:
        AssertionError: One of them is not loaded: the attack would be none.
    """
    import torch

    os.environ |= {"HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    torch.set_num_threads(1)
    kept = tempfile.TemporaryDirectory(prefix="pqpp-fuzz-")
    place = Path(kept.name)
    found = {}
    with unprinted():
        for name, family in FAMILIES().items():
            found[name] = place / name
            family.make(place / name)
            for use in family.uses:
                with tempfile.TemporaryDirectory() as beside:
                    use(place / name, Path(beside) / "saved")
    found["kept"] = kept
    return found
