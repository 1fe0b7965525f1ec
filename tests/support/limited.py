"""Loads hostile folders in a separate process, and measures the memory of each."""

import json
import subprocess
import sys

_CHILD = """
import json, resource, signal, sys
from pathlib import Path

from pqpp_files.errors import PqppError
from pqpp_models import Predictor


def get_memory(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024


def load(folder):
    Predictor.from_pretrained(folder).predict(["a cat"])


sound, *hostile = json.loads(sys.stdin.read())
load(sound)
most = get_memory("VmSize") + 600_000_000
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for folder in hostile:
    signal.alarm(30)  # ends this process
    before = get_memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    try:
        load(folder)
        outcome, message = "loaded", ""
    except PqppError as error:
        outcome, message = "refused", str(error)
    except Exception as error:
        outcome, message = type(error).__name__, str(error)
    print(json.dumps([outcome, message, get_memory("VmHWM") - before]), flush=True)
"""


def load_hostile(sound, hostile):
    """Load a sound folder of a predictor, then hostile ones, at most 600 MB above the sound one.

    Returns:
        For each of the hostile ones `refused`, `loaded` or the name of another error, the error's
        text, and the bytes of memory that it took; one that takes 30 seconds ends the process.
    """
    process = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps([str(folder) for folder in (sound, *hostile)]),
        capture_output=True,
        text=True,
        timeout=600,
    )
    results = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("[")]
    ended_result = ["ended", process.stderr[-500:], 0]
    return results + [ended_result] * (len(hostile) - len(results))
