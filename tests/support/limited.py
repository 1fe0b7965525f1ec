"""Loads hostile folders in a separate process, and measures the memory of each."""

import json
import subprocess
import sys

_CHILD = """
import json, resource, signal, sys
from pathlib import Path

from pqpp_files.errors import PqppError
from pqpp_models import Predictor


def in_use(what):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024


def load(folder):
    Predictor.from_pretrained(folder).predict(["a cat"])


sound, *hostile = json.loads(sys.stdin.read())
load(sound)
most = in_use("VmSize") + 600_000_000
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for folder in hostile:
    signal.alarm(30)  # ends this process
    before = in_use("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    try:
        load(folder)
        kind, said = "loaded", ""
    except PqppError as error:
        kind, said = "refused", str(error)
    except Exception as error:
        kind, said = type(error).__name__, str(error)
    print(json.dumps([kind, said, in_use("VmHWM") - before]), flush=True)
"""


def load_hostile(sound, hostile):
    """Load a sound folder of a predictor, then hostile ones, at most 600 MB above the sound one.

    Returns:
        For each of the hostile ones `refused`, `loaded` or the name of another error, the error's
        text, and the bytes of memory that it took; one that takes 30 seconds ends the process.
    """
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps([str(folder) for folder in (sound, *hostile)]),
        capture_output=True,
        text=True,
        timeout=600,
    )
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    ended_result = ["ended", done.stderr[-500:], 0]
    return results + [ended_result] * (len(hostile) - len(results))
