"""The generated benchmark."""

import numpy as np
import pytest
from datasets import load_dataset


@pytest.fixture
def sample(cache):
    return load_dataset("pqpp", "sample")


def test_rows_are_marked_as_generated(sample):
    for split in sample.values():
        assert set(split["source"]) == {"generated"}
        assert all(name.startswith("generated-") for name in split["prompt_id"])
    assert "GENERATED" in sample["train"].info.description


def test_splits_share_no_prompt(sample):
    prompts = [prompt for split in sample.values() for prompt in split["prompt"]]
    assert len(set(prompts)) == len(prompts)


def test_rows_have_a_pinned_hash(sample):
    row = sample["train"][0]
    assert row["prompt"] == "Three zebras among some wild flowers with a red scarf."
    assert [row[name] for name in ("glide_hbpp", "clip_p10", "blip2_rr")] == [13 / 12, 0.6, 0.5]


def test_scores_do_not_depend_on_length(sample):
    for split in sample.values():
        words = [prompt.strip(".").split() for prompt in split["prompt"]]
        for lengths in ([len(w) for w in words], [len("".join(w)) / len(w) for w in words]):
            assert abs(np.corrcoef(lengths, split["mean_hbpp"])[0, 1]) < 0.3
