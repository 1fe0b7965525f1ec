"""A small folder with all studies on which `alignment` is fitted, in their published layouts."""

import json
from pathlib import Path

from support.benchmark_folders import GIMBRR_HEADER
from support.pqpp_folders import write_csv, write_v1_1
from support.rated_folders import AGIQA_HEADER, GENAI_MODELS

TEXTS = ("a cat", "two dogs", "a red car", "five cups on a bed", "no bird", "a sign that says go")
_V1_1 = "dataset/generative/ground_truth"


def write_studies(folder: Path) -> Path:
    """Write six prompts a study; each begins with its study's name, and the last is the hardest."""
    scores = [1 - rank / 10 for rank in range(len(TEXTS))]
    prompts = {
        name: [f"{name} {text}" for text in TEXTS]
        for name in ("agiqa", "composition", "counting", "gimbrr", "genai", "t2v", "drawbench")
    }
    rows = [
        (f"{model}_normal_{n:03}.jpg", prompt, "", "", "", 3, 0.5, 5 * scores[n], 0.25)
        for n, prompt in enumerate(prompts["agiqa"])
        for model in ("midjourney", "AttnGAN")
    ]
    write_csv(folder / "agiqa/data.csv", AGIQA_HEADER, rows)
    for split in ("composition", "counting"):
        entries = {
            f"image_{n}_{k}.jpg": {
                "image": f"image_{n}_{k}.jpg",
                "caption": prompt,
                "human_labels": [int(k > n), -1, 1],
            }
            for n, prompt in enumerate(prompts[split])
            for k in range(6)
        }
        _write_json(folder / f"tia2/human_annotations/human_labels_{split}.json", entries)
    _write_gimbrr(folder / "gimbrr", prompts["gimbrr"])
    models = [{name: [max(1, 5 - n)] * 3 for name in GENAI_MODELS} for n in range(len(TEXTS))]
    entries = {
        f"{n:05}": {"id": f"{n:05}", "prompt": prompt, "models": models[n]}
        for n, prompt in enumerate(prompts["genai"])
    }
    _write_json(folder / "genai/genai_image.json", entries)
    entries = {
        str(n): {"prompt": prompt, "models": {"pika": [5 * scores[n]]}}
        for n, prompt in enumerate(prompts["t2v"])
    }
    _write_json(folder / "t2v/datasets/t2vscore_alignment_score.json", entries)
    _write_drawbench(folder / "pqpp/v1.1", prompts["drawbench"])
    for name, file, score in (
        ("aigiqa", "aigiqa20k_half", "mos"),
        ("imagenhub", "imagenhub", "semantic_consistency"),
    ):
        # The second generator is always one better.
        rows = [
            (f"{name} {text}", f"generator {generator}", scores[n] + generator)
            for n, text in enumerate(TEXTS)
            for generator in (0, 1)
        ]
        write_csv(folder / f"ratings/{file}.csv", ["prompt", "model", score], rows)
    return folder


def _write_gimbrr(folder: Path, prompts: list[str]) -> None:
    prompt_rows = [
        (n, n + 1, prompt, "cat", True, "Counting" if n % 2 else "Relations", "", "", "")
        for n, prompt in enumerate(prompts)
    ]
    write_csv(folder / "data/Prompt_dir_230228.csv", GIMBRR_HEADER, prompt_rows)
    header = ["File_name", "annotation", "Dashboard_version", "Algorithm", "ID", "Prompt"]
    rows = [
        (f"{n}.png", model > n % 4, "v1", name, n + 1, prompt, n + 1, prompt)
        for n, prompt in enumerate(prompts)
        for model, name in enumerate(("Dalle", "MJ", "SD2.1", "SD1.5"))
    ]
    path = folder / "annotations/AAAI_EDGeS_23/annotations_df_230311.csv"
    write_csv(path, [*header, "Prompt_no", "Task_backup"], rows)


def _write_drawbench(folder: Path, prompts: list[str]) -> None:
    write_v1_1(folder)
    for name in ("glide", "sdxl", "average"):
        for split, numbers in (("train", range(3)), ("val", range(3, 6))):
            path = folder / _V1_1 / name / f"{name}_{split}.csv"
            lines = path.read_text("utf-8").splitlines()
            others = [line for line in lines if "drawbench" not in line]
            others += [f"{n},{prompts[n]},{2 - n / 2},drawbench" for n in numbers]
            path.write_text("\n".join(others) + "\n", "utf-8")


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
