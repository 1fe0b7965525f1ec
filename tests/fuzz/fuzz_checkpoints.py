"""Untrusted folders of predictors: loading and use returns an answer or raises a typed error.

A case is an integer: it determines a folder, and how it is loaded and used in a fork, which may
take 15 seconds of a processor and 500 MB.
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

from fuzz.forked import Outcome, run_in_fork, suppress_output, watch_opened_files
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
    """A kind of folder of a model.

    Attributes:
        make: Writes an undamaged one to a new folder.
        uses: Functions of the folder and of a new path next to it.
        often: How often it is drawn.
    """

    make: Callable[[Path], object]
    uses: tuple[Callable[[Path, Path], object], ...]
    weight: int = 2


def make_case(case: int, room: Path) -> tuple[str, str, Callable[[], object]]:
    """Make the folder of a case in `room`; return its family, a description and its use."""
    random = np.random.default_rng(case)
    families = list_families()
    weights = np.array([family.weight for family in families.values()], float)
    name = str(random.choice(list(families), p=weights / weights.sum()))
    folder = room / "model"
    shutil.copytree(make_sound_folders()[name], folder)
    (room / "secret").mkdir()
    for secret in ("weights.safetensors", "vocab.txt", "tokenizer.json"):
        (room / "secret" / secret).write_bytes(b"secret " * 1000)
    change = make_hostile(random, folder, room)
    uses = families[name].uses
    use = uses[random.integers(len(uses))]
    return name, f"{use.__name__} of {change}", functools.partial(use, folder, room / "saved")


def find_fault(case: int) -> str | None:
    """Make, load and use the folder of a case; return one line on a fault, or None."""
    make_sound_folders()
    with tempfile.TemporaryDirectory(prefix="pqpp-fuzz-") as beside:
        room = Path(beside)
        name, description, use = make_case(case, room)
        before = _read_state(room)
        with watch_opened_files(room / "secret") as opened:
            outcome = run_in_fork(use, room)
            opened_files = opened()
        fault = _judge_outcome(outcome)
        if (room / "canary").exists() or list(room.rglob("canary")):
            fault = "execution: the canary is dead"
        elif opened_files:
            fault = f"execution: {', '.join(opened_files)} outside of the folder was opened"
        elif TOKEN in outcome.text + outcome.printed:
            fault = "token: it was shown"
        elif _read_state(room) != before:
            fault = "lost file: the folder was changed"
        return fault and f"{fault} [{name}, {description:.200}]".replace("\n", " ")


def _judge_outcome(outcome: Outcome) -> str | None:
    """Return one line on what is wrong with an outcome, or None."""
    last_lines = " | ".join(outcome.printed.splitlines()[-2:])[-300:]
    if outcome.kind == "foreign":
        return f"execution: {outcome.text}"
    if outcome.kind == "ended":
        return f"untyped error: ended {outcome.text}: {last_lines}"
    if outcome.kind not in ("answer", "refused"):
        return f"untyped error: {outcome.kind}: {' '.join(outcome.text.split())[:300]}"
    if outcome.kind == "refused" and (not outcome.text.strip() or not outcome.text.isprintable()):
        return f"untyped error: {len(outcome.text.splitlines())} lines: {outcome.text[:80]!r}"
    if outcome.kind == "refused" and len(outcome.text) > 1500:
        return f"untyped error: a line of {len(outcome.text)}: {outcome.text[:80]!r}"
    if "Traceback" in outcome.printed:
        return f"traceback: {last_lines}"
    if outcome.seconds > SECONDS:
        return f"untyped error: {outcome.seconds:.1f} s: {outcome.text[:100]!r}"
    if outcome.memory > MEMORY:
        return f"untyped error: {outcome.memory / 1e6:.0f} MB: {outcome.text[:100]!r}"
    return None


def _read_state(room: Path) -> list:
    """Return names, kinds, sizes, times, and contents of small files, which must not change."""
    states = []
    for folder in ("model", "secret"):
        for path in sorted((room / folder).rglob("*")):
            status = path.lstat()
            is_small = path.is_file() and not path.is_symlink() and status.st_size < 10**6
            is_read = is_small and folder != "secret"  # which must not be opened
            content = hashlib.sha256(path.read_bytes()).hexdigest() if is_read else ""
            states.append((str(path), status.st_mode, status.st_size, status.st_mtime_ns, content))
    return states


def _predict_rows(rows: list) -> Callable[[Path, Path], object]:
    def predict_rows(folder: Path, saved: Path) -> object:
        from pqpp_models import Predictor

        predictor = Predictor.from_pretrained(folder)
        values = predictor.predict(rows)
        assert values.shape == (len(rows), len(predictor.list_columns(None)))
        repr(predictor)
        predictor.render_card()
        if predictor.supervised:
            predictor.save_pretrained(saved)
        return values

    return predict_rows


def _use_as_encoder(folder: Path, saved: Path) -> object:
    from pqpp_backbones.encoder.encoding import get_layer_means
    from pqpp_backbones.encoder.pretrained import load_encoder

    encoder, tokenizer = load_encoder(str(folder))
    return get_layer_means(encoder, tokenizer, PROMPTS, [0, 1])[1].shape


def _use_as_bert(folder: Path, saved: Path) -> object:
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    model = BertForPerformancePrediction.from_pretrained(folder)
    model.save_pretrained(saved)
    return type(model).__name__


def _use_as_feedback(folder: Path, saved: Path) -> object:
    from PIL import Image

    from pqpp_feedback.rahf import FeedbackModel

    model = FeedbackModel.from_pretrained(folder, "cpu")
    return model.predict([Image.fromarray(_IMAGES[0])], ["a red cat on a mat"])[0].scores


def _save_ridge(folder: Path) -> None:
    from pqpp_models.text.ridge.fitting import fit

    words = ("cat", "dog", "bird", "bus", "wave", "clock")
    prompts = [f"a {one} near a {other}" for one in words for other in words if one != other]
    fit(prompts, np.linspace(0, 1, len(prompts))[:, None], ["rating"], "made up").save_pretrained(
        folder
    )


def _copy_from(source: Path) -> Callable[[Path], object]:
    return lambda folder: shutil.copytree(source, folder)


@functools.cache
def list_families() -> dict[str, Family]:
    """Return all kinds of folders that the packages load."""
    from support.tiny_models import save_text_encoder
    from support.tiny_rahf import make_feedback

    import pqpp_models

    shipped = Path(pqpp_models.__file__).parent / "weights" / "static"
    texts = (_predict_rows(PROMPTS),)
    images = (_predict_rows(_PAIRS),)
    return {
        "static": Family(_copy_from(shipped), texts),
        "ridge": Family(_save_ridge, texts),
        "bert": Family(_copy_from(_CHECKPOINTS / "bert"), (*texts, _use_as_bert), 4),
        "clip": Family(_copy_from(_CHECKPOINTS / "clip_generation"), images, 3),
        "correlation_cnn": Family(
            _copy_from(_CHECKPOINTS / "correlation_cnn"), (_predict_rows(_MATRICES),)
        ),
        "encoder": Family(save_text_encoder, (_use_as_encoder,), 3),
        "rahf": Family(lambda folder: make_feedback().save_pretrained(folder), (_use_as_feedback,)),
    }


@functools.cache
def make_sound_folders() -> dict[str, Path]:
    """Make the undamaged folders once a process, and import what loading them needs.

    Raises:
        AssertionError: One of them cannot be used.
    """
    import torch

    os.environ |= {"HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    torch.set_num_threads(1)
    temporary = tempfile.TemporaryDirectory(prefix="pqpp-fuzz-")
    parent = Path(temporary.name)
    folders = {}
    with suppress_output():
        for name, family in list_families().items():
            folders[name] = parent / name
            family.make(parent / name)
            for use in family.uses:
                with tempfile.TemporaryDirectory() as beside:
                    use(parent / name, Path(beside) / "saved")
    folders["kept"] = temporary
    return folders
