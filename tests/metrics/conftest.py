"""Keeps evaluate's caches out of the home folder, where no test has imported evaluate before."""

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="pqpp-metrics-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ.setdefault("HF_MODULES_CACHE", f"{_folder}/modules")
os.environ.setdefault("HF_METRICS_CACHE", f"{_folder}/metrics")
