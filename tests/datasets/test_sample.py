"""The generated benchmark: small, the same everywhere, and marked as generated."""

import pytest
from datasets import load_dataset


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
