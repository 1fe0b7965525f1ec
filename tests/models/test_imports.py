"""Importing pqpp_models loads no heavy packages."""

import json
from pathlib import Path

import pytest
from support.processes import run_python

import pqpp_models

HEAVY = {"torch", "transformers", "datasets", "evaluate", "nltk", "scipy", "pandas", "sklearn"}
# The package that this process tests, and nothing loaded at the interpreter's start.
PLAIN = {"PQPP_NO_AUTOLOAD": "1", "PYTHONPATH": str(Path(pqpp_models.__file__).parents[1])}


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import pqpp_models; pqpp_models.TARGETS; pqpp_models.list_predictors()", "safetensors"),
        ("import pqpp_models.measures.linguistic", "huggingface_hub"),
        ("import pqpp_models.text.ridge.predictor", "huggingface_hub"),
    ],
)
def test_import_loads_no_heavy_module(code, forbidden, tmp_path):
    code += "\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    process = run_python(code, tmp_path, **PLAIN)
    assert process.returncode == 0, process.stderr
    loaded = {name.split(".")[0] for name in json.loads(process.stdout)}
    assert not loaded & (HEAVY | {forbidden})
