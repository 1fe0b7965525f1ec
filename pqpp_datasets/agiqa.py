"""AGIQA-3K: generated images with mean opinion scores of quality and of alignment to the prompt.

Source: Li et al., "AGIQA-3K: An Open Database for AI-Generated Image Quality Assessment"; file at
github.com/lcysyzxdxc/AGIQA-3k-Database, MIT.

Kept as published, and to be known when scores are computed: ten prompts have no image of DALL-E 2
and four none of Midjourney; Stable Diffusion 1.5 has four settings and Midjourney two, so that a
mean over a prompt's images weighs generators by their settings. Scores are in 0 to 5.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import Benchmark, features_of, named_files
from pqpp_datasets.tables import Column, read_csv

CITATION = """@article{li2023agiqa3k,
  title={{AGIQA-3K}: An Open Database for {AI}-Generated Image Quality Assessment},
  author={Li, Chunyi and Zhang, Zicheng and Wu, Haoning and Sun, Wei and Min, Xiongkuo and
          Liu, Xiaohong and Zhai, Guangtao and Lin, Weisi},
  journal={IEEE Transactions on Circuits and Systems for Video Technology},
  year={2023}
}"""

_FILE = "data.csv"
_NAME = r"[A-Za-z0-9.]+_[a-z]+_[0-9]{3}\.jpg"
_SCORES = ("mos_align", "std_align", "mos_quality", "std_quality")
_COLUMNS = {
    "name": Column("string", form=_NAME),
    "prompt": Column("string"),
    **dict.fromkeys(("adj1", "adj2", "style"), Column("string", optional=True)),
    **dict.fromkeys(_SCORES, Column("float64", 0, 5)),
}
_SCHEMA = pa.schema(
    {
        "prompt_id": pa.int64(),
        **dict.fromkeys(("prompt", "adj1", "adj2", "style"), pa.string()),
        **dict.fromkeys(("file_name", "model", "setting"), pa.string()),
        **dict.fromkeys(_SCORES, pa.float64()),
    }
)


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the judged images, in the order of the published file."""
    rows = read_csv(folder / _FILE, _COLUMNS).to_pylist()
    for row in rows:
        row["file_name"] = row.pop("name")
        row["model"], row["setting"], number = row["file_name"].removesuffix(".jpg").split("_")
        row["prompt_id"] = int(number)
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


BENCHMARKS = (
    Benchmark(
        name="agiqa",
        version="1.0.0",
        description=(
            "One row is a generated image with its prompt, its generator, and mean opinion scores "
            "of its quality and of its alignment to the prompt."
        ),
        splits=("train",),
        features=features_of(_SCHEMA),
        read=read,
        rows={"train": 2982},
        files=named_files(_FILE),
        folders=("agiqa",),
        licence="MIT",
        year=2023,
        citation=CITATION,
        homepage="https://github.com/lcysyzxdxc/AGIQA-3k-Database",
        annotators=("other",),
        images="https://drive.google.com/file/d/1ObuOZ6YZqZuxe4oRlaf3kdOBlTRg2GE4/view",
    ),
)
