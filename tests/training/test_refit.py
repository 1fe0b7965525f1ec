"""Fitting on train and validation: validation is not scored, the other build's figures are told."""

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
def files(tmp_path, monkeypatch):
    """A dataset with 40 rows of train and 20 of validation, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    made = {}
    for seed, (split, n) in enumerate({"train": 40, "validation": 20}.items()):
        prompts, scores = made_up(n, seed)
        rows = dict(zip(TARGETS, scores.T.tolist(), strict=True))
        rows["prompt"] = [f"{prompt} {at} {split}" for at, prompt in enumerate(prompts)]
        made[split] = Dataset.from_dict(rows)
        made[split].to_parquet(tmp_path / "data" / f"{split}.parquet")
    DatasetDict(made).save_to_disk(tmp_path / "saved")
    (tmp_path / "captions.txt").write_text("a cat\n")
    return tmp_path


def recipe(**given):
    return TextRecipe(**{"dataset": "data", "captions": "captions.txt", "model": "x/y"} | given)


def read(one):
    return one.read_split(one.train_split), one.read_split(one.validation_split)


def build(folder, prompts, **details):
    """Save a predictor with figures that was fitted to some prompts."""
    one = fit(prompts, [n / len(prompts) for n in range(len(prompts))], "mean_rr")
    one.details |= {"evaluation": SCORES, **details}
    return str(one.save_pretrained(folder))


@pytest.mark.parametrize("dataset", ["data", "saved"])
def test_both_splits_are_read(files, dataset):
    one = recipe(dataset=dataset, train_split="train+validation")
    train, validation = read(one)
    assert len(train) == 60 and len(validation) == 20
    assert train.prompts[40:] == validation.prompts
    assert one.describe_training(train, 0)["data"] == f"{dataset}, split train + validation"


def test_the_other_build_is_shown_beside(files):
    alone = build(files / "alone", recipe().read_split("train").prompts)
    one = recipe(train_split="train+validation", train_only=alone)
    assert one.read_evaluation("ridge", *read(one)) == {**SCORES, "fitted_on": "train"}


@pytest.mark.parametrize(
    ("scores", "kind", "given", "error", "said"),
    [
        ({"fitted_rows": 20}, "ridge", {}, PqppError, "must be a ridge predictor"),
        ({**SCORES, "fitted_rows": 5}, "ridge", {}, PqppError, "not fitted to it; choose another"),
        (SCORES, "static", {}, PqppError, "must be a static predictor"),
        (SCORES, "ridge", {"train_split": "train"}, PqppError, "training on validation too"),
        (None, "ridge", {}, ModelError, "config.json cannot be read"),
    ],
)
def test_another_build_is_refused_before_the_training(files, scores, kind, given, error, said):
    (files / "alone").mkdir()
    if scores:
        build(files / "alone", recipe().read_split("train").prompts, evaluation=scores)
    one = recipe(**{"train_split": "train+validation", "train_only": "alone"} | given)
    with pytest.raises(error, match=said) as caught:
        one.read_evaluation(kind, *read(one))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a/b/c", "../elsewhere", "/root/build"])
def test_no_path_is_told_to_others(files, name):
    with pytest.raises(PqppError, match="`fitted_on_train` must be"):
        recipe(fitted_on_train=name)


def test_a_predictor_tells_its_rows_and_where_the_other_build_is(files):
    one = recipe(train_split="train+validation", fitted_on_train="me/mine@v1")
    train, validation = read(one)
    made = fit(train.prompts, train.targets, TARGETS)
    one.record_training(made, train)
    folder = made.save_pretrained(files / "made")
    assert json.loads((folder / "config.json").read_text())["fitted_on_train"] == "me/mine@v1"
    record = Predictor.from_pretrained(folder).record
    assert record.fitted_on_train == "me/mine@v1"
    below = len(
        Predictor.from_pretrained("static-train").record.rows
    )  # of the network under the head
    assert record.rows.contains(validation.prompts).all() and len(record.rows) == below + 60


@pytest.mark.realdata
def test_the_relevant_images_of_both_splits_are_counted(files, real_data, cache):
    from pqpp_models.text.training.data import read_training_values

    folder = str(real_data / "pqpp" / "v1.0")
    one = recipe(
        dataset="pqpp-v1.0", data_dir=folder, targets=["mean_rr"], train_split="train+validation"
    )
    train = one.read_split(one.train_split)
    counts = np.exp(read_training_values(one, train)[:, -1])
    relevance = load_dataset("pqpp", "pqpp-relevance", data_dir=folder, split="validation")
    expected = [max(len(row["image_ids"]), 1) for row in relevance]
    assert counts[6000:].round().tolist() == expected and max(expected) > 1
