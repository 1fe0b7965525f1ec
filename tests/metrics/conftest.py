"""A browser, and evaluate's caches out of the home folder, before any test imports evaluate."""

import atexit
import os
import shutil
import tempfile

from support.browser import browser, make_visitor  # noqa: F401

_folder = tempfile.mkdtemp(prefix="pqpp-metrics-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ.setdefault("HF_MODULES_CACHE", f"{_folder}/modules")
os.environ.setdefault("HF_METRICS_CACHE", f"{_folder}/metrics")
