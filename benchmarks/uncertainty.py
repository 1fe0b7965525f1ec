"""Whether the deviations of a predictor hold and sort, and what it marks as `far`.

    python benchmarks/uncertainty.py runs/static runs/without_* --data-dir DATA

DATA has the folders of the studies of `alignment` (`agiqa`, `tia2`, `gimbrr`, `genai`, `t2v`,
`pqpp/v1.1`) and `pqpp/v1.0`. A study is measured by a checkpoint that was trained
without it (`train_static.py --without STUDY`); one that every checkpoint has learned is not
measured. Per study:

- coverage: true values within 1.645 deviations, 90 % nominal. True values are normal scores of
  their ranks within the study, times the prior's deviation; predictions are centred in the study;
- sorting: Spearman's coefficient of deviations and absolute errors; `on ranks` with predictions,
  too, as normal scores of their ranks;
- far: the share of prompts that are marked.

Targets of PQPP are measured in their units on the validation split of v1.0, by the first
checkpoint. --texts FILE has texts that are no English prompts, a JSON object with `prompt` and
`kind` on each line: the share of each kind that is marked is printed.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_datasets.load import load_benchmark
from pqpp_models import TARGETS, Predictor
from pqpp_models.alignment.sources import SOURCES, read_sources
from pqpp_models.bench.uncertainty import DRAWS, Held, held_in_units, held_on_ranks

TARGET = "alignment"


def main() -> None:
    """Print what holds of the checkpoints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoints", nargs="+", help="folders, or names that come with pqpp")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the data")
    parser.add_argument("--texts", type=Path, help="texts that are no prompts, as JSON lines")
    options = parser.parse_args()
    predictors = {name: Predictor.from_pretrained(name) for name in options.checkpoints}
    for name, one in predictors.items():
        learned = ", ".join(one.details.get("alignment_sources") or ["no study"])
        print(f"{name}: seed {(one.details.get('training') or {}).get('seed')}, learned {learned}")
    print_studies(predictors, options.data_dir)
    first = next(iter(predictors.values()))
    print_validation(first, options.data_dir)
    if options.texts:
        print_texts(first, options.texts)


def print_studies(predictors: dict[str, Any], data_dir: Path) -> None:
    """Print a line for each study, measured by a predictor that has not learned it."""
    able = {name: one for name, one in predictors.items() if TARGET in one.targets}
    if not able:
        print(f"\nnone of these predicts {TARGET}, so that no study is measured")
        return
    print(f"\n{TARGET}, on studies that were left out; equal values in {DRAWS} random orders")
    print(
        f"{'study':<18}{'prompts':>8}{'coverage':>10}{'sorting':>9}{'on ranks':>10}{'far':>7}  by"
    )
    rows = []
    for name, study in read_sources(str(data_dir)).items():
        builds = [n for n, one in able.items() if name not in learned_by(one)]
        if not builds:
            print(f"{name:<18}{len(study.prompts):>8}  not measured: every checkpoint learned it")
            continue
        one = able[builds[0]]
        found = one.predict_with_uncertainty(list(study.prompts), TARGET)
        unit = float(one.calibration["prior_deviation"][one.targets.index(TARGET)])
        held = held_on_ranks(found, study.scores, unit)
        on_ranks = held_on_ranks(found, study.scores, unit, shrunk=False).sorting
        rows.append((held.coverage, held.sorting, on_ranks, held.far))
        print(
            f"{name:<18}{line(held)[:-7]}{on_ranks:10.3f}{held.far:7.3f}  {builds[0]}", flush=True
        )
    if rows:
        mean = np.mean(rows, axis=0)
        print(f"{'mean':<18}{'':>8}{mean[0]:10.3f}{mean[1]:9.3f}{mean[2]:10.3f}{mean[3]:7.3f}")


def print_validation(predictor: Any, data_dir: Path) -> None:
    """Print a line for each of PQPP's targets, on the validation split."""
    targets = [target for target in TARGETS if target in predictor.targets]
    rows = load_benchmark("pqpp-v1.0", data_dir=str(data_dir / "pqpp/v1.0"), split="validation")
    true = np.column_stack([rows[target] for target in targets]).astype(float)
    found = predictor.predict_with_uncertainty(rows["prompt"], targets)
    held = held_in_units(found, true)
    split = predictor.details.get("data", "not told")
    print(f"\nvalidation of PQPP v1.0, trained on: {split}")
    print(f"{'target':<18}{'prompts':>8}{'coverage':>10}{'sorting':>9}{'far':>7}")
    for target, one in zip(targets, held, strict=True):
        print(f"{target:<18}{line(one)}")
    mean = np.mean([one[1:] for one in held], axis=0)
    print(f"{'mean':<18}{line(Held(len(true), *mean))}")


def print_texts(predictor: Any, path: Path) -> None:
    """Print which share of the texts of each kind is marked."""
    kinds = defaultdict(list)
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        kinds[row.get("kind", "")].append(row["prompt"])
    print(f"\nmarked as far, of {path.name}")
    marked = total = 0
    for kind, texts in kinds.items():
        far = int(predictor.predict_with_uncertainty(texts).far.sum())
        marked, total = marked + far, total + len(texts)
        print(f"{kind:<30}{far:>5} of {len(texts)}")
    print(f"{'all':<30}{marked:>5} of {total}")


def learned_by(predictor: Any) -> list[str]:
    """Return the studies that a checkpoint has learned; all, where it does not tell."""
    told = predictor.details.get("alignment_sources")
    return list(told) if isinstance(told, list) else list(SOURCES)


def line(held: Held) -> str:
    """Return a line's figures."""
    return f"{held.prompts:>8}{held.coverage:10.3f}{held.sorting:9.3f}{held.far:7.3f}"


if __name__ == "__main__":
    main()
