"""Predictors that look at images, on a benchmark of one's own: build, train, predict, bench."""

import json
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.tiny_models import recipe_of, save_clip, trainer  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_datasets.errors import BenchmarkError  # noqa: E402
from pqpp_datasets.load import load_benchmark  # noqa: E402
from pqpp_datasets.own_benchmark.images import add_saved_images  # noqa: E402
from pqpp_files.errors import PqppError  # noqa: E402
from pqpp_files.options.recipe import parse_recipe  # noqa: E402
from pqpp_models import Predictor  # noqa: E402

MODELS = ("Flux 2", "mini-dalle")
PROMPTS = 40


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """Votes from 1 to 5 on images of two models; the brighter an image, the better."""
    folder = tmp_path_factory.mktemp("votes")
    (folder / "pictures").mkdir()
    random = np.random.default_rng(0)
    lines = ["prompt,image,model,annotator,label"]
    for n, model, copy in product(range(PROMPTS), MODELS, (0, 1)):
        label = int(random.integers(1, 6))
        bright = np.full((16, 16, 3), 50 * label, np.uint8)
        name = f"{n}_{model}_{copy}.png"
        Image.fromarray(bright).save(folder / "pictures" / name)
        lines += [f"A cat number {n}.,{name},{model},{who},{label}" for who in "ab"]
    (folder / "votes.csv").write_text("\n".join(lines))
    return folder


def built(votes, output, keep="path"):
    words = ["build", str(votes / "votes.csv"), "--scale", "likert5", "--output", str(output)]
    words += ["--image-dir", str(votes / "pictures"), "--keep-images", keep]
    assert main(words) == 0
    return str(output)


@pytest.mark.parametrize("keep", ["path", "bytes"])
def test_images_stand_beside_the_prompts(votes, tmp_path, cache, keep):
    made = built(votes, tmp_path / "mine", keep)
    rows = load_benchmark(made, split="train")
    found = add_saved_images(rows, made, votes / "pictures" if keep == "path" else None)
    assert found.column_names == [*rows.column_names, "flux-2_images", "mini-dalle_images"]
    kept = load_benchmark(made, "images", split="train")
    for row in found:
        of_row = [k for k in kept if k["prompt_id"] == row["prompt_id"]]
        assert len(row["flux-2_images"]) == 2
        brightness = {m: [np.asarray(i).mean() for i in row[f"{m}_images"]] for m in ("flux-2",)}
        assert brightness["flux-2"] == [50 * k["score"] for k in of_row if k["model"] == "Flux 2"]
        assert np.mean(brightness["flux-2"]) / 50 == pytest.approx(row["flux-2_rating"])
    assert add_saved_images(found, made) is found
    every = load_benchmark(made, image_dir=str(votes / "pictures"))
    assert every["train"].column_names == found.column_names


def test_images_that_are_not_there_are_named(votes, tmp_path, cache):
    made = built(votes, tmp_path / "mine")
    rows = load_benchmark(made, split="train")
    with pytest.raises(BenchmarkError, match=r"stores only names of images.*`image_dir`"):
        add_saved_images(rows, made)
    with pytest.raises(BenchmarkError, match=r"\.png: image of .*"):
        add_saved_images(rows, made, tmp_path)
    (tmp_path / "bare").mkdir()
    rows.to_parquet(tmp_path / "bare" / "train.parquet")
    bare = str(tmp_path / "bare")
    assert add_saved_images(rows, bare) is rows
    with pytest.raises(BenchmarkError, match="bare stores no images"):
        add_saved_images(rows, bare, tmp_path)


def trained(name, made, folder, *words):
    script = trainer(name)
    clip = str(save_clip(folder / "clip"))
    given = ("--dataset", made, "--model", clip, "--output_dir", str(folder / "run"))
    given += ("--per_device_train_batch_size", "16")
    recipe = parse_recipe(recipe_of(name), "", "", [*given, *words])
    script.train(recipe)
    return str(folder / "run" / "model")


def test_clip_learns_ratings_of_anybodys_images(votes, tmp_path, cache, capsys, monkeypatch):
    """Brighter images were rated higher: what is learned says so of images not seen."""
    made = built(votes, tmp_path / "mine")
    pictures = str(votes / "pictures")
    words = ["--tuning", "frozen", "--num_train_epochs", "30", "--head_dropout", "0"]
    words += ["--learning_rate", "0.003", "--image_dir", pictures]
    words += ["--targets", "flux-2_rating,mini-dalle_rating,mean_rating"]
    model = trained("clip", made, tmp_path, *words)
    predictor = Predictor.from_pretrained(model)
    assert predictor.targets == ("flux-2_rating", "mini-dalle_rating", "mean_rating")
    assert dict(predictor.limits) == {one: [1.0, 5.0] for one in predictor.targets}
    rows = add_saved_images(load_benchmark(made, split="test"), made, pictures)
    found = predictor.predict(rows)
    assert ((found >= 1) & (found <= 5)).all()
    np.testing.assert_allclose(found[:, 2], found[:, :2].mean(axis=1), atol=1e-12)
    assert np.corrcoef(found[:, 0], rows["flux-2_rating"][:])[0, 1] > 0.7
    capsys.readouterr()
    command = ["--dataset", made, "--split", "test", "--image-dir", pictures, "--format", "json"]
    assert main(["bench", "--predictors", model, *command]) == 0
    rows_of = json.loads(capsys.readouterr().out)["rows"]
    assert [row["target"] for row in rows_of] == list(predictor.targets)
    assert rows_of[0]["pearson"] > 0.7
    assert main(["predict", "--predictor", model, *command]) == 0
    said = json.loads(capsys.readouterr().out)
    given = [row["flux-2_rating_predicted"] for row in said]
    assert given == pytest.approx(found[:, 0].tolist(), abs=1e-6)
    assert main(["bench", "--predictors", model, "--dataset", made, "--split", "test"]) == 2
    assert "set --image-dir to the folder of the images" in capsys.readouterr().err


def test_pictures_that_the_benchmark_holds_need_no_folder(votes, tmp_path, cache, capsys):
    made = built(votes, tmp_path / "mine", "bytes")
    words = ("--tuning", "frozen", "--num_train_epochs", "1", "--targets", "mini-dalle_rating")
    model = trained("clip", made, tmp_path, *words)
    capsys.readouterr()
    assert main(["bench", "--predictors", model, "--dataset", made, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["target"] == "mini-dalle_rating"


def test_the_correlation_cnn_takes_anybodys_images(votes, tmp_path, cache):
    made = built(votes, tmp_path / "mine", "bytes")
    words = ("--num_train_epochs", "1", "--targets", "mean_rating")
    model = trained("correlation_cnn", made, tmp_path, *words)
    assert Predictor.from_pretrained(model).targets == ("mean_rating",)


def test_targets_that_no_image_can_be_trained_on(votes, tmp_path, cache):
    made = built(votes, tmp_path / "mine", "bytes")
    rows = load_benchmark(made).map(lambda row: {"x_hbpp": 1.0, "clip_p10": 0.1})
    for split, own in rows.items():
        own.to_parquet(tmp_path / "own" / f"{split}.parquet")
    own = str(tmp_path / "own")
    for targets, said in (
        ("mean_rating,x_hbpp", "must use the same measure"),
        ("clip_p10", "'clip_p10' is not a target of `task` 'generation'"),
    ):
        with pytest.raises(PqppError, match=said):
            trained("clip", own, tmp_path, "--targets", targets)
