"""The whole road with the votes of four studies: build, fit, and score on prompts left out.

    python benchmarks/own_benchmark.py --data-dir DATA --builds BUILDS [--encoder MINILM]

DATA has `gimbrr` and `ratings`; BUILDS has a folder `without_STUDY` for each study, trained by
`train_static.py --without STUDY`, since the shipped `static` has learned them all. For each study:

- `pqpp build` makes a benchmark from its votes, or ready means, with options alone;
- `pqpp fit` learns the mean target of its train split, on the network of the build
  without the study;
- with --encoder, `train_bert.py` with the MiniLM recipe learns the same from train;
- all are scored on the built test split, beside the number of words (fewer is better) and the
  `alignment` of the build without the study: Spearman's coefficient with its 95 % interval.

Seconds are of the wall, on a machine that may do other work.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_cli.main import main as pqpp
from pqpp_datasets.load import load_benchmark
from pqpp_metrics.functional import qpp_report
from pqpp_models import Predictor
from pqpp_models.alignment.leave_one_out import fewer_words

ROOT = Path(__file__).parents[1]
DIRECTORY = "gimbrr/data/Prompt_dir_230228.csv"
GIMBRR = f"""--prompts DATA/{DIRECTORY} --same-text keep --column prompt_id=ID
--column prompt=Prompt --column category=Task --column image=File_name --column model=Algorithm
--column label=annotation"""
TIA2 = """--column prompt=caption --annotators label_1,label_2,label_3 --model sd2.1 --scale yes-no
--missing -1"""
GENAI = "--annotators rating_1,rating_2,rating_3 --scale likert5 --missing 41,33"
AGIQA = "--column image=name --column score=mos_align --column deviation=std_align --scale 0..5"
STUDIES = {
    "gimbrr": f"DATA/gimbrr/annotations/annotations_df_230311.csv {GIMBRR}",
    "tia2_composition": f"DATA/ratings/tia2_composition.csv {TIA2}",
    "tia2_counting": f"DATA/ratings/tia2_counting.csv {TIA2}",
    "genai": f"DATA/ratings/genai_bench_527.csv {GENAI}",
    "agiqa": f"DATA/ratings/agiqa3k.csv {AGIQA}",
}
"""The words of `pqpp build` for each study; DATA stands for the folder."""


def main() -> None:
    """Print a row for each study, and the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", required=True, help="folder of the studies")
    parser.add_argument("--builds", type=Path, required=True, help="folder of without_STUDY")
    parser.add_argument("--encoder", help="a MiniLM, to train by its recipe too")
    options = parser.parse_args()
    names = ["pqpp fit", "build without it", "fewer words"]
    names[1:1] = ["MiniLM recipe"] if options.encoder else []
    columns = ["study", "target", "test prompts", *names, "build, s", "fit, s"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    rows = []
    for study in STUDIES:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(study, options, Path(folder))
        rows.append([found[name][0] for name in names])
        cells = [f"{a:.3f} ({b:.2f} to {c:.2f})" for a, b, c in (found[name] for name in names)]
        told = [found["target"], str(found["n"]), *cells, *(f"{s:.1f}" for s in found["seconds"])]
        print(f"| {study} | " + " | ".join(told) + " |", flush=True)
    means = [f"**{one:.3f}**" for one in np.mean(rows, axis=0)]
    print("| mean | | | " + " | ".join(means) + " | | |")


def measured(study: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Go the whole road with one study."""
    words = [word.replace("DATA/", f"{options.data_dir}/") for word in STUDIES[study].split()]
    made, predictor = str(folder / study), str(folder / "predictor")
    seconds = [run(["build", *words, "--output", made])]
    splits = load_benchmark(made)
    targets = [name for name in splits["test"].column_names if name.endswith(("_rate", "_rating"))]
    target = next((name for name in targets if name.startswith("mean_")), targets[0])
    without = str(options.builds / f"without_{study}")
    fit = ["fit", made, "--targets", target, "--encoder", without]
    seconds.append(run([*fit, "--output", predictor]))
    test = splits["test"].filter(lambda row: row[target] is not None)
    prompts, scores = list(test["prompt"]), np.array(test[target])
    said = {
        "pqpp fit": Predictor.from_pretrained(predictor).predict(prompts, target)[:, 0],
        "build without it": Predictor.from_pretrained(without).predict(prompts, "alignment")[:, 0],
        "fewer words": fewer_words(prompts),
    }
    if options.encoder:
        tuned = train_minilm(options.encoder, made, target, folder / "minilm")
        said["MiniLM recipe"] = Predictor.from_pretrained(tuned).predict(prompts, target)[:, 0]
    figures = {name: with_interval(values, scores) for name, values in said.items()}
    return {"target": target, "n": len(scores), "seconds": seconds, **figures}


def run(words: list[str]) -> float:
    """Run a command of pqpp, and return its seconds; what it prints is shown if it fails."""
    printed, began = io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(printed), quiet(printed):
        status = pqpp(words)
    if status:
        raise SystemExit(f"pqpp {' '.join(words)}\n{printed.getvalue()}")
    return time.perf_counter() - began


@contextlib.contextmanager
def quiet(printed: io.StringIO) -> Iterator[None]:
    """Keep what goes to standard error with the rest."""
    with contextlib.redirect_stderr(printed):
        yield


def train_minilm(encoder: str, made: str, target: str, output: Path) -> str:
    """Train the MiniLM recipe on a built benchmark, and return the folder of its predictor."""
    words = [sys.executable, str(ROOT / "training/train_bert.py"), "--model", encoder]
    words += ["--config", str(ROOT / "training/recipes/minilm.yaml"), "--dataset", made]
    words += ["--subset", "none", "--targets", target, "--output", str(output)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return str(output / "model")


def with_interval(values: np.ndarray, scores: np.ndarray) -> tuple[float, float, float]:
    """Return Spearman's coefficient and its 95 % interval."""
    found = qpp_report(values, scores, measures=("spearman",))["spearman_qpp"]
    return found["spearman_qpp"], found["ci_low"], found["ci_high"]


if __name__ == "__main__":
    main()
