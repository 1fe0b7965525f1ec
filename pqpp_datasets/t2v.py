"""T2V: prompts of real users with mean ratings of how well five generators' videos match them.

Source: Wu et al., "Towards A Better Metric for Text-to-Video Generation" (T2VScore, data set TVGE);
file at github.com/linzhiqiu/t2v_metrics, Apache-2.0. A neighbouring task: the prompts are for
videos, up to motion and camera.

Kept as published: 17 prompts have no video of Gen-2, four texts stand twice with ratings of their
own, and "Five dogs on the street.", "A fish eating a pelican." and "A panda making latte art." are
prompts of DrawBench, too. The prompts 47, 195, 197 and 225 also stand in studies that predictors
are measured on: leave them out of a training.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import Benchmark, features_of, named_files
from pqpp_datasets.tables import read_form
from pqpp_datasets.target_columns import exact_mean, targets_for

MODELS = ("floor33", "gen2", "modelscope", "pika", "zeroscope")
CITATION = """@misc{wu2024t2vscore,
  title={Towards A Better Metric for Text-to-Video Generation},
  author={Wu, Jay Zhangjie and Fang, Guian and Wu, Haoning and Wang, Xintao and Ge, Yixiao and
          Cun, Xiaodong and Zhang, David Junhao and Liu, Jia-Wei and Gu, Yuchao and Zhao, Rui and
          Lin, Weisi and Hsu, Wynne and Shan, Ying and Shou, Mike Zheng},
  howpublished={arXiv:2401.07781},
  year={2024}
}"""

_FILE, _LEAST, _MOST = "datasets/t2vscore_alignment_score.json", 1, 5
_SCHEMA = pa.schema(
    {
        "prompt_id": pa.string(),
        "prompt": pa.string(),
        **{f"{name}_rating": pa.float64() for name in MODELS},
        "mean_rating": pa.float64(),
    }
)


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the prompts, in the order of the published file."""
    rows = []
    for key, entry in read_form(folder / _FILE, "t2v").items():
        ratings = {name: float(value) for name, (value,) in entry["models"].items()}
        rows.append(
            {
                "prompt_id": key,
                "prompt": entry["prompt"],
                **{f"{name}_rating": rating for name, rating in ratings.items()},
                "mean_rating": float(exact_mean(list(ratings.values()))),
            }
        )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


BENCHMARKS = (
    Benchmark(
        name="t2v",
        version="1.0.0",
        description=(
            "One row is a prompt for a video with mean ratings of how well the videos of five "
            "generators match it, 1 to 5."
        ),
        splits=("train",),
        features=features_of(_SCHEMA, targets_for(MODELS, "rating", (_LEAST, _MOST))),
        read=read,
        rows={"train": 512},
        files=named_files(_FILE),
        folders=("t2v",),
        licence="Apache-2.0",
        year=2024,
        citation=CITATION,
        homepage="https://github.com/linzhiqiu/t2v_metrics",
        annotators=("other",),
        tasks=("text-to-video",),
    ),
)
