"""Predictors that need images, and `pqpp predict --dataset`."""

import json

import numpy as np
import pytest
from scipy import stats
from support.pqpp_folders import V1_0_ROWS, write_v1_0

from pqpp_cli.main import main
from pqpp_models import TARGETS, Predictor

NUMBERS = {"sdxl_images": (4, 5), "glide_images": (7, 8)}


@pytest.fixture(autouse=True)
def _cache(cache, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return cache


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """The folder of a tiny CLIP predictor."""
    pytest.importorskip("transformers", reason="CLIP needs transformers")
    from support.tiny_models import save_clip
    from transformers import AutoProcessor

    from pqpp_models.clip.modeling_clip_predictor import ClipForPerformancePrediction
    from pqpp_models.clip.predictor import ClipPredictor

    folder = tmp_path_factory.mktemp("clip")
    backbone = str(save_clip(folder / "backbone"))
    model = ClipForPerformancePrediction.from_backbone(backbone)
    return ClipPredictor(model, AutoProcessor.from_pretrained(backbone)).save_pretrained(
        folder / "saved"
    )


@pytest.fixture
def archive(tmp_path):
    """The folder of images for the three prompts of `write_v1_0`, and rows with their paths."""
    from PIL import Image

    random = np.random.default_rng(0)
    rows = []
    for _, image_id, prompt, *_ in V1_0_ROWS:
        folder = tmp_path / "archive" / str(image_id)
        folder.mkdir(parents=True)
        for number in range(4, 9):
            pixels = random.integers(0, 255, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"image_{number}.png")
        paths = {
            column: [str(folder / f"image_{number}.png") for number in numbers]
            for column, numbers in NUMBERS.items()
        }
        rows.append({"prompt": prompt, **paths})
    return str(tmp_path / "archive"), rows


def reject(capsys, *arguments) -> str:
    """Run a command that must be refused, and return its error."""
    assert main(arguments) == 2
    output = capsys.readouterr()
    (line,) = output.err.splitlines()
    assert output.out == ""
    return line


def test_bench_passes_images_to_predictors(clip, archive, tmp_path, capsys):
    folder, rows = archive
    data = ("--data-dir", str(write_v1_0(tmp_path / "data")), "--predictors", f"{clip},static")
    words = "bench --subset pqpp-v1.0 --targets mean_hbpp --format json"
    arguments = (*words.split(), *data)
    assert main((*arguments, "--image-dir", folder)) == 0
    results = json.loads(capsys.readouterr().out)["rows"]
    predictions = Predictor.from_pretrained(clip).predict(rows, "mean_hbpp")[:, 0]
    expected = stats.pearsonr(predictions, [row[-1] for row in V1_0_ROWS]).statistic
    assert [row["n"] for row in results] == [3, 3]
    assert results[0]["pearson"] == pytest.approx(expected, abs=1e-6)
    line = reject(capsys, *arguments)
    assert "clip needs a column '<model>_images' or 'images'" in line
    assert "--image-dir" in line


def test_predict_reads_a_dataset_with_images(clip, archive, tmp_path, capsys):
    folder, rows = archive
    dataset = ("--dataset", "pqpp", "--subset", "pqpp-v1.0", "--split", "train")
    dataset += ("--data-dir", str(write_v1_0(tmp_path / "data")), "--image-dir", folder)
    assert main(("predict", *dataset, "--predictor", str(clip), "--format", "json")) == 0
    results = json.loads(capsys.readouterr().out)
    assert [row["prompt"] for row in results] == [row["prompt"] for row in rows]
    expected = Predictor.from_pretrained(clip).predict(rows, "mean_hbpp")[:, 0]
    assert [row["mean_hbpp_predicted"] for row in results] == pytest.approx(expected, abs=1e-6)


def test_predict_reads_folders_and_saved_datasets(tmp_path, capsys):
    import datasets

    texts = ["a red cat", "two dogs", "three\nbirds"]
    dataset = datasets.Dataset.from_dict({"caption": texts, "prompt": ["x", "y", "z"]})
    dataset.to_parquet(tmp_path / "files" / "train.parquet")
    dataset.save_to_disk(tmp_path / "plain")
    datasets.DatasetDict({"a": dataset, "b": dataset.select([1])}).save_to_disk(tmp_path / "splits")
    static = Predictor.from_pretrained("static")
    for name, split, indices in (
        ("files", (), [0, 1, 2]),
        ("plain", (), [0, 1, 2]),
        ("splits", ("--split", "b"), [1]),
        ("splits", ("--split", "all"), [0, 1, 2, 1]),
    ):
        arguments = ("predict", "--dataset", str(tmp_path / name), "--column", "caption", *split)
        assert main((*arguments, "--format", "json")) == 0
        results = json.loads(capsys.readouterr().out)
        assert [row["prompt"] for row in results] == [texts[i] for i in indices]
        values = [[row[target] for target in TARGETS] for row in results]
        expected = static.predict([texts[i] for i in indices], TARGETS)  # batches of one size
        np.testing.assert_allclose(values, expected, atol=1e-9)
    for option in ("--subset", "--data-dir", "--image-dir"):
        line = reject(capsys, "predict", "--dataset", str(tmp_path / "plain"), option, "x")
        assert option in line
    line = reject(capsys, "predict", "--dataset", str(tmp_path / "splits"), "--column", "caption")
    assert "--split is missing; choose from the splits of" in line and ": a, b" in line


def test_malformed_token_is_not_shown(monkeypatch, capsys):
    """The message of the HTTP library contains the token."""

    class LocalProtocolError(Exception):
        __module__ = "httpx"

    def fail(*_, **__):
        raise LocalProtocolError("Illegal header value b'Bearer hf_SECRET'")

    monkeypatch.setattr("datasets.load_dataset", fail)
    line = reject(capsys, "predict", "--dataset", "some/repo")
    assert "malformed" in line and "SECRET" not in line


def test_code_in_a_folder_is_never_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Predictor.from_pretrained("static-train").save_pretrained("model")
    for name in ("model", "mine"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / f"{name}.py").write_text("open('executed', 'w')")
    (tmp_path / "mine" / "train.csv").write_text("prompt\na cat\n")
    assert main(("predict", "a cat", "--predictor", "./model")) == 0
    capsys.readouterr()
    assert "mine cannot be loaded" in reject(capsys, "predict", "--dataset", "mine")
    assert not (tmp_path / "executed").exists()
