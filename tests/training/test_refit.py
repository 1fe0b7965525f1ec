"""Fitting on train and validation: the card has the evaluation of the train-only build."""

import json

import numpy as np
import pytest
from datasets import Dataset, DatasetDict, load_dataset
from models.made_up import made_up

from pqpp_files.errors import PqppError
from pqpp_models import TARGETS, ModelError, Predictor
from pqpp_models.text.ridge.fitting import fit
from pqpp_models.text.training.recipe import TextRecipe

SCORES = {"validation": {"mean": [0.4, 0.3]}, "coverage_validation": 0.9}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write a dataset with 40 rows for training and 20 for validation to the working directory."""
    monkeypatch.chdir(tmp_path)
    splits = {}
    for seed, (split, n) in enumerate({"train": 40, "validation": 20}.items()):
        prompts, scores = made_up(n, seed)
        rows = dict(zip(TARGETS, scores.T.tolist(), strict=True))
        rows["prompt"] = [f"{prompt} {at} {split}" for at, prompt in enumerate(prompts)]
        splits[split] = Dataset.from_dict(rows)
        splits[split].to_parquet(tmp_path / "data" / f"{split}.parquet")
    DatasetDict(splits).save_to_disk(tmp_path / "saved")
    (tmp_path / "captions.txt").write_text("a cat\n")
    return tmp_path


def make_recipe(**options):
    return TextRecipe(**{"dataset": "data", "captions": "captions.txt", "model": "x/y"} | options)


def read_splits(recipe):
    return recipe.read_split(recipe.train_split), recipe.read_split(recipe.validation_split)


def save_predictor(folder, prompts, **details):
    """Save a predictor fitted to prompts, with an evaluation."""
    predictor = fit(prompts, [n / len(prompts) for n in range(len(prompts))], "mean_rr")
    predictor.details |= {"evaluation": SCORES, **details}
    return str(predictor.save_pretrained(folder))


@pytest.mark.parametrize("dataset", ["data", "saved"])
def test_reads_joined_splits(folder, dataset):
    recipe = make_recipe(dataset=dataset, train_split="train+validation")
    train, validation = read_splits(recipe)
    assert len(train) == 60 and len(validation) == 20
    assert train.prompts[40:] == validation.prompts
    assert recipe.describe_training(train, 0)["data"] == f"{dataset}, split train + validation"


def test_card_shows_evaluation_of_train_only_build(folder):
    folder = save_predictor(folder / "alone", make_recipe().read_split("train").prompts)
    recipe = make_recipe(train_split="train+validation", train_only=folder)
    assert recipe.read_evaluation("ridge", *read_splits(recipe)) == {**SCORES, "fitted_on": "train"}


@pytest.mark.parametrize(
    ("scores", "kind", "options", "error", "message"),
    [
        ({"fitted_rows": 20}, "ridge", {}, PqppError, "must be a ridge predictor"),
        ({**SCORES, "fitted_rows": 5}, "ridge", {}, PqppError, "not fitted to it; choose another"),
        (SCORES, "static", {}, PqppError, "must be a static predictor"),
        (SCORES, "ridge", {"train_split": "train"}, PqppError, "training on validation too"),
        (None, "ridge", {}, ModelError, "config.json cannot be read"),
    ],
)
def test_rejects_unsuitable_train_only_build(folder, scores, kind, options, error, message):
    (folder / "alone").mkdir()
    if scores:
        prompts = make_recipe().read_split("train").prompts
        save_predictor(folder / "alone", prompts, evaluation=scores)
    recipe = make_recipe(**{"train_split": "train+validation", "train_only": "alone"} | options)
    with pytest.raises(error, match=message) as caught:
        recipe.read_evaluation(kind, *read_splits(recipe))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a/b/c", "../elsewhere", "/root/build"])
def test_rejects_local_path_of_build(folder, name):
    with pytest.raises(PqppError, match="`fitted_on_train` must be"):
        make_recipe(fitted_on_train=name)


def test_records_rows_and_build(folder):
    recipe = make_recipe(train_split="train+validation", fitted_on_train="me/mine@v1")
    train, validation = read_splits(recipe)
    predictor = fit(train.prompts, train.targets, TARGETS)
    recipe.record_training(predictor, train)
    folder = predictor.save_pretrained(folder / "made")
    assert json.loads((folder / "config.json").read_text())["fitted_on_train"] == "me/mine@v1"
    record = Predictor.from_pretrained(folder).record
    assert record.fitted_on_train == "me/mine@v1"
    network = Predictor.from_pretrained("static-train")  # computes the features of the head
    assert record.rows.contains(validation.prompts).all()
    assert len(record.rows) == len(network.record.rows) + 60


@pytest.mark.realdata
def test_counts_relevant_images_of_both_splits(folder, real_data, cache):
    from pqpp_models.text.training.data import read_training_values

    folder = str(real_data / "pqpp" / "v1.0")
    recipe = make_recipe(
        dataset="pqpp-v1.0", data_dir=folder, targets=["mean_rr"], train_split="train+validation"
    )
    train = recipe.read_split(recipe.train_split)
    counts = np.exp(read_training_values(recipe, train)[:, -1])
    relevance = load_dataset("pqpp", "pqpp-relevance", data_dir=folder, split="validation")
    expected = [max(len(row["image_ids"]), 1) for row in relevance]
    assert counts[6000:].round().tolist() == expected and max(expected) > 1
