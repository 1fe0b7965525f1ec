"""The learning check of RAHF: a small model on generated scenes, and two ablations.

    python benchmarks/rahf_learning.py

Writes scenes, trains by the recipe `rahf_scenes` what sees all, what sees the prompt only
and what sees the image only, and measures each on the test scenes, which no training looked at.
`--only` names some of the three. What was trained is kept in the folder and used again as long as
the recipe and the scenes are the same; `--note` puts a remark on the circumstances into the page.
`--gallery` shows what the model that sees all says of test scenes: `make gallery` is this.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "training" / "recipes" / "rahf_scenes.yaml"
SCENES = {"train": 10000, "validation": 300, "test": 300}
# What decides how many cores a training uses.
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "KMP_BLOCKTIME")
RUNS = {"all": "none", "prompt only": "image", "image only": "prompt"}
TIMES = "times.json"
CPU_MINUTES = 15
"""What scenes and a training take, rounded up: told before they begin."""
SHOWN = 60
"""Test scenes in the gallery."""
# What is printed: table, column, the bar that it is measured by (of all), and the scale.
FIGURES = {
    "implausibility CC": ("implausibility_heatmap", "cc", 0.6, 1),
    "implausibility AUC-Judd": ("implausibility_heatmap", "auc_judd", 0.9, 1),
    "plausibility PLCC": ("scores", "plausibility_plcc", 0.7, 1),
    "keyword F1": ("keywords", "f1", 0.7, 100),
    "misalignment CC": ("misalignment_heatmap", "cc", None, 1),
    "misalignment AUC-Judd": ("misalignment_heatmap", "auc_judd", None, 1),
    "alignment PLCC": ("scores", "alignment_plcc", None, 1),
    "aesthetics PLCC": ("scores", "aesthetics_plcc", None, 1),
    "overall PLCC": ("scores", "overall_plcc", None, 1),
    "keyword F1, best threshold": ("keywords", "best_f1", None, 100),
    "keyword precision": ("keywords", "precision", None, 100),
    "keyword recall": ("keywords", "recall", None, 100),
}


def get_recipe_id(name: str) -> str:
    """Return the SHA-256 of what decides what one of the three learns: recipe, blind and scenes."""
    settings = json.dumps([RUNS[name], SCENES], sort_keys=True)
    return hashlib.sha256(RECIPE.read_bytes() + settings.encode()).hexdigest()


def describe_machine() -> str:
    """Return what the machine and the environment give a training, in words."""
    given = [f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ]
    return f"{os.cpu_count()} CPU(s), {' '.join(given) or 'no variable about threads set'}"


def train(folder: Path, name: str) -> dict:
    """Train one of the three in a process of its own; return how long it took and where."""
    command = [
        sys.executable,
        *("-m", "pqpp_cli", "train", "rahf"),
        *("--config", str(RECIPE)),
        *("--data-dir", str(folder / "scenes" / "richhf")),
        *("--pickapic-dir", str(folder / "scenes" / "pickapic")),
        *("--output_dir", str(get_folder(folder, name)), "--overwrite", "--blind", RUNS[name]),
    ]
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True)
    after = os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    took = {"seconds": time.perf_counter() - began, "cpu_seconds": used}
    return {**took, "recipe": get_recipe_id(name), "circumstances": describe_machine()}


def read_times(folder: Path) -> dict[str, dict]:
    """Return what the trainings took that were done before, by the recipe as it is now."""
    path = folder / TIMES
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: one for name, one in found.items() if one.get("recipe") == get_recipe_id(name)}


def get_folder(folder: Path, name: str) -> Path:
    """Return the folder of one of the three."""
    return folder / name.replace(" ", "_")


def measure(folder: Path, name: str) -> dict:
    """Return a trained model's number of weights and its figures on the test scenes."""
    from pqpp_feedback.rahf import bench
    from pqpp_feedback.rahf.examples import Examples, load_split
    from pqpp_feedback.rahf.feedback import FeedbackModel

    scenes = folder / "scenes"
    table = load_split("test", str(scenes / "richhf"), str(scenes / "pickapic"))
    model = FeedbackModel.from_pretrained(get_folder(folder, name) / "model", device="cpu")
    size = model.model.config.heatmap_size
    examples = Examples(table, model.processor, size, blind=RUNS[name])
    judged = bench.predict_rows(model, examples, range(len(examples)))
    predicted = bench.collect_predictions([judged])
    figures = bench.evaluate(predicted, bench.collect_ground_truth(examples))
    figures["keywords"]["best_f1"] = find_best_f1(list(judged.values()), examples.labels)
    weights = sum(one.numel() for one in model.model.parameters())
    return {"figures": figures, "weights": weights}


def find_best_f1(judged, labels) -> float:
    """Return the keywords' F1 in percent at the threshold that suits these very scenes best.

    A model that cannot know marks nothing at .5; this is the most that any threshold would give it.
    """
    probabilities = np.concatenate([one.probabilities for one in judged])
    marked = np.concatenate([np.array(one) == 0 for one in labels])
    # Words that were not looked at have no probability and are never marked.
    probabilities = np.nan_to_num(probabilities, nan=-1.0)
    order = np.argsort(-probabilities, kind="stable")
    ordered, hits = probabilities[order], np.cumsum(marked[order])
    chosen = np.arange(1, len(hits) + 1)
    # No threshold parts words of the same probability.
    possible = np.append(ordered[1:] != ordered[:-1], True) & (ordered >= 0)
    f1 = 2 * hits / (chosen + marked.sum())
    return float(100 * f1[possible].max(initial=0.0))


def write_gallery(folder: Path, page: Path) -> None:
    """Judge the first test scenes by the model that sees all, as a user would, and show them."""
    from pqpp_cli.main import main as pqpp
    from pqpp_feedback.rahf.examples import load_split

    scenes, images = folder / "scenes", folder / "images"
    images.mkdir(exist_ok=True)
    table = load_split("test", str(scenes / "richhf"), str(scenes / "pickapic"), limit=SHOWN)
    rows = []
    for number, row in enumerate(table):
        name = f"scene_{number:02d}.png"
        (images / name).write_bytes(row["image"]["bytes"])
        rows.append(json.dumps({"file_name": name, "prompt": row["prompt"]}))
    (images / "metadata.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    model, table = get_folder(folder, "all") / "model", folder / "verdicts.parquet"
    words = ["--image-dir", images, "--model", model, "--output", table, "--gallery", page]
    if pqpp(["assess", "rahf", *map(str, words), "--embed"]):
        raise SystemExit(1)
    print(f"gallery of {len(rows)} test scenes: {page}")


def format_cell(value: float) -> str:
    """Return a figure, a dash where it is undefined (a constant prediction has no correlation)."""
    return "–" if np.isnan(value) else f"{value:.3f}"


def describe_times(found: dict[str, dict], note: str | None) -> str:
    """Describe the machines on which the models were trained and measured."""
    import torch
    import transformers

    places = dict.fromkeys(one.get("circumstances", "not recorded") for one in found.values())
    return (
        f"torch {torch.__version__}, transformers {transformers.__version__}. Trained on: "
        f"{'; '.join(places)}. Measured on: {describe_machine()}. Times include the "
        f"evaluation after each epoch.{' ' + note if note else ''}"
    )


def render(found: dict[str, dict], note: str | None = None) -> str:
    """Return the page in Markdown."""
    lines = [
        "# What RAHF learns from generated scenes",
        "",
        "    python benchmarks/rahf_learning.py",
        "",
        "Recipe `rahf_scenes`: the small configuration "
        f"({found['all']['weights'] / 1e6:.2f} M weights), trained from scratch on "
        f"{SCENES['train']:,} scenes, with the epoch chosen on {SCENES['validation']} others, and "
        f"measured on {SCENES['test']} more (`tests/support/richhf_scenes.py`, seed 0). The "
        "ablations are trained and measured without the image, or without the words of the prompt "
        "(but with their number). Keywords: a word is marked as misaligned from a probability of "
        ".5; the best threshold is chosen on the test scenes, which flatters, most of all the "
        "ablations. Saliency metrics follow the authors' conventions, on scenes with a marked "
        "region.",
        "",
        describe_times(found, note),
        "",
        "| measured on test scenes | bar | " + " | ".join(found) + " |",
        "|---|---|" + "---|" * len(found),
    ]
    for name, (table, column, bar, scale) in FIGURES.items():
        values = [format_cell(one["figures"][table][column] / scale) for one in found.values()]
        lines.append(f"| {name} | {f'> {bar:g}' if bar else ''} | {' | '.join(values)} |")
    for name, key in (
        ("CPU seconds | < 1800, 15 minutes of two cores", "cpu_seconds"),
        ("wall seconds | ", "seconds"),
    ):
        lines.append(f"| {name} | {' | '.join(f'{one[key]:.0f}' for one in found.values())} |")
    lines += ["", "The bar of the two ablations is a keyword F1 under 0.4."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Train and measure what is not there yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="runs/rahf_learning")
    parser.add_argument("--output", default="benchmarks/rahf_learning.md")
    parser.add_argument("--note", help="a remark on the times, as what else ran beside")
    parser.add_argument("--only", help="some of: all, prompt only, image only; with commas")
    parser.add_argument("--gallery", help="also show what the model says of test scenes, as HTML")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(RUNS)
    if not set(names) <= set(RUNS):
        parser.error(f"--only is {options.only}; choose from {', '.join(RUNS)}")
    if options.gallery and "all" not in names:
        parser.error("--gallery needs the run `all`; add all to --only")
    from pqpp_files.atomic_write import write_file

    sys.path.insert(0, str(ROOT / "tests"))
    from support.richhf_scenes import write_scenes

    folder = Path(options.folder)
    todo = [name for name in names if name not in read_times(folder)]
    if todo:
        told = f"about {CPU_MINUTES * len(todo)} CPU minutes"
        print(f"writing {sum(SCENES.values()):,} scenes, training {', '.join(todo)}: {told}")
        sys.stdout.flush()
    if not (folder / "scenes").exists():
        write_scenes(folder / "scenes", SCENES)
    for name in todo:
        if name not in read_times(folder):
            times = train(folder, name)
            # Read anew: another process may train another of the three in the same folder.
            text = json.dumps({**read_times(folder), name: times}, indent=1)
            write_file(folder / TIMES, text)
    times = read_times(folder)
    found = {name: {**times[name], **measure(folder, name)} for name in RUNS if name in times}
    if "all" in found:
        text = render(found, options.note)
        write_file(Path(options.output), text)
        print(text)
    if options.gallery:
        write_gallery(folder, Path(options.gallery))


if __name__ == "__main__":
    main()
