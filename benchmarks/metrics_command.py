"""What `pqpp metrics compute` costs as a process, in CPU and memory, beside Python code."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from metrics_ranking import DOCUMENTS, PEER, QUERIES, write_files
from metrics_timing import Row, add_version

REPEATS = 5
# Runs the rest of the command line as a child, and prints its CPU seconds and peak of kilobytes.
_METER = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
_EVALUATE = """
import evaluate
metric = evaluate.load("pqpp/kendall_qpp")
print(metric.compute(predictions=[1, 2, 3, 4], references=[2, 1, 4, 3]))
"""
_PYTREC_EVAL = """
import pytrec_eval
run, qrels = pytrec_eval.parse_run(open("run.trec")), pytrec_eval.parse_qrel(open("qrels.trec"))
print(len(pytrec_eval.RelevanceEvaluator(qrels, {"ndcg"}).evaluate(run)))
"""


def make_rows():
    """Compare on four rows, and on TREC files of a million lines."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "four.csv").write_text("predicted,true\n1,2\n2,1\n3,4\n4,3\n")
        files = ("--predictions", "four.csv:predicted", "--references", "four.csv:true")
        yield _make_row("kendall_qpp of four rows", place, files, _EVALUATE, "evaluate", "0.6 s")
        rng = np.random.default_rng(0)
        relevance = (rng.random((QUERIES, DOCUMENTS)) < 0.1).astype(np.int64)
        write_files(
            place / "run.trec",
            place / "qrels.trec",
            rng.standard_normal((QUERIES, DOCUMENTS)),
            relevance,
        )
        files = ("--predictions", "run.trec", "--references", "qrels.trec")
        task = f"ndcg of TREC files, {relevance.size:,} lines each"
        yield _make_row(task, place, files, _PYTREC_EVAL, PEER, "1.5 s")


def _make_row(task, folder, files, code, peer, aim):
    command = [sys.executable, "-m", "pqpp_cli.main", "metrics", "compute", task.split()[0], *files]
    seconds, memory = _measure_usage(command, folder)
    their_seconds, theirs = _measure_usage([sys.executable, "-c", code], folder)
    task += f", CPU time (aim: under {aim}), {memory:.0f} MB beside {theirs:.0f} MB"
    return Row(task, f"{add_version(peer)} in Python", their_seconds, seconds)


def _measure_usage(command, folder):
    """The median of CPU seconds and of megabytes at the peak, after a run that warms up."""
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root, "HF_HUB_OFFLINE": "1"}
    runs = []
    for _ in range(REPEATS + 1):
        done = subprocess.run(
            [sys.executable, "-c", _METER, *command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append(json.loads(done.stdout))
    seconds, kilobytes = zip(*runs[1:], strict=True)
    return statistics.median(seconds), statistics.median(kilobytes) / 1024
