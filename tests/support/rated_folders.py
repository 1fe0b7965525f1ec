"""Small folders in the published layouts of the studies whose raters judged images of prompts."""

import json
from pathlib import Path

from support.pqpp_folders import write_csv

AGIQA_HEADER = ["name", "prompt", "adj1", "adj2", "style"]
AGIQA_HEADER += ["mos_quality", "std_quality", "mos_align", "std_align"]
AGIQA = [
    ("AttnGAN_normal_000.jpg", "a red car", "", "", "", 1.25, 0.5, 0.75, 0.25),
    ("sd1.5_lowstep_001.jpg", "a cat, sharp, baroque", "sharp", "", "baroque", 3.5, 0.25, 4, 0.5),
]
TIA2 = {
    "composition": {"image_0_0_0.jpg": ("a bed and a cup", [0, -1, 1])},
    "counting": {
        "image_0_0_0.jpg": ("two cups", [1, 1, 0]),
        "image_0_0_1.jpg": ("two cups", [-1, -1, -1]),
    },
}
GENAI_MODELS = (
    "DALLE_3",
    "SDXL_Turbo",
    "DeepFloyd_I_XL_v1",
    "Midjourney_6",
    "SDXL_2_1",
    "SDXL_Base",
)
GENAI = {
    "00001": {
        "id": "00001",
        "prompt": "A red car.",
        "prompt in Chinese": "\u4e00\u8f86\u7ea2\u8f66",
        "models": {name: [number % 5 + 1, 4, 5] for number, name in enumerate(GENAI_MODELS)},
    },
    "00002": {
        "id": "2",
        "prompt": "No cat.",
        "models": {name: [2, 2, 2] for name in GENAI_MODELS} | {"SDXL_Base": [41, 3, 4]},
    },
}
T2V = {
    "0": {
        "prompt": "A cat jumps.",
        "models": {
            "floor33": [1.3],
            "gen2": [2.2],
            "modelscope": [2.5],
            "pika": [1.2],
            "zeroscope": [1.9],
        },
    },
    "1": {"prompt": "Rain.", "models": {"floor33": [4.5], "pika": [3]}},
}


def write_agiqa(folder: Path) -> Path:
    """Write two images."""
    write_csv(folder / "data.csv", AGIQA_HEADER, AGIQA)
    return folder


def write_tia2(folder: Path) -> Path:
    """Write one image of the compositions and two of the countings."""
    for split, images in TIA2.items():
        entries = {
            name: {"image": name, "caption": caption, "human_labels": labels}
            for name, (caption, labels) in images.items()
        }
        _write_json(folder / f"human_annotations/human_labels_{split}.json", entries)
    return folder


def write_genai(folder: Path) -> Path:
    """Write two prompts, one with a rating beyond the scale."""
    return _write_json(folder / "genai_image.json", GENAI).parent


def write_t2v(folder: Path) -> Path:
    """Write two prompts, one that three generators have no video of."""
    return _write_json(folder / "datasets/t2vscore_alignment_score.json", T2V).parents[1]


def _write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


WRITERS = {"agiqa": write_agiqa, "tia2": write_tia2, "genai": write_genai, "t2v": write_t2v}
