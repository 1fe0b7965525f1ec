"""Small folders in the published layouts of the other benchmarks, written by the tests."""

import io
import json
from pathlib import Path

import numpy as np
from PIL import Image

from support.pqpp_folders import write_csv
from support.richhf_records import write_split

CONQA_QUERIES = {
    "0": {"Text": "people at work", "Conceptual": True, "Seeds": [11, 12]},
    "3": {"Text": "a red car", "Conceptual": False, "Seeds": [13]},
}
CONQA_VOTES = {
    "0": {"11": [3, 0, 0], "12": [3, 1, 0], "14": [1, 1, 1], "15": [0, 3, 0]},
    "3": {"13": [2, 0, 0], "11": [2, 0, 1]},
}


def write_conqa(folder: Path, votes=None, rephrasings="repro-kit/exp_GPT_J6B.json") -> Path:
    """Write two queries, one of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "seed.json").write_text(json.dumps(CONQA_QUERIES))
    (folder / "mturk.json").write_text(json.dumps(CONQA_VOTES if votes is None else votes))
    (folder / rephrasings).parent.mkdir(exist_ok=True)
    (folder / rephrasings).write_text(json.dumps({"3": ["a car"], "0": ["work", "labour"]}))
    (folder / "vg_subset.txt").write_text("11\n12\n13\n14\n15\n")
    return folder


GIMBRR_HEADER = ["", "ID", "Prompt", "Representations", "Auto_assessment", "Task"]
GIMBRR_HEADER += ["Task_specific_label", "img2img_instructions", "Linked_prompts"]
GIMBRR_PROMPTS = [
    (0, 1, "5 apples", "apple", True, "Counting", "5", "", "3"),
    (1, 2, "Cow, unicycle ", "cow, unicycle ", False, "Multiple objects", "", "", "3,4"),
    (2, 3, "apple", "apple", True, "Single object", "", "", ""),
    (3, 4, "cow in a park", "cow", False, "img2img: Relations", "", "a.jpeg on b.jpeg", ""),
]
GIMBRR_ANNOTATIONS = [
    ("p1.png", True, "v1", "Dalle", 1, "5 apples"),
    ("p2.png", False, "v1", "Dalle", 2, "Pig, unicycle"),
    ("p3.png", True, "v1", "SD1.5", 3, "apple"),
    ("p3.png", False, "v1", "SD1.5", 3, "apple"),
    ("p1.png", False, "v2", "MJ", 1, "5 apples"),
    ("p1.png", False, "v2", "SD2.1", 1, "5 apples"),
]
GIMBRR_VERDICTS = [
    ("p1.png", 1, "Counting", True, "v3", "Dalle"),
    ("p3.png", 3, "Single object", True, "v3", "SD1.5"),
    ("p1.png", 1, "Counting", True, "v3", "MJ"),
    ("p1.png", 1, "Counting", False, "v3", "SD2.1"),
]


def write_gimbrr(folder: Path, subfolder="annotations/AAAI_EDGeS_23") -> Path:
    """Write four prompts and six annotations, two of them of one image."""
    write_csv(folder / "data" / "Prompt_dir_230228.csv", GIMBRR_HEADER, GIMBRR_PROMPTS)
    header = ["ID", "Object_num", "Extra_characteristic", "Num_features", "Common", "Num_objects"]
    extras = [(4, "", "", "", "", ""), (1, "2.0", "False", "", "", ""), (3, "", "", "", "", "")]
    extras.append((2, "", "", "", "True", "2.0"))
    write_csv(folder / subfolder / "Prompt_dir_230228_extraVars.csv", header, extras)
    header = ["File_name", "annotation", "Dashboard_version", "Algorithm", "ID", "Prompt"]
    header += ["Prompt_no", "Task_backup"]
    rows = [(*row, row[4], f"{GIMBRR_PROMPTS[row[4] - 1][5]} (old)") for row in GIMBRR_ANNOTATIONS]
    write_csv(folder / subfolder / "annotations_df_230311.csv", header, rows)
    header = ["File_name", "Prompt_no", "Task", "Score", "Dashboard_version", "Algorithm"]
    write_csv(folder / subfolder / "automated_annotations.csv", header, GIMBRR_VERDICTS)
    return folder


def make_heatmap(seed: int, size: int = 16, image_format: str = "PNG") -> bytes:
    """Return an encoded grey image with a few bright disks."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size]
    total = np.zeros((size, size))
    for row, column in generator.integers(0, size, (4, 2)):
        total += ((rows - row) ** 2 + (columns - column) ** 2 <= (size / 20) ** 2) / 3
    file = io.BytesIO()
    Image.fromarray((np.minimum(total, 1) * 255).astype(np.uint8)).save(file, image_format)
    return file.getvalue()


def make_richhf_rows(count: int, size: int = 16, image_format: str = "PNG") -> list[dict]:
    """Return rows in the columns of `richhf`, scores in quarters."""
    maps = [make_heatmap(seed, size, image_format) for seed in range(min(count + 1, 50))]
    return [
        {
            "filename": f"train/uid-{number}.png",
            "plausibility": number % 5 / 4,
            "alignment": (number + 1) % 5 / 4,
            "aesthetics": (number + 2) % 5 / 4,
            "overall": (number + 3) % 5 / 4,
            "implausibility_map": maps[number % len(maps)],
            "misalignment_map": maps[(number + 1) % len(maps)],
            "token_labels": [1, 0, 1][: 1 + number % 3],
        }
        for number in range(count)
    ]


def write_richhf(folder: Path, count: int = 4, splits=("train", "dev", "test"), **options) -> Path:
    """Write splits with the same rows."""
    for split in splits:
        write_split(folder / f"{split}.tfrecord", make_richhf_rows(count, **options))
    return folder


QUESTION = {"node": "girl", "question_weight": 1, "P": "Is there a girl?", "N": "Is nobody there?"}
QUESTIONNAIRE = {
    name: {"level_weight": weight, "questions": [QUESTION]}
    for name, weight in {"L1": 0.1, "L2": 0.2, "L3": 0.3, "L4": 0.4}.items()
}
VISTAR_PROMPTS = {
    "core": ['[GD|TR] A poster that says "Go" {font="Futura"}', "[SA|SF] Hanfu in neon light"],
    "hard": ['[GD|TR]No sign {a="1",b="2"} '],
}


def write_vistar(folder: Path) -> Path:
    """Write three prompts, and a questionnaire for one of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, prompts in VISTAR_PROMPTS.items():
        (folder / f"{split}.txt").write_text("".join(f"{prompt}\n" for prompt in prompts))
    line = json.dumps({"prompt_index": 1, "questionnaire": QUESTIONNAIRE})
    (folder / "core_questionnaires.jsonl").write_text(line + "\n")
    return folder
