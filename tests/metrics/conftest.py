"""Keeps evaluate's caches out of the home folder, where no test has imported evaluate before."""

import atexit
import os
import shutil
import tempfile

from hypothesis import settings

_folder = tempfile.mkdtemp(prefix="pqpp-metrics-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ.setdefault("HF_MODULES_CACHE", f"{_folder}/modules")
os.environ.setdefault("HF_METRICS_CACHE", f"{_folder}/metrics")

# How long an example takes says more about the machine than about the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
