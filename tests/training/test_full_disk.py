"""Trainers on a full disk: one line that names the file, and nothing half-written."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from models.made_up import made_up
from models.text.training.test_scripts import ENSEMBLE, STATIC
from support.alignment_folders import write_studies
from support.small_disk import can_mount, run_on_small_disks
from support.tiny_models import save_text_encoder
from training.test_publishing import clip, cnn

from pqpp_models import TARGETS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_mount(), reason="no process may mount a disk here"),
]
READ_ONLY = 0
SHORT = {"epochs": 1, "batch_size": 8}
# From far too small to almost enough; what is too small is told by the first of them.
SIZES = {
    "bert": (100_000, 280_000, 300_000, 330_000, 400_000),
    "correlation_cnn": (1_000_000, 35_000_000, 45_000_000, 60_000_000),
    "clip": (400_000, 2_600_000, 2_900_000),
    "static": (4096, 200_000),
    "text_ensemble": (4096, 400_000),
    "rahf": (400_000, 800_000, 1_000_000),
}


def words(recipe):
    values = {k: ",".join(v) if isinstance(v, list) else str(v) for k, v in recipe.items()}
    return [word for name, value in values.items() for word in (f"--{name}", value)]


def text_recipes(folder, encoder):
    """Write what the trainers of the text predictors read; return their words."""
    import pandas as pd

    (folder / "data").mkdir()
    for seed, split in enumerate(("train", "validation")):
        prompts, scores = made_up(40, seed=seed)
        table = pd.DataFrame(scores, columns=list(TARGETS))
        table.insert(0, "prompt", [f"{prompt} {n} {split}" for n, prompt in enumerate(prompts)])
        table.to_csv(folder / "data" / f"{split}.csv", index=False)
    captions = [f"{prompt} again {n}" for n, prompt in enumerate(made_up(30, seed=5)[0])]
    (folder / "captions.txt").write_text("\n".join(captions))
    write_studies(folder / "studies")
    common = f"model: {encoder}\ndataset: data\nlayers: [0, 1, 2]\ncaptions: captions.txt\n"
    found = {}
    for name, recipe in (("static", STATIC), ("text_ensemble", ENSEMBLE)):
        (folder / f"{name}.yaml").write_text(f"{common}{recipe}")
        found[name] = ["--config", f"{name}.yaml"]
    return found


def recipes(folder):
    """Return the words of each trainer but for the output."""
    for name in ("clip", "cnn"):
        (folder / name).mkdir()
    encoder = save_text_encoder(folder / "encoder")
    text = {"subset": "sample", "model": str(encoder), "targets": ["mean_hbpp"]}
    found = {"bert": words({**text, "max_train_rows": 40, **SHORT})}
    found["clip"] = words({**clip(folder / "clip")[1], **SHORT})
    found["correlation_cnn"] = words({**cnn(folder / "cnn")[1], **SHORT})
    return {**found, **text_recipes(folder, encoder), **feedback_recipes(folder)}


def feedback_recipes(folder):
    from support.richhf_scenes import write_scenes

    scenes = write_scenes(folder / "scenes", {"train": 8, "validation": 4, "test": 2})
    where = {"data_dir": scenes / "richhf", "pickapic_dir": scenes / "pickapic", **SHORT}
    return {"rahf": words({"model": "tiny", **where})}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What each trainer ended with, by its name and the size of the disk."""
    folder = tmp_path_factory.mktemp("full")
    disk, said = str(folder / "disk"), recipes(folder)
    cases = {
        (name, size): {
            "disk": disk,
            "size": size,
            "words": ["train", name, *said[name], "--output_dir", f"{disk}/run"],
            "cache": str(folder / "cache"),
        }
        for name, sizes in SIZES.items()
        for size in (*sizes, READ_ONLY)
    }
    return f"{disk}/run", dict(
        zip(cases, run_on_small_disks([*cases.values()], folder), strict=True)
    )


@pytest.mark.parametrize("name", SIZES)
def test_a_full_disk_ends_a_training_in_one_line(ended, name):
    place, found = ended
    for number, size in enumerate(SIZES[name]):
        answer = found[name, size]
        assert (answer["code"], answer["error"]) == (2, None), (size, answer)
        line = answer["stderr"].split("\n")[-2]  # on a line of its own, below the bars
        assert re.match(rf"pqpp: error: {place}(/\S+)?: no space is left", line), line
        assert "make room, or name another place" in line, line
        assert "network" not in line and "Traceback" not in answer["stderr"]
        if number == 0:
            assert re.search(r" for its [\d,]+ bytes ", line) and answer["left"] == [], answer
        left = {Path(path).parts[1] for path in answer["left"]}
        assert left <= {"best.safetensors", "checkpoints"}, left
        steps = {Path(path).parts[2] for path in answer["left"] if "/checkpoints/" in path}
        for step in steps:  # a checkpoint is whole or not there
            assert step.startswith("step-")
            assert f"run/checkpoints/{step}/progress.json" in answer["left"]


@pytest.mark.parametrize("name", SIZES)
def test_a_disk_that_can_only_be_read_ends_a_training_in_one_line(ended, name):
    place, found = ended
    answer = found[name, READ_ONLY]
    assert (answer["code"], answer["error"], answer["left"]) == (2, None, []), answer
    said = answer["stderr"].split("\n")[-2]
    assert said.startswith("pqpp: error: --output-dir is ")
    assert said.endswith(f"; {Path(place).parent} cannot be written to; name another folder")
