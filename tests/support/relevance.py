"""Relevance judgments in the layout of v1.1, written by the tests."""

import pickle
from pathlib import Path

from support.pqpp_folders import write_v1_1


def make_records(extra=()) -> list[dict]:
    """Return the records of two prompts, then the `extra` ones."""
    record = {"source": "mscoco", "index": 0, "gt": [7, 3], "prompt": "A cat.", "caption_id": 1001}
    other = {"source": "drawbench", "index": 1, "gt": [], "prompt": "A red car.", "caption_id": 99}
    return [record, other, *extra]


def write_relevance(folder: Path, records=None) -> Path:
    """Write the same records for two splits, with their generation and retrieval files."""
    write_v1_1(folder)
    for split in ("train", "val"):
        path = folder / f"dataset/retrieval/ground_truth/retrieval_{split}_gt.pickle"
        path.write_bytes(pickle.dumps(make_records() if records is None else records))
    return folder
