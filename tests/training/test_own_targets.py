"""Training on a user's dataset: targets and ranges of ratings are read from the data."""

import json

import numpy as np
import pyarrow as pa
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from support.tiny_models import import_trainer, save_text_encoder  # noqa: E402

from pqpp_datasets.export.parquet_folder import write_split  # noqa: E402
from pqpp_datasets.target_columns import describe_targets, to_targets  # noqa: E402
from pqpp_files.errors import PqppError  # noqa: E402
from pqpp_files.options.recipe import parse_recipe  # noqa: E402
from pqpp_models import Predictor  # noqa: E402
from pqpp_models.training.recipe import PredictorRecipe  # noqa: E402

TARGETS = [*to_targets(["flux", "mini-dalle"], "hbpp"), *to_targets(["flux"], "rating", (1, 5))[:1]]


def write_dataset(folder, targets=TARGETS, **columns):
    """Write both splits of a dataset whose features describe its targets."""
    count = np.arange(24) % 6
    table = {"prompt": [f"A cat and {n} birds." for n in count]}
    table |= {target.name: 2 - count / 2 for target in TARGETS[:3]}
    table |= {"flux_rating": 1 + count / 2.0, **columns}
    for split in ("train", "validation"):
        write_split(folder / "data", split, [describe_targets(pa.table(table), targets)])
    return str(folder)


@pytest.fixture
def script():
    return import_trainer("bert")


@pytest.fixture
def train(script, tmp_path, cache):
    """Return a function that trains on a dataset and returns the predictor's folder."""

    def run(dataset: str, *flags: str):
        arguments = ("--dataset", dataset, "--model", str(save_text_encoder(tmp_path / "encoder")))
        arguments += ("--output_dir", str(tmp_path / "run"), "--num_train_epochs", "1")
        arguments += ("--per_device_train_batch_size", "8")
        recipe = parse_recipe(script.BertRecipe, "", "", [*arguments, *flags])
        script.train(recipe)
        return tmp_path / "run" / "model"

    return run


def test_trains_all_described_targets(train, tmp_path):
    folder = train(write_dataset(tmp_path / "mine"))
    predictor = Predictor.from_pretrained(folder)
    assert predictor.targets == ("flux_hbpp", "mini-dalle_hbpp", "mean_hbpp", "flux_rating")
    config = json.loads((folder / "config.json").read_text())
    assert config["limits"] == {"flux_rating": [1.0, 5.0]}
    model, prompts = predictor.model, ["a cat and 3 birds", "a cat"]
    ids = predictor.processor(prompts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        scores = model(ids["input_ids"], ids["attention_mask"]).scores.double().numpy()
    values = predictor.predict(prompts)
    np.testing.assert_allclose(values[:, 3], 1 + 4 * scores[:, 3], atol=1e-6)
    np.testing.assert_allclose(values[:, 0], 3 * scores[:, 0] - 1, atol=1e-6)
    assert "`flux_rating` (1 to 5)" in (folder / "README.md").read_text()


def test_rating_without_limits_gets_range_of_train_split(script, tmp_path, cache):
    dataset = write_dataset(tmp_path / "mine", targets=to_targets(["flux"], "rating")[:1])
    recipe = script.BertRecipe(dataset=dataset, model="m", output_dir="o")
    rows = script.load_rows(recipe, "train")
    assert recipe.targets == ["flux_rating"] and rows.limits == {"flux_rating": (1.0, 3.5)}


def test_listed_benchmarks_have_default_targets():
    targets = PredictorRecipe(output_dir="o").targets
    assert targets[:3] == ["glide_hbpp", "sdxl_hbpp", "mean_hbpp"] and len(targets) == 9
    targets = PredictorRecipe(dataset="genai", output_dir="o").targets
    assert targets[-1] == "mean_rating" and all(one.endswith("_rating") for one in targets)


@pytest.mark.parametrize(
    ("columns", "targets", "message"),
    [
        ({}, ["glide_hbpp"], "no column 'glide_hbpp' .columns: prompt"),
        ({"flux_rating": [7.0] * 24}, ["flux_rating"], r"must be from 1 to 5; .* from 7 to 7"),
    ],
)
def test_rejects_missing_or_invalid_targets(script, tmp_path, cache, columns, targets, message):
    dataset = write_dataset(tmp_path / "mine", **columns)
    recipe = script.BertRecipe(dataset=dataset, model="m", output_dir="o", targets=targets)
    with pytest.raises(PqppError, match=message):
        script.load_rows(recipe, "train")


def test_rejects_data_without_targets(script, tmp_path, cache):
    from datasets import Dataset

    Dataset.from_dict({"prompt": ["a"], "quality": [1.0]}).to_parquet(tmp_path / "d/train.parquet")
    recipe = script.BertRecipe(dataset=str(tmp_path / "d"), model="m", output_dir="o")
    with pytest.raises(PqppError, match="has no column <model>_<measure>"):
        script.load_rows(recipe, "train")


@pytest.mark.parametrize("limits", [{"flux_rating": [5, 1]}, {"flux_rating": "ab"}, {}])
def test_rejects_checkpoint_with_invalid_limits(train, tmp_path, limits):
    from pqpp_models import ModelError

    folder = train(write_dataset(tmp_path / "mine"), "--targets", "flux_rating")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "limits": limits}))
    with pytest.raises(ModelError, match=r"limits|range"):
        Predictor.from_pretrained(folder)
