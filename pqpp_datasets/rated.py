"""Benchmarks of rated images and videos: AGIQA-3K, GenAI-Bench, T2V and TIA2."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import load_entry, make_features, make_file_finder
from pqpp_datasets.tables import Column, file_error, read_csv, read_validated_json
from pqpp_datasets.target_columns import average_columns, to_targets
from pqpp_files.foreign.json_values import read_json

_RANGE = (1.0, 5.0)  # of ratings

# AGIQA-3K: generated images with mean opinion scores of quality and of alignment to the prompt.
#
# Source: Li et al., "AGIQA-3K: An Open Database for AI-Generated Image Quality Assessment"; file at
# github.com/lcysyzxdxc/AGIQA-3k-Database, MIT.
#
# Properties of the published data: ten prompts have no image of DALL-E 2 and four none of
# Midjourney. Stable Diffusion 1.5 has four settings and Midjourney two, so a mean over a prompt's
# images weighs generators by their settings. Scores are from 0 to 5.

_AGIQA_FILE = "data.csv"
_AGIQA_SCORES = ("mos_align", "std_align", "mos_quality", "std_quality")
_AGIQA_COLUMNS = {
    "name": Column("string", form=r"[A-Za-z0-9.]+_[a-z]+_[0-9]{3}\.jpg"),
    "prompt": Column("string"),
    **dict.fromkeys(("adj1", "adj2", "style"), Column("string", optional=True)),
    **dict.fromkeys(_AGIQA_SCORES, Column("float64", 0, 5)),
}
_AGIQA_SCHEMA = pa.schema(
    {
        "prompt_id": pa.int64(),
        **dict.fromkeys(("prompt", "adj1", "adj2", "style"), pa.string()),
        **dict.fromkeys(("file_name", "model", "setting"), pa.string()),
        **dict.fromkeys(_AGIQA_SCORES, pa.float64()),
    }
)


def read_agiqa(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the rated images, in the order of the published file."""
    rows = read_csv(folder / _AGIQA_FILE, _AGIQA_COLUMNS).to_pylist()
    for row in rows:
        row["file_name"] = row.pop("name")
        row["model"], row["setting"], number = row["file_name"].removesuffix(".jpg").split("_")
        row["prompt_id"] = int(number)
    return pa.Table.from_pylist(rows, schema=_AGIQA_SCHEMA)


# GenAI-Bench: prompts of designers with three raters' ratings of six generators' images.
#
# Source: Li et al., "GenAI-Bench: Evaluating and Improving Compositional Text-to-Visual
# Generation"; file at github.com/linzhiqiu/t2v_metrics, Apache-2.0: the 527 prompts whose ratings
# of images are public.
#
# Properties of the published data: two ratings are typing errors, 41 (prompt 00232, DALL-E 3) and
# 33 (prompt 00253, DeepFloyd); only the means leave them out. 258 prompts have no Chinese text. The
# paper calls the file's `SDXL_2_1` SD v2.1.

# The file's name of each model.
GENAI_MODELS, T2V_MODELS = read_json(Path(__file__).with_name("rated_models.json")).values()

_GENAI_FILE = "genai_image.json"
_GENAI_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("prompt_id", "prompt", "chinese_prompt"), pa.string()),
        "ratings": pa.struct(dict.fromkeys(GENAI_MODELS, pa.list_(pa.int64())).items()),
        **{f"{name}_rating": pa.float64() for name in (*GENAI_MODELS, "mean")},
    }
)


def read_genai(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the prompts, in the order of the published file."""
    rows = []
    for key, entry in read_validated_json(folder / _GENAI_FILE, "genai").items():
        ratings = {name: entry["models"][published] for name, published in GENAI_MODELS.items()}
        valid = {
            name: [rating for rating in scores if _RANGE[0] <= rating <= _RANGE[1]]
            for name, scores in ratings.items()
        }
        means = {f"{n}_rating": float(average_columns(r)) if r else None for n, r in valid.items()}
        # As in `pqpp build`, empty if the mean of a model is empty.
        mean = None if None in means.values() else float(average_columns([*means.values()]))
        row = {"prompt_id": key, "prompt": entry["prompt"], "ratings": ratings}
        row["chinese_prompt"] = entry.get("prompt in Chinese")
        rows.append({**row, **means, "mean_rating": mean})
    return pa.Table.from_pylist(rows, schema=_GENAI_SCHEMA)


# T2V: prompts of real users with mean ratings of how well five generators' videos match them.
#
# Source: Wu et al., "Towards A Better Metric for Text-to-Video Generation" (T2VScore, data set
# TVGE); file at github.com/linzhiqiu/t2v_metrics, Apache-2.0. A neighbouring task: the prompts are
# for videos and include motion and camera.
#
# Properties of the published data: 17 prompts have no video of Gen-2; four texts occur twice with
# different ratings; "Five dogs on the street.", "A fish eating a pelican." and "A panda making
# latte art." are also prompts of DrawBench. The prompts 47, 195, 197 and 225 are also in studies on
# which predictors are evaluated: exclude these prompts from training.

_T2V_FILE = "datasets/t2vscore_alignment_score.json"
_T2V_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("prompt_id", "prompt"), pa.string()),
        **{f"{name}_rating": pa.float64() for name in (*T2V_MODELS, "mean")},
    }
)


def read_t2v(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the prompts, in the order of the published file."""
    rows = []
    for key, entry in read_validated_json(folder / _T2V_FILE, "t2v").items():
        ratings = {name: float(value) for name, (value,) in entry["models"].items()}
        ratings["mean"] = float(average_columns([*ratings.values()]))
        columns = {f"{name}_rating": rating for name, rating in ratings.items()}
        rows.append({"prompt_id": key, "prompt": entry["prompt"], **columns})
    return pa.Table.from_pylist(rows, schema=_T2V_SCHEMA)


# TIA2: images of Stable Diffusion 2.1 with three raters' answers to whether they match the prompt.
#
# Source: Kim et al., "Confidence-aware Reward Optimization for Fine-tuning Text-to-Image Models";
# files at github.com/kykim0/TextNorm, Apache-2.0. Two sets: pairs of objects, and numbers of
# objects.
#
# Properties of the published data: an answer is 1 for aligned, 0 for not aligned and -1 for a
# missing answer (1,917 times, only in the compositions). Every image has at least one answer. Only
# `mean_rate` is computed.

_TIA2_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("prompt", "file_name"), pa.string()),
        "labels": pa.list_(pa.int8()),
        "mean_rate": pa.float64(),
    }
)


tia2_files = make_file_finder("human_annotations/human_labels_{split}.json")


def read_tia2(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the rated images of one set, in the order of the published file."""
    path = folder / tia2_files(folder, split)[0]
    rows = []
    for key, entry in read_validated_json(path, "tia2").items():
        if entry["image"] != key:
            problem = f"expected the image {key!r:.40}, got {entry['image']!r:.40}"
            raise file_error(f"{path}, {key:.40}", problem)
        answers = [answer for answer in entry["human_labels"] if answer != -1]
        rate = float(average_columns(answers)) if answers else None
        row = {"prompt": entry["caption"], "file_name": key, "labels": entry["human_labels"]}
        rows.append({**row, "mean_rate": rate})
    return pa.Table.from_pylist(rows, schema=_TIA2_SCHEMA)


_GENAI_TARGETS = to_targets(GENAI_MODELS, "rating", _RANGE)
_T2V_TARGETS = to_targets(T2V_MODELS, "rating", _RANGE)
BENCHMARKS = tuple(
    load_entry(name, features=make_features(schema, targets), read=reader, files=paths)
    for name, schema, targets, reader, paths in (
        ("agiqa", _AGIQA_SCHEMA, (), read_agiqa, make_file_finder(_AGIQA_FILE)),
        ("genai", _GENAI_SCHEMA, _GENAI_TARGETS, read_genai, make_file_finder(_GENAI_FILE)),
        ("t2v", _T2V_SCHEMA, _T2V_TARGETS, read_t2v, make_file_finder(_T2V_FILE)),
        ("tia2", _TIA2_SCHEMA, (), read_tia2, tia2_files),
    )
)
