"""GenAI-Bench: prompts of designers with three raters' ratings of six generators' images.

Source: Li et al., "GenAI-Bench: Evaluating and Improving Compositional Text-to-Visual Generation";
file at github.com/linzhiqiu/t2v_metrics, Apache-2.0: the 527 prompts whose ratings of images are
public.

Kept as published: two ratings are slips of the keyboard, 41 (prompt 00232, DALL-E 3) and 33 (prompt
00253, DeepFloyd); only the means leave them out. 258 prompts have no Chinese text. The generators
are called as in the file; its `SDXL_2_1` is what the paper calls SD v2.1.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import Benchmark, features_of, named_files
from pqpp_datasets.tables import read_form
from pqpp_datasets.target_columns import exact_mean, targets_for

# Our name of a generator -> the file's.
MODELS = {
    "dalle_3": "DALLE_3",
    "midjourney_6": "Midjourney_6",
    "sdxl_turbo": "SDXL_Turbo",
    "sdxl_base": "SDXL_Base",
    "deepfloyd": "DeepFloyd_I_XL_v1",
    "sd_2_1": "SDXL_2_1",
}
CITATION = """@misc{li2024genaibench,
  title={{GenAI-Bench}: Evaluating and Improving Compositional Text-to-Visual Generation},
  author={Li, Baiqi and Lin, Zhiqiu and Pathak, Deepak and Li, Jiayao and Fei, Yixin and
          Wu, Kewen and Ling, Tiffany and Xia, Xide and Zhang, Pengchuan and Neubig, Graham and
          Ramanan, Deva},
  howpublished={arXiv:2406.13743},
  year={2024}
}"""

_FILE, _LEAST, _MOST = "genai_image.json", 1, 5
_SCHEMA = pa.schema(
    {
        "prompt_id": pa.string(),
        "prompt": pa.string(),
        "chinese_prompt": pa.string(),
        "ratings": pa.struct(dict.fromkeys(MODELS, pa.list_(pa.int64())).items()),
        **{f"{name}_rating": pa.float64() for name in MODELS},
        "mean_rating": pa.float64(),
    }
)


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the prompts, in the order of the published file."""
    rows = []
    for key, entry in read_form(folder / _FILE, "genai").items():
        ratings = {ours: entry["models"][theirs] for ours, theirs in MODELS.items()}
        means = {f"{name}_rating": _mean(some) for name, some in ratings.items()}
        rows.append(
            {
                "prompt_id": key,
                "prompt": entry["prompt"],
                "chinese_prompt": entry.get("prompt in Chinese"),
                "ratings": ratings,
                **means,
                "mean_rating": _mean_of_models(means.values()),
            }
        )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _mean(ratings: list[int]) -> float | None:
    """Return the mean of the ratings that the scale has."""
    known = [rating for rating in ratings if _LEAST <= rating <= _MOST]
    return float(exact_mean(known)) if known else None


def _mean_of_models(means: Iterable[float | None]) -> float | None:
    """Return the mean over the models, as `pqpp build` has it: empty where one of them is."""
    known = list(means)
    return None if None in known else float(exact_mean(known))


BENCHMARKS = (
    Benchmark(
        name="genai",
        version="1.0.0",
        description=(
            "One row is a prompt with three raters' ratings of how well an image of each of six "
            "generators matches it, 1 to 5, and their means."
        ),
        splits=("train",),
        features=features_of(_SCHEMA, targets_for(MODELS, "rating", (_LEAST, _MOST))),
        read=read,
        rows={"train": 527},
        files=named_files(_FILE),
        folders=("genai",),
        licence="Apache-2.0",
        year=2024,
        citation=CITATION,
        homepage="https://github.com/linzhiqiu/t2v_metrics",
        annotators=("expert-generated",),
        images="https://huggingface.co/datasets/BaiqiL/GenAI-Bench",
    ),
)
