"""Predictors that use images, on the user's own benchmark: build, train, predict and bench."""

import json
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.tiny_models import get_recipe_class, import_trainer, save_clip  # noqa: E402

import pqpp  # noqa: E402
from pqpp_cli.main import main  # noqa: E402
from pqpp_datasets.errors import BenchmarkError  # noqa: E402
from pqpp_datasets.load import load_benchmark  # noqa: E402
from pqpp_datasets.own_benchmark.images import add_saved_images  # noqa: E402
from pqpp_files.errors import PqppError  # noqa: E402
from pqpp_files.options.recipe import parse_recipe  # noqa: E402
from pqpp_models import ModelError, Predictor  # noqa: E402

MODELS = ("Flux 2", "mini-dalle")
N_PROMPTS = 40


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """Write votes from 1 to 5 on images of two models; brighter images have higher votes."""
    folder = tmp_path_factory.mktemp("votes")
    (folder / "pictures").mkdir()
    random = np.random.default_rng(0)
    lines = ["prompt,image,model,annotator,label"]
    for n, model, copy in product(range(N_PROMPTS), MODELS, (0, 1)):
        label = int(random.integers(1, 6))
        pixels = np.full((16, 16, 3), 50 * label, np.uint8)
        name = f"{n}_{model}_{copy}.png"
        Image.fromarray(pixels).save(folder / "pictures" / name)
        lines += [f"A cat number {n}.,{name},{model},{who},{label}" for who in "ab"]
    (folder / "votes.csv").write_text("\n".join(lines))
    return folder


def build_dataset(votes, output, keep="path"):
    arguments = ["build", str(votes / "votes.csv"), "--scale", "likert5", "--output", str(output)]
    arguments += ["--image-dir", str(votes / "pictures"), "--keep-images", keep]
    assert main(arguments) == 0
    return str(output)


@pytest.mark.parametrize("keep", ["path", "bytes"])
def test_adds_images_to_rows(votes, tmp_path, cache, keep):
    dataset = build_dataset(votes, tmp_path / "mine", keep)
    rows = load_benchmark(dataset, split="train")
    table = add_saved_images(rows, dataset, votes / "pictures" if keep == "path" else None)
    assert table.column_names == [*rows.column_names, "flux-2_images", "mini-dalle_images"]
    images = load_benchmark(dataset, "images", split="train")
    images = images.filter(lambda image: image["model"] == "Flux 2")
    for row in table:
        scores = [k["score"] for k in images if k["prompt_id"] == row["prompt_id"]]
        assert len(row["flux-2_images"]) == 2
        brightness = [np.asarray(image).mean() for image in row["flux-2_images"]]
        assert brightness == [50 * score for score in scores]
        assert np.mean(brightness) / 50 == pytest.approx(row["flux-2_rating"])
    assert add_saved_images(table, dataset) is table
    splits = load_benchmark(dataset, image_dir=str(votes / "pictures"))
    assert splits["train"].column_names == table.column_names


def test_rejects_missing_images(votes, tmp_path, cache):
    dataset = build_dataset(votes, tmp_path / "mine")
    rows = load_benchmark(dataset, split="train")
    with pytest.raises(BenchmarkError, match=r"stores only names of images.*`image_dir`"):
        add_saved_images(rows, dataset)
    with pytest.raises(BenchmarkError, match=r"\.png: image of .*"):
        add_saved_images(rows, dataset, tmp_path)
    with pytest.raises(BenchmarkError, match="stores are damaged"):
        add_saved_images(rows.map(lambda _: {"prompt_id": [0]}), dataset, votes / "pictures")
    (tmp_path / "bare").mkdir()
    rows.to_parquet(tmp_path / "bare" / "train.parquet")
    bare = str(tmp_path / "bare")
    assert add_saved_images(rows, bare) is rows
    with pytest.raises(BenchmarkError, match="bare stores no images"):
        add_saved_images(rows, bare, tmp_path)


def train(name, dataset, folder, *arguments):
    script = import_trainer(name)
    clip = str(save_clip(folder / "clip"))
    flags = ("--dataset", dataset, "--model", clip, "--output_dir", str(folder / "run"))
    flags += ("--per_device_train_batch_size", "16")
    recipe = parse_recipe(get_recipe_class(name), "", "", [*flags, *arguments])
    script.train(recipe)
    return str(folder / "run" / "model")


def test_clip_learns_ratings_of_new_images(votes, tmp_path, cache, capsys, monkeypatch):
    """Brighter images have higher ratings, which holds for the test images too."""
    dataset = build_dataset(votes, tmp_path / "mine")
    pictures = str(votes / "pictures")
    flags = ["--tuning", "frozen", "--num_train_epochs", "30", "--head_dropout", "0"]
    flags += ["--learning_rate", "0.003", "--image_dir", pictures]
    flags += ["--targets", "flux-2_rating,mini-dalle_rating,mean_rating"]
    model = train("clip", dataset, tmp_path, *flags)
    predictor = Predictor.from_pretrained(model)
    assert predictor.targets == ("flux-2_rating", "mini-dalle_rating", "mean_rating")
    assert dict(predictor.limits) == {one: [1.0, 5.0] for one in predictor.targets}
    rows = add_saved_images(load_benchmark(dataset, split="test"), dataset, pictures)
    predictions = predictor.predict(rows)
    assert ((predictions >= 1) & (predictions <= 5)).all()
    np.testing.assert_allclose(predictions[:, 2], predictions[:, :2].mean(axis=1), atol=1e-12)
    assert np.corrcoef(predictions[:, 0], rows["flux-2_rating"][:])[0, 1] > 0.7
    capsys.readouterr()
    command = ["--dataset", dataset, "--split", "test", "--image-dir", pictures, "--format", "json"]
    assert main(["bench", "--predictors", model, *command]) == 0
    results = json.loads(capsys.readouterr().out)["rows"]
    assert [row["target"] for row in results] == list(predictor.targets)
    assert results[0]["pearson"] > 0.7
    assert main(["predict", "--predictor", model, *command]) == 0
    rows = json.loads(capsys.readouterr().out)
    values = [row["flux-2_rating_predicted"] for row in rows]
    assert values == pytest.approx(predictions[:, 0].tolist(), abs=1e-6)
    assert main(["bench", "--predictors", model, "--dataset", dataset, "--split", "test"]) == 2
    assert "set --image-dir to the folder of the images" in capsys.readouterr().err
    stored = build_dataset(votes, tmp_path / "stored", "bytes")
    assert main(["bench", "--predictors", model, "--dataset", stored]) == 0


def test_correlation_cnn_trains_on_own_images(votes, tmp_path, cache, capsys, monkeypatch):
    """It predicts from images what it predicts from the similarities of their embeddings."""
    from transformers import AutoModel, AutoProcessor, pipeline

    dataset = build_dataset(votes, tmp_path / "mine", "bytes")
    flags = ("--num_train_epochs", "1", "--targets", "mean_rating")
    model = train("correlation_cnn", dataset, tmp_path, *flags)
    clip = AutoModel.from_pretrained(tmp_path / "clip")
    processor = AutoProcessor.from_pretrained(tmp_path / "clip").image_processor
    rows, similarities = [], []
    for n in range(3):
        names = [f"{n}_{model}_{copy}.png" for model, copy in product(MODELS, (0, 1))]
        paths = [str(votes / "pictures" / name) for name in names]
        pixels = processor(list(map(Image.open, paths)), return_tensors="pt")
        with torch.no_grad():
            embeddings = clip.get_image_features(**pixels).pooler_output.numpy()
        unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
        rows.append({"prompt": "a cat", "images": paths})
        similarities.append({"similarities": unit @ unit.T})
    monkeypatch.chdir(tmp_path)  # in which the encoder is
    values = Predictor.from_pretrained(model).predict(similarities)[:, 0].tolist()
    assert len({*np.round(values, 4)}) > 1
    expected = pytest.approx(values, abs=1e-5)
    assert pqpp.predict(rows, predictor=model)["mean_rating"].tolist() == expected
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = ["predict", "--predictor", model, "--format", "json"]
    for source in ("--file", "--dataset"):
        capsys.readouterr()
        assert main([*command, source, str(tmp_path / "rows.jsonl")]) == 0
        predicted = json.loads(capsys.readouterr().out)
        assert [row["mean_rating"] for row in predicted] == expected
    piped = pipeline("prompt-performance-prediction", model=model)(rows)
    assert [row["mean_rating"] for row in piped] == expected
    assert main(["bench", "--predictors", model, "--dataset", dataset, "--split", "test"]) == 0
    foreign = Predictor.from_pretrained(model)
    foreign.details = {**foreign.details, "recipe": {"model": str(tmp_path / "clip")}}
    with pytest.raises(ModelError, match="copy that folder"):
        foreign.predict(rows)
    save_clip(tmp_path / "clip", 24)
    assert main([*command, "--file", "rows.jsonl"]) == 2
    assert "clip has changed since" in capsys.readouterr().err
    monkeypatch.chdir(votes)
    assert main([*command, "--file", str(tmp_path / "rows.jsonl")]) == 2
    assert "in a folder 'clip'; copy" in capsys.readouterr().err


def test_rejects_targets_unsuitable_for_images(votes, tmp_path, cache):
    dataset = build_dataset(votes, tmp_path / "mine", "bytes")
    rows = load_benchmark(dataset).map(lambda row: {"x_hbpp": 1.0, "clip_p10": 0.1})
    for split, table in rows.items():
        table.to_parquet(tmp_path / "own" / f"{split}.parquet")
    folder = str(tmp_path / "own")
    for targets, message in (
        ("mean_rating,x_hbpp", "must use the same measure"),
        ("clip_p10", "'clip_p10' is not a target of `task` 'generation'"),
    ):
        with pytest.raises(PqppError, match=message):
            train("clip", folder, tmp_path, "--targets", targets)
