"""The generated benchmark: small, the same everywhere, and marked as generated."""

import numpy as np
import pytest
from datasets import load_dataset

from pqpp_datasets.errors import OptionError
from pqpp_datasets.pqpp import TARGETS


@pytest.fixture
def sample(cache):
    return load_dataset("pqpp", "sample")


def test_sizes_and_marks(sample):
    assert {name: split.num_rows for name, split in sample.items()} == {
        "train": 240,
        "validation": 80,
        "test": 80,
    }
    for split in sample.values():
        assert set(split["source"]) == {"generated"}
        assert all(name.startswith("generated-") for name in split["prompt_id"])
    assert "GENERATED" in sample["train"].info.description


def test_it_takes_no_folder(cache, tmp_path):
    with pytest.raises(OptionError, match="the configuration 'sample' takes no data_dir="):
        load_dataset("pqpp", "sample", data_dir=str(tmp_path))


def test_no_prompt_stands_in_two_splits(sample):
    prompts = [prompt for split in sample.values() for prompt in split["prompt"]]
    assert len(set(prompts)) == len(prompts)


def test_rows_do_not_change(sample):
    row = sample["train"][0]
    assert row["prompt"] == "Three zebras near a window with a red scarf."
    assert [row[name] for name in ("glide_hbpp", "clip_p10", "blip2_rr")] == [13 / 12, 0.6, 0.5]


def test_scores_have_the_ranges_and_steps_of_the_real_ones(sample):
    for name in TARGETS:
        values = np.concatenate([np.array(split[name]) for split in sample.values()])
        low, high = (-1, 2) if name.endswith("hbpp") else (0, 1)
        assert low <= values.min() < values.max() <= high
        if name in ("glide_hbpp", "sdxl_hbpp"):
            assert np.allclose(values * 12, np.round(values * 12))
    glide, sdxl, mean = (np.array(sample["test"][name]) for name in TARGETS[:3])
    assert np.array_equal((glide + sdxl) / 2, mean)


def test_there_is_something_to_learn(sample):
    # Prompts with the same subject do alike, as a predictor of words would use.
    train, test = sample["train"].to_pandas(), sample["test"].to_pandas()
    by_subject = train.groupby("category")["mean_hbpp"].mean()
    assert np.corrcoef(test["category"].map(by_subject), test["mean_hbpp"])[0, 1] > 0.3
