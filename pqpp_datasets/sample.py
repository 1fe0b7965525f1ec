"""A small generated benchmark with the columns of PQPP, for trying things out with no data at all.

Nothing in it was judged by people and nothing was generated or retrieved: captions are drawn from a
small grammar and every score is a formula of the caption plus noise. Its phrases are hard by how
many things, letters or actions they ask for, and long ones are as often easy as hard: the number
and the length of words say nothing there, and what a predictor reaches proves nothing. Its rows say
so: `source` is `generated`, and every `prompt_id` begins with `generated-`.
"""

import itertools
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pqpp_datasets.benchmark import published
from pqpp_datasets.pqpp import SPLITS, features, table_of
from pqpp_files.foreign.json_values import read_json

SEED = 20240610
_SIZES = {"train": 240, "validation": 80, "test": 80}

# Each word with how hard it makes an image to generate, and how rare it is in a collection (0..1).
_WORDS = read_json(Path(__file__).with_name("sample_words.json"))


def read(folder: Path | None, split: str, options: Mapping[str, object]) -> pa.Table:
    """Return one split of the generated benchmark; the same rows on every machine.

    Example:
        >>> table = read(None, "test", {})
        >>> table.num_rows, table["source"][0].as_py()
        (80, 'generated')
    """
    # random.Random promises the same stream for a seed in every version of Python.
    generator = random.Random(SEED)
    captions = itertools.product(*_WORDS.values())
    order = sorted(captions, key=lambda _: generator.random())
    start = sum(_SIZES[name] for name in SPLITS[: SPLITS.index(split)])
    rows = [_row(index, parts, generator) for index, parts in enumerate(order)]
    chosen = rows[start : start + _SIZES[split]]
    return table_of({name: [row[name] for row in chosen] for name in chosen[0]})


def _row(index: int, parts: tuple[str, str, str], generator: random.Random) -> dict:
    weights = [known[part] for known, part in zip(_WORDS.values(), parts, strict=True)]
    difficulty = sum(hard for hard, _ in weights) / 2.6
    rarity = sum(rare for _, rare in weights) / 2.7
    row: dict[str, Any] = {
        "prompt_id": f"generated-{index}",
        "source": "generated",
        "prompt": " ".join(part for part in parts if part).capitalize() + ".",
        "category": parts[0],
    }
    for model, bias in (("glide", 0.0), ("sdxl", 0.5)):
        hbpp = 1.8 - 2.4 * difficulty + bias + generator.gauss(0, 0.4)
        row[f"{model}_hbpp"] = round(12 * min(max(hbpp, -1), 2)) / 12
    for model, bias in (("clip", 0.0), ("blip2", 0.1)):
        precision = 0.9 - rarity + bias + generator.gauss(0, 0.15)
        row[f"{model}_p10"] = round(10 * min(max(precision, 0), 1)) / 10
        rank = 1 + int(generator.expovariate(1) * (0.3 + 6 * rarity))
        row[f"{model}_rr"] = 1 / rank
    row["mean_hbpp"] = (row["glide_hbpp"] + row["sdxl_hbpp"]) / 2
    row["mean_p10"] = (row["clip_p10"] + row["blip2_p10"]) / 2
    row["mean_rr"] = (row["clip_rr"] + row["blip2_rr"]) / 2
    return row


BENCHMARKS = (published("sample", features=features, read=read),)
