"""The record of the rows that a predictor was fitted to."""

import hashlib

import numpy as np
import pytest
from datasets import Dataset
from models.made_up import made_up

from pqpp_models import TARGETS, Predictor
from pqpp_models.record.record import FittedRows
from pqpp_models.text.ridge.fitting import fit

SPELLINGS = ("A red cat.", "a red cat", "  A  RED cat!", "Ａ red cat", "A red\ncat")


def test_spelling_does_not_change_hash():
    fitted = FittedRows.from_rows(["A red cat."])
    assert len(FittedRows.from_rows(SPELLINGS)) == 1 and fitted.contains(SPELLINGS).all()
    assert not fitted.contains(["a red hat", "red cat", "", "  ", "a cat"]).any()


def test_hashes_are_sha256():
    text = int.from_bytes(hashlib.sha256(b"a red cat").digest()[:8], "big")
    id_and_text = int.from_bytes(hashlib.sha256(b"mscoco-7\0a red cat").digest()[:8], "big")
    rows = {"prompt": ["A red cat.", "A red cat."], "prompt_id": ["mscoco-7", "13"]}
    assert FittedRows.from_rows(rows).hashes.tolist() == [[text, 0], [text, id_and_text]]


def table(*pairs):
    return Dataset.from_dict({"prompt": [p for p, _ in pairs], "prompt_id": [i for _, i in pairs]})


@pytest.mark.parametrize(
    ("fitted", "scored", "expected"),
    [
        # The same text with two stable ids is two rows; with the same id, it is one.
        (table(("A cat.", "mscoco-1")), table(("a cat", "mscoco-2")), [False]),
        (table(("A cat.", "mscoco-1")), table(("a cat", "mscoco-1")), [True]),
        # The same id with another text is another row, such as a corrected caption.
        (table(("A cat.", "mscoco-1")), table(("a dog", "mscoco-1")), [False]),
        # If one side has no stable id, the text decides.
        (table(("A cat.", "mscoco-1")), table(("a cat", "13")), [True]),
        (table(("A cat.", "mscoco-1")), ["a cat", "a dog"], [True, False]),
        (["A cat."], table(("a cat", "mscoco-2")), [True]),
        (table(("A cat.", None)), table(("a cat", "drawbench-2"), ("a dog", None)), [True, False]),
    ],
)
def test_contains_compares_ids_and_prompts(fitted, scored, expected):
    assert FittedRows.from_rows(fitted).contains(scored).tolist() == expected


@pytest.fixture
def saved(ridge, tmp_path):
    return ridge.save_pretrained(tmp_path / "saved")


def test_saves_rows_without_text(ridge, saved):
    prompts, _ = made_up(120)
    loaded = Predictor.from_pretrained(saved)
    assert loaded.record.rows.contains(prompts).all()
    assert not loaded.record.rows.contains(["a cat that nobody saw"]).any()
    np.testing.assert_array_equal(loaded.record.rows.hashes, ridge.record.rows.hashes)
    content = (saved / "fitted_rows.safetensors").read_bytes()
    assert b"riding" not in content and len(content) < 16 * len(ridge.record.rows) + 200


def test_records_rows_of_network(monkeypatch):
    """The rows of the network are also rows of the predictor."""
    from pqpp_models.text.static import StaticPredictor

    network = StaticPredictor.from_shipped("static")
    network.record_fit(["A caption of the network."])
    monkeypatch.setattr(StaticPredictor, "from_shipped", classmethod(lambda cls, name: network))
    prompts, scores = made_up(40)
    rows = fit(prompts, scores, TARGETS).record.rows
    found = rows.contains(["a caption of the network", prompts[0], "a hat"])
    assert found.tolist() == [True, True, False]


@pytest.mark.realdata
def test_pqpp_splits_share_no_row(real_data, cache):
    """Two validation captions have the text of a train caption, but other ids."""
    from pqpp_datasets.load import load_benchmark
    from pqpp_models.prompts import normalise

    old = load_benchmark("pqpp-v1.0", data_dir=str(real_data))
    texts = {split: {normalise(one) for one in old[split]["prompt"]} for split in old}
    assert len(texts["train"] & texts["validation"]) == 2
    fitted = FittedRows.from_rows(old["train"])
    assert not fitted.contains(old["validation"]).any() and fitted.contains(old["train"]).all()
    # v1.1 has the same ids, but other scores.
    new = load_benchmark("pqpp", data_dir=str(real_data))
    assert (
        fitted.contains(new["train"]).sum() > 5900 and not fitted.contains(new["validation"]).any()
    )
