"""The benchmark: trained baselines, CLIP as it is, the four tables, the command."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="RAHF needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")
pytest.importorskip("PIL", reason="images need pillow")

from support.richhf_scenes import write_scenes  # noqa: E402
from support.tiny_models import load_script, save_clip  # noqa: E402
from support.tiny_rahf import tiny_feedback  # noqa: E402

from pqpp_backbones.errors import CheckpointError  # noqa: E402
from pqpp_feedback.errors import FeedbackError  # noqa: E402
from pqpp_feedback.rahf.bench.baselines import TrainedBaseline  # noqa: E402
from pqpp_feedback.rahf.bench.experiments import bench_richhf, published  # noqa: E402
from pqpp_files.errors import FileError  # noqa: E402
from pqpp_files.options.option import RecipeError  # noqa: E402


@pytest.fixture
def scenes(tmp_path, cache):
    return write_scenes(tmp_path / "scenes", {"train": 12, "validation": 6, "test": 4})


def save_resnet(folder):
    """Save a random two-stage ResNet for images of 32 x 32."""
    from transformers import ConvNextImageProcessor, ResNetConfig, ResNetModel

    torch.manual_seed(0)
    sizes = {"embedding_size": 4, "hidden_sizes": [4, 8], "depths": [1, 1]}
    ResNetModel(ResNetConfig(layer_type="basic", **sizes)).save_pretrained(folder)
    ConvNextImageProcessor(size={"shortest_edge": 32}, crop_pct=1.0).save_pretrained(folder)
    return folder


def rows_of(found, name):
    """Return the names of our rows in a table."""
    return [row["name"] for row in found[name]["rows"] if not row["published"]]


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["resnet", "clip"])
def test_baselines_are_trained_saved_and_benched(baseline, scenes, tmp_path):
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
    data = str(scenes / "richhf"), str(scenes / "pickapic")
    splits = [script.load_split(split, *data) for split in ("train", "validation")]
    progress = script.train_baseline(recipe, *splits)
    figures = json.loads((tmp_path / "run" / "figures.json").read_text())
    assert progress.step == 4 and "plausibility_plcc" in figures["scores"]
    assert ("implausibility_heatmap" in figures) == (baseline == "resnet")
    folder = tmp_path / "run" / "model"
    assert not {one.suffix for one in folder.iterdir()} - {".json", ".safetensors", ".md"}
    assert str(tmp_path) not in (folder / "baseline.json").read_text()
    card = (folder / "README.md").read_text()
    assert "`baseline`: " + baseline in card and "plausibility_plcc" in card
    assert str(tmp_path) not in card
    with pytest.raises(RecipeError, match="holds a finished model; add `overwrite`"):
        script.train_baseline(recipe, *splits)
    # What was saved says on the same split what the trained one said.
    found = bench_richhf([str(folder)], "validation", *data)
    heatmaps = [f"{name}_heatmap" for name in ("implausibility", "misalignment")]
    wanted = ["scores", *(heatmaps if baseline == "resnet" else [])]
    assert [name for name in published()["tables"] if rows_of(found, name)] == wanted
    for name in wanted:
        (row,) = [row for row in found[name]["rows"] if not row["published"]]
        values = dict(zip(found[name]["columns"], row["values"], strict=True))
        assert values == pytest.approx(figures[name], abs=1e-6)


def test_the_tables_stand_beside_the_published_ones(scenes, tmp_path):
    saved = tiny_feedback().save_pretrained(tmp_path / "mine")
    clip = save_clip(tmp_path / "clip")
    data = str(scenes / "richhf"), str(scenes / "pickapic")
    found = bench_richhf([str(saved)], "validation", *data, clip=str(clip), batch_size=4)
    assert rows_of(found, "scores") == [str(saved), f"CLIP similarity ({clip})"]
    assert rows_of(found, "misalignment_heatmap") == [str(saved), f"CLIP gradient ({clip})"]
    assert rows_of(found, "implausibility_heatmap") == rows_of(found, "keywords") == [str(saved)]
    with pytest.raises(FeedbackError, match="no model was named"):
        bench_richhf([], "validation", *data)
    with pytest.raises(FeedbackError, match="`limit` is 0"):
        bench_richhf([str(saved)], "validation", *data, limit=0)
    with pytest.raises(CheckpointError, match="none is no CLIP-like model"):
        bench_richhf([], "validation", *data, clip=str(tmp_path / "none"))
    with pytest.raises(CheckpointError, match="does not embed both texts and images"):
        bench_richhf([], "validation", *data, clip=str(save_resnet(tmp_path / "resnet")))


def test_the_command_prints_the_four_tables(scenes, tmp_path, capsys):
    from transformers.utils import logging

    from pqpp_cli.main import main

    saved = tiny_feedback().save_pretrained(tmp_path / "mine")
    words = ["bench", "richhf", "--models", str(saved)]
    words += ["--data-dir", str(scenes / "richhf")]
    words += ["--pickapic-dir", str(scenes / "pickapic"), "--limit", "3", "--split", "test"]
    logging.enable_progress_bar()
    assert main(words) == 0
    assert not logging.is_progress_bar_enabled()  # standard error is no terminal here
    text = capsys.readouterr().out
    for title in ("Scores:", "Implausibility heatmap:", "Misalignment heatmap:", "Misaligned key"):
        assert title in text
    assert "RAHF (multi-head) (published)" in text and str(saved) in text
    rows = "this project's rows: richhf, test split, 3 images, not the published files\n"
    assert rows in text and "CVPR 2024" in text
    assert main([*words, "--format", "json", "--no-published"]) == 0
    found = json.loads(capsys.readouterr().out)["tables"]
    assert [len(found[name]["rows"]) for name in published()["tables"]] == [1, 1, 1, 1]
    assert {found[name]["data"] for name in published()["tables"]} == {rows.split(": ")[1].strip()}
    assert main([*words[:-1], "dev"]) == 2
    assert "--split is 'dev'; choose among train, validation, test" in capsys.readouterr().err


def test_a_broken_baseline_is_refused(tmp_path):
    (tmp_path / "baseline.json").write_text("{}")
    with pytest.raises(CheckpointError, match="holds no usable baseline"):
        TrainedBaseline.from_pretrained(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    made = TrainedBaseline.from_backbone("resnet", str(save_resnet(tmp_path / "resnet")), 32)
    with pytest.raises(FileError, match=r"other things \(notes.txt\); name a new folder"):
        made.save_pretrained(tmp_path / "other")
    saved = made.save_pretrained(tmp_path / "saved")
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match=r"other things \(notes.txt\); name a new folder"):
        made.save_pretrained(saved)
    assert (saved / "notes.txt").read_text() == "mine" and TrainedBaseline.is_saved_in(saved)
    with pytest.raises(CheckpointError, match="is no CLIP-like model"):
        TrainedBaseline.from_backbone("clip", str(tmp_path / "none"))
    clip = save_clip(tmp_path / "clip")
    with pytest.raises(CheckpointError, match="CLIPModel is no network of stages like ResNet"):
        TrainedBaseline.from_backbone("resnet", str(clip))
    with pytest.raises(CheckpointError, match="does not embed both texts and images"):
        TrainedBaseline.from_backbone("clip", str(tmp_path / "resnet"))


def test_the_output_is_checked_before_the_work(tmp_path, capsys):
    from pqpp_cli.main import main

    # There is neither the model nor the data, which would be told otherwise.
    words = ["bench", "richhf", "--models", str(tmp_path / "none")]
    words += ["--split", "test", "--data-dir", str(tmp_path / "none")]
    assert main([*words, "--format", "csv", "--output", str(tmp_path)]) == 2
    assert "is a folder; name a file" in capsys.readouterr().err
    assert main([*words, "--output", str(tmp_path / "b.parquet")]) == 2
    assert ".parquet is no known format" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_saved_baseline_says_the_same(tmp_path):
    backbone = save_resnet(tmp_path / "backbone")
    made = TrainedBaseline.from_backbone("resnet", str(backbone), 32)
    loaded = TrainedBaseline.from_pretrained(made.save_pretrained(tmp_path / "saved"))
    batch = torch.randn(2, 3, 32, 32), torch.zeros(2, 2, 32, 32), torch.zeros(2, 4)
    made.model.eval()
    with torch.no_grad():
        before, after = made.model(*batch), loaded.model(*batch)
    assert np.allclose(before.scores, after.scores, atol=1e-6)
    assert np.allclose(before.heatmaps, after.heatmaps, atol=1e-6)


def test_what_a_baseline_says_does_not_depend_on_its_mode(scenes, tmp_path):
    from pqpp_feedback.rahf.examples import load_split

    made = TrainedBaseline.from_backbone("resnet", str(save_resnet(tmp_path / "backbone")), 32)
    table = load_split("test", str(scenes / "richhf"), str(scenes / "pickapic"))
    examples = made.examples(table)
    made.model.eval()
    expected = made.predict(examples, 2)
    made.model.train()
    found = made.predict(examples, 2)
    assert made.model.training
    assert np.array_equal(found.scores, expected.scores)
    assert np.array_equal(found.implausibility, expected.implausibility)
    # Batch norms learn nothing from what is only judged.
    assert np.array_equal(made.predict(examples, 4).scores, made.predict(examples, 4).scores)
    assert found.implausibility.shape == found.misalignment.shape == (4, 32, 32)
