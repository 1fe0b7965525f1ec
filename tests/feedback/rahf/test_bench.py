"""The benchmark: CLIP as it is, the four tables, the command."""

import json

import pytest

torch = pytest.importorskip("torch", reason="RAHF needs torch")
pytest.importorskip("PIL", reason="images need pillow")

from support.richhf_scenes import write_scenes  # noqa: E402
from support.tiny_models import save_clip  # noqa: E402
from support.tiny_rahf import tiny_feedback  # noqa: E402

from pqpp_backbones.errors import CheckpointError  # noqa: E402
from pqpp_feedback.errors import FeedbackError  # noqa: E402
from pqpp_feedback.rahf.bench.experiments import bench_richhf, published  # noqa: E402


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
    (table,) = (table for table in found if table.name == name)
    names = [row["model"] for row in table.rows]
    return [model for model in names if not model.endswith("(published)")]


def test_the_tables_stand_beside_the_published_ones(scenes, tmp_path):
    saved = tiny_feedback().save_pretrained(tmp_path / "mine")
    clip = save_clip(tmp_path / "clip")
    data = str(scenes / "richhf"), str(scenes / "pickapic")
    found, _ = bench_richhf([str(saved)], "validation", *data, clip=str(clip), batch_size=4)
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
    rows = "rows: richhf, test split, 3 images, not the published files"
    assert rows in text and "CVPR 2024" in text
    assert main([*words, "--format", "json", "--no-published"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [len(found["tables"][name]["rows"]) for name in published()["tables"]] == [1, 1, 1, 1]
    assert found["notes"] == [rows]
    assert main([*words[:-1], "dev"]) == 2
    assert "--split is 'dev'; choose among train, validation, test" in capsys.readouterr().err


def test_the_output_is_checked_before_the_work(tmp_path, capsys):
    from pqpp_cli.main import main

    # There is neither the model nor the data, which would be told otherwise.
    words = ["bench", "richhf", "--models", str(tmp_path / "none")]
    words += ["--split", "test", "--data-dir", str(tmp_path / "none")]
    assert main([*words, "--format", "csv", "--output", str(tmp_path)]) == 2
    assert "is a folder; name a file" in capsys.readouterr().err
    assert main([*words, "--output", str(tmp_path / "b.parquet")]) == 2
    assert ".parquet is not a known format" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
