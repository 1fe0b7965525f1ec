"""The trainer: resuming, several processes, ablations, what it writes and pushes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")
pytest.importorskip("PIL", reason="images need pillow")

from safetensors.torch import load_file  # noqa: E402
from support import local_hub  # noqa: E402
from support.processes import run_python  # noqa: E402
from support.tiny_models import REPOSITORY, load_script, save_clip  # noqa: E402
from support.tiny_rahf import tiny_feedback  # noqa: E402

from pqpp_datasets.richhf_scenes import write_scenes  # noqa: E402
from pqpp_models.rahf.publishing import render_card, save_whole  # noqa: E402
from pqpp_models.training.arguments import RecipeError  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture
def recipe(tmp_path, cache):
    """A recipe of two epochs of four steps on a tiny model."""
    folder = write_scenes(tmp_path / "scenes", {"train": 16, "validation": 6, "test": 2})
    return load_script("train_rahf").RahfRecipe(
        data_dir=str(folder / "richhf"),
        pickapic_dir=str(folder / "pickapic"),
        model="tiny",
        output_dir=str(tmp_path / "run"),
        epochs=2,
        batch_size=4,
        learning_rate=1e-3,
        schedule="rsqrt",
        warmup_steps=2,
        prompt_dropout=0.25,
        checkpoint_steps=3,
    )


def run(recipe, fail_at=None):
    """Train in this process; with `fail_at`, fail when that batch is asked for."""
    script = load_script("train_rahf")
    splits = [script.read_split(recipe, split, None) for split in ("train", "validation")]
    collate, seen = script.Examples.collate, 0

    def collate_or_fail(self, examples):
        nonlocal seen
        seen += 1
        if seen == fail_at:
            raise KeyboardInterrupt
        return collate(self, examples)

    script.Examples.collate = collate_or_fail
    try:
        progress = script.train_rahf(recipe, *splits)
    finally:
        script.Examples.collate = collate
    return progress, load_file(Path(recipe.output_dir) / "model" / "model.safetensors")


@pytest.mark.parametrize("variant", ["multi_head", "augmented_prompt"])
def test_a_resumed_run_equals_an_uninterrupted_one(recipe, variant, tmp_path):
    recipe.variant = variant
    whole, expected = run(recipe)
    recipe.output_dir, recipe.resume = str(tmp_path / "interrupted"), True
    with pytest.raises(KeyboardInterrupt):
        run(recipe, fail_at=6)
    resumed, found = run(recipe)
    assert whole.step == resumed.step == 8 and resumed.history == whole.history
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    folder = Path(recipe.output_dir) / "model"
    card = (folder / "README.md").read_text()
    assert f"| mean | {whole.best['mean']:.4g} |" in card and str(tmp_path) not in card
    assert not {one.suffix for one in folder.iterdir()} - {".json", ".safetensors", ".md"}


def test_another_recipe_is_not_resumed(recipe):
    run(recipe)
    recipe.resume, recipe.blind = True, "image"
    with pytest.raises(RecipeError, match="`blind` 'none', now it is 'image'"):
        run(recipe)


def test_two_processes_train_one_model(recipe, tmp_path):
    flags = {
        name: getattr(recipe, name)
        for name in ("data_dir", "pickapic_dir", "model", "output_dir", "epochs", "batch_size")
    }
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    command += ["--master_port", "29537", str(REPOSITORY / "training" / "train_rahf.py"), *words]
    environment = {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2 process(es)" in (Path(recipe.output_dir) / "model" / "README.md").read_text()


def test_pushed_and_pulled_it_says_the_same(tmp_path):
    feedback = tiny_feedback()
    card = render_card({"variant": "multi_head"})
    folder = save_whole(feedback.model, feedback.processor, card, tmp_path / "model")
    code = f"""
import json, numpy as np
from pathlib import Path
from pqpp_models.rahf.publishing import push
from pqpp_models.rahf import FeedbackModel
image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
def judged(name):
    (one,) = FeedbackModel.from_pretrained(name, device="cpu").judge([image], ["a red cat"])
    maps = np.concatenate([heatmap.ravel() for heatmap in one.heatmaps.values()])
    return np.concatenate([list(one.scores.values()), one.probabilities, maps])
push(Path({str(folder)!r}), "tester/rahf")
print(json.dumps(float(np.abs(judged({str(folder)!r}) - judged("tester/rahf")).max())))
"""
    with local_hub.serve() as hub:
        environment = hub.environment(tmp_path / "home", "hf_tester")
        environment["PYTHONPATH"] = str(REPOSITORY)
        done = run_python(code, tmp_path, **environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) < 1e-6


@pytest.fixture
def scenes(tmp_path, cache):
    return write_scenes(tmp_path / "scenes", {"train": 12, "validation": 6, "test": 4})


@pytest.mark.parametrize("baseline", ["resnet", "clip"])
def test_baselines_are_trained_by_the_same_loop(baseline, scenes, tmp_path):
    script = load_script("train_rahf_baselines")
    save = save_clip if baseline == "clip" else save_resnet
    recipe = script.BaselineRecipe(
        baseline=baseline,
        model=str(save(tmp_path / "backbone")),
        output_dir=str(tmp_path / "run"),
        heatmap_size=32,
        epochs=2,
        batch_size=6,
    )
    splits = [
        script.load_split(split, str(scenes / "richhf"), str(scenes / "pickapic"))
        for split in ("train", "validation")
    ]
    progress = script.train_baseline(recipe, *splits)
    figures = json.loads((tmp_path / "run" / "figures.json").read_text())
    assert progress.step == 4 and "plausibility_plcc" in figures["scores"]
    assert ("implausibility_heatmap" in figures) == (baseline == "resnet")


def save_resnet(folder):
    """Save a random two-stage ResNet for images of 32 x 32."""
    from transformers import ConvNextImageProcessor, ResNetConfig, ResNetModel

    torch.manual_seed(0)
    sizes = {"embedding_size": 4, "hidden_sizes": [4, 8], "depths": [1, 1]}
    ResNetModel(ResNetConfig(layer_type="basic", **sizes)).save_pretrained(folder)
    ConvNextImageProcessor(size={"shortest_edge": 32}, crop_pct=1.0).save_pretrained(folder)
    return folder


def test_the_benchmark_prints_the_four_tables(scenes, tmp_path):
    from pqpp_models.rahf.bench import bench_richhf
    from pqpp_models.rahf.evaluation import render_markdown

    saved = tiny_feedback().save_pretrained(tmp_path / "mine")
    clip = save_clip(tmp_path / "clip")
    data = str(scenes / "richhf"), str(scenes / "pickapic")
    found = bench_richhf([str(saved)], "validation", *data, clip=str(clip), batch_size=4)
    names = {
        name: [row["name"] for row in table["rows"] if not row["published"]]
        for name, table in found.items()
    }
    assert names["scores"] == [str(saved), f"CLIP similarity ({clip})"]
    assert names["misalignment_heatmap"] == [str(saved), f"CLIP gradient ({clip})"]
    assert names["implausibility_heatmap"] == names["keywords"] == [str(saved)]
    text = render_markdown(found)
    assert text.count("### ") == 4 and "| CLIP gradient (published) |" in text
