"""How many images a second the arithmetic of `pqpp assess gimbrr` scores from kept evidence.

    python benchmarks/assess_speed.py [--images N]

Evidence is made up, of the size that the models leave: 91 names, 20 boxes. Times are CPU
seconds of one process, reading JSON included.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from metrics_timing import Row, print_table

from pqpp_feedback.assess.verdicts import rescore
from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
from pqpp_feedback.gimbrr.published import VOCABULARY, PublishedRoutine

TASKS = {
    "Single object": (["koala"], None),
    "Multiple objects": (["cow", "cup", "car"], None),
    "Negation": (["bed"], "cat"),
    "Counting": (["cow"], "5"),
    "Simple arithmetic": (["cow", "cup"], "3,6"),
}


def main() -> None:
    """Print a line per task, and then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2000, metavar="N", help="of each task")
    count = parser.parse_args().images
    routine = PublishedRoutine()
    table = []
    for task, (objects, label) in TASKS.items():
        rows = [make_row(number, task, objects, label) for number in range(count)]
        start = time.process_time()
        results = list(rescore(rows, [GimbrrAssessor(routine)]))
        seconds = time.process_time() - start
        print(f"{task}, {routine.name}: {len(results) / seconds:,.0f} images a CPU second")
        title = f"assess {count:,} images anew, {task}, {routine.name}, CPU time"
        table.append(Row(title, "none", None, seconds))
    print_table(table)


def make_row(number: int, task: str, objects: list[str], label: str | None) -> dict:
    """Return a row of verdicts with evidence."""
    random = np.random.default_rng(number)
    values = random.normal(0.2, 0.03, len(VOCABULARY)).round(6).tolist()
    names = [*objects, label or "cat"]
    rng = {name: {"bare": 0.2} for name in names}
    scores = random.random(20).round(6).tolist()
    boxes = [{"label": objects[0], "score": one, "box": [0, 0, 1, 1]} for one in scores]
    evidence = {
        "clip": {"bare": values, "own": rng, "scale": 100.0},
        "detector": {"labels": {name: name for name in objects}, "boxes": boxes},
    }
    asked = {"task": task, "representations": objects, "task_specific_label": label}
    return {
        **{"image": f"{number}/m_0.png", "prompt_id": str(number), "prompt": "", "task": task},
        **{"generator": "m", "assessor": "gimbrr", "routine": "", "asked": json.dumps(asked)},
        "evidence": json.dumps(evidence),
    }


if __name__ == "__main__":
    main()
