"""TIA2: images of Stable Diffusion 2.1 with three raters' answers whether they match the prompt.

Source: Kim et al., "Confidence-aware Reward Optimization for Fine-tuning Text-to-Image Models";
files at github.com/kykim0/TextNorm, Apache-2.0. Two sets: pairs of objects, and numbers of objects.

Kept as published: an answer is 1 for aligned, 0 for not, -1 where the rater gave none (1,917 times,
in the compositions alone). Every image has at least one answer. Only `mean_rate` is computed.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import Benchmark, features_of, named_files
from pqpp_datasets.errors import DataFileError
from pqpp_datasets.tables import REMEDY, read_form
from pqpp_datasets.target_columns import exact_mean

CITATION = """@inproceedings{kim2024confidence,
  title={Confidence-aware Reward Optimization for Fine-tuning Text-to-Image Models},
  author={Kim, Kyuyoung and Jeong, Jongheon and An, Minyong and Ghavamzadeh, Mohammad and
          Dvijotham, Krishnamurthy and Shin, Jinwoo and Lee, Kimin},
  booktitle={International Conference on Learning Representations (ICLR)},
  year={2024}
}"""

_SCHEMA = pa.schema(
    {
        "prompt": pa.string(),
        "file_name": pa.string(),
        "labels": pa.list_(pa.int8()),
        "mean_rate": pa.float64(),
    }
)


files = named_files("human_annotations/human_labels_{split}.json")


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the judged images of one set, in the order of the published file."""
    path = folder / files(folder, split)[0]
    rows = []
    for key, entry in read_form(path, "tia2").items():
        if entry["image"] != key:
            raise DataFileError(
                f"{path}, {key:.40}: image is {entry['image']!r:.40}, it must be its own name; "
                f"{REMEDY}"
            )
        answers = [answer for answer in entry["human_labels"] if answer != -1]
        rows.append(
            {
                "prompt": entry["caption"],
                "file_name": key,
                "labels": entry["human_labels"],
                "mean_rate": float(exact_mean(answers)) if answers else None,
            }
        )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


BENCHMARKS = (
    Benchmark(
        name="tia2",
        version="1.0.0",
        description=(
            "One row is a generated image with its prompt, three raters' answers whether it "
            "matches, and the share of them that say so."
        ),
        splits=("composition", "counting"),
        features=features_of(_SCHEMA),
        read=read,
        rows={"composition": 15_000, "counting": 7500},
        files=files,
        folders=("tia2",),
        licence="Apache-2.0",
        year=2024,
        citation=CITATION,
        homepage="https://github.com/kykim0/TextNorm",
        images="https://drive.google.com/drive/folders/1sgWSzlFm740PFCngcRmsgN2J5oPYncCW",
    ),
)
