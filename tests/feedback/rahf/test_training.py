"""RAHF's training: resuming, several processes, and the pushed model."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")
pytest.importorskip("PIL", reason="images need pillow")

from safetensors.torch import load_file  # noqa: E402
from support import local_hub  # noqa: E402
from support.processes import run_warm  # noqa: E402
from support.richhf_scenes import write_scenes  # noqa: E402
from support.tiny_models import REPOSITORY, import_trainer, train_until  # noqa: E402
from support.tiny_rahf import make_feedback  # noqa: E402

from pqpp_files.errors import PqppError  # noqa: E402

pytestmark = pytest.mark.slow

train = partial(train_until, "rahf")


@pytest.fixture
def recipe(tmp_path, cache):
    """A recipe of two epochs of four steps on a small model."""
    folder = write_scenes(tmp_path / "scenes", {"train": 16, "validation": 6, "test": 2})
    return import_trainer("rahf").RahfRecipe(
        data_dir=str(folder / "richhf"),
        pickapic_dir=str(folder / "pickapic"),
        model="small",
        output_dir=str(tmp_path / "run"),
        num_train_epochs=2,
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        lr_scheduler_type="inverse_sqrt",
        warmup_steps=2,
        prompt_dropout=0.25,
        save_strategy="steps",
        save_steps=3,
    )


@pytest.mark.parametrize("variant", ["multi_head", "augmented_prompt"])
def test_resumed_run_equals_uninterrupted_run(recipe, variant, tmp_path):
    recipe.variant = variant
    full, expected = train(recipe)
    recipe.output_dir, recipe.resume_from_checkpoint = str(tmp_path / "interrupted"), "last"
    with pytest.raises(KeyboardInterrupt):
        train(recipe, 6)
    resumed, weights = train(recipe)
    assert full.steps == resumed.steps == 8 and resumed.validation == full.validation
    assert all(torch.equal(expected[name], weights[name]) for name in expected)
    folder = Path(recipe.output_dir) / "model"
    card = (folder / "README.md").read_text()
    assert f"| mean | {full.validation['mean']:.4g} |" in card and str(tmp_path) not in card


def test_workers_do_not_change_augmented_training(recipe, tmp_path):
    recipe.num_train_epochs, recipe.augmentation = 1, True
    _, expected = train(recipe)
    recipe.output_dir, recipe.dataloader_num_workers = str(tmp_path / "workers"), 2
    _, weights = train(recipe)
    assert all(torch.equal(expected[name], weights[name]) for name in expected)


def test_continues_trained_model_of_the_same_variant(recipe, tmp_path):
    script = import_trainer("rahf")
    recipe.model = str(make_feedback("augmented_prompt").save_pretrained(tmp_path / "old"))
    with pytest.raises(PqppError, match="has 'augmented_prompt'"):
        script.make_model(recipe, [])
    recipe.variant, recipe.score_weight = "augmented_prompt", 7.0
    model, processor = script.make_model(recipe, [])
    assert model.training and model.config.score_weight == 7 and len(processor.tokenizer) == 300


def test_trains_with_two_processes_and_pushes(recipe, tmp_path):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    names = ("data_dir", "pickapic_dir", "model", "num_train_epochs", "save_strategy", "save_steps")
    names += ("per_device_train_batch_size", "output_dir")
    words = [word for name in names for word in (f"--{name}", str(getattr(recipe, name)))]
    words += ["--push_to_hub", "--hub_model_id", "tester/rahf", "--bf16"]
    cpu = {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    with local_hub.serve() as hub:
        process = subprocess.run(
            [sys.executable, *launcher, str(REPOSITORY / "training" / "train_rahf.py"), *words],
            env={**os.environ, **cpu, **hub.environment(tmp_path / "home", "hf_tester")},
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert process.returncode == 0, process.stderr[-2000:]
        code = """
from pqpp_feedback.rahf import FeedbackModel
print(FeedbackModel.from_pretrained("tester/rahf").model.projection.weight.sum().item())
"""
        pulled = run_warm(code, tmp_path, **hub.environment(tmp_path / "other", "hf_tester"))
        assert pulled.returncode == 0, pulled.stderr[-2000:]
    folder = Path(recipe.output_dir) / "model"
    assert "2 process(es)" in (folder / "README.md").read_text()
    weight = load_file(folder / "model.safetensors")["projection.weight"]
    assert float(pulled.stdout.splitlines()[-1]) == pytest.approx(weight.sum().item(), abs=1e-6)


def test_examples_know_the_epoch_after_resuming(recipe, tmp_path, monkeypatch):
    script, records = import_trainer("rahf"), []
    collate = script.Examples.collate

    def collate_and_record(self, examples):
        batch = collate(self, examples)
        if self.joint_first:  # validation examples have all labels
            unlabelled = torch.isnan(batch["heatmap_labels"][:, 0]).flatten(1).all(dim=1)
            hidden = {e["prompt"] for e in examples if not e["shown"]}
            records.append((self.epoch, unlabelled.tolist(), hidden))
        return batch

    monkeypatch.setattr(script.Examples, "collate", collate_and_record)
    recipe.num_train_epochs, recipe.joint_first = 3, 1
    with pytest.raises(KeyboardInterrupt):
        train(recipe, 8)
    recipe.resume_from_checkpoint, before = "last", len(records)
    train(recipe)
    assert {epoch for epoch, _, _ in records[:before]} == {0, 1}
    # The run resumes within the second epoch, which a callback sets.
    assert {epoch for epoch, _, _ in records[before:]} == {1, 2}
    assert all(unlabelled == [epoch == 0] * 4 for epoch, unlabelled, _ in records)
    dropped = [set().union(*(one for at, _, one in records if at == epoch)) for epoch in (0, 1, 2)]
    assert dropped[0] != dropped[1] != dropped[2]
    # AdamW's state covers the last two epochs of four steps each.
    checkpoint = tmp_path / "run" / "checkpoint-12"
    state = torch.load(checkpoint / "optimizer.pt", weights_only=True)["state"]
    assert {int(entry["step"]) for entry in state.values()} == {8}
