"""Small folders in the published layouts of PQPP, written by the tests."""

import csv
from pathlib import Path

V1_0_HEADER = [
    "id",
    "image_id",
    "best_caption",
    "blip2_rr",
    "clip_rr",
    "retrieval_avg_rr",
    "blip2_pk",
    "clip_pk",
    "retrieval_avg_pk",
    "glide_score",
    "sdxl_score",
    "avg_generative_score",
]
V1_0_ROWS = [
    (11, 101, "A cat.", 0.5, 1.0, 0.75, 0.2, 0.4, 0.3, 0.5, 1.5, 1.0),
    (12, 102, "Two dogs,\nin the rain ", 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, -1.0, 2.0, 0.5),
    (13, 103, 'A sign that says "go"', 0.25, 0.25, 0.25, 0.0, 0.2, 0.1, 1.0, 1.0, 1.0),
]


def write_csv(path: Path, header, rows) -> Path:
    """Write a CSV file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return path


def write_v1_0(folder: Path, splits=("train", "validation"), rows=V1_0_ROWS) -> Path:
    """Write splits of v1.0, each with the same three rows but ids of its own."""
    for number, split in enumerate(splits):
        shifted = [(row[0] + 100 * number, *row[1:]) for row in rows]
        write_csv(folder / "dataset" / f"{split}.csv", V1_0_HEADER, shifted)
    return folder


def write_v1_1(folder: Path, splits=("train", "val")) -> Path:
    """Write splits of v1.1: three MS COCO prompts and a DrawBench one, orders that differ.

    The prompt of image 30 has no retrieval row; "Only retrieved." has no generation row.
    """
    ground = folder / "dataset" / "generative" / "ground_truth"
    texts = [(10, "A cat.", "mscoco"), (5, "A red car.", "drawbench"), (20, "Two dogs\n", "mscoco")]
    texts.append((30, "No match", "mscoco"))
    scores = {
        "glide": [0.5, -1.0, 1.0, 2.0],
        "sdxl": [1.5, 1.0, 2.0, 2.0],
        "average": [1.0, 0.0, 1.5, 2.0],
    }
    for split in splits:
        for name, values in scores.items():
            rows = [
                (i, text, score, source)
                for (i, text, source), score in zip(texts, values, strict=True)
            ]
            rows = rows[::-1] if name == "glide" else rows
            header = ("caption_id", "caption", "score", "source")
            write_csv(ground / name / f"{name}_{split}.csv", header, rows)
        _write_retrieval(folder / "dataset" / "retrieval" / "ground_truth", split)
    write_categories(folder)
    return folder


def write_categories(folder: Path, rows=(("A red car.", "Colors ", 0.0),)) -> Path:
    """Write the file that holds the categories of DrawBench, and the one of its splits."""
    drawbench = folder / "dataset" / "generative" / "drawbench"
    write_csv(drawbench / "drawbench_split.csv", ("index", "split"), [(5, "train")])
    path = drawbench / "drawbench_generative_task_average_score_gt.csv"
    return write_csv(path, ("Prompts", "Category", "score"), rows)


def _write_retrieval(ground: Path, split: str) -> None:
    header = ("", "prompt", "source", "index", "precision", "reciprocal_rank", "caption_id")
    texts = [("Two dogs\n", "mscoco", 2002), ("Only retrieved.", "mscoco", 4004)]
    texts.append(("A cat.", "mscoco", 1001))
    values = {
        f"clip/clip_retrieval_{split}_results.csv": [(0.1, 1.0), (0.2, 0.5), (0.3, 0.25)],
        f"blip2/blip2_retrieval_{split}_results.csv": [(0.3, 0.5), (0.4, 0.5), (0.5, 0.75)],
        f"average/average_{split}.csv": [(0.2, 0.75), (0.3, 0.5), (0.4, 0.5)],
    }
    for path, scores in values.items():
        rows = [
            (n, text, source, n, *score, caption_id)
            for n, ((text, source, caption_id), score) in enumerate(zip(texts, scores, strict=True))
        ]
        write_csv(ground / path, header, rows)
