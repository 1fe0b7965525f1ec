"""Reading a table, importing pqpp_models and predicting load no heavy packages."""

import json

import pytest
from support.processes import run_python

HEAVY = {"torch", "transformers", "datasets", "evaluate", "nltk", "scipy", "pandas", "sklearn"}
HEAVY |= {"pyarrow", "huggingface_hub", "matplotlib"}


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import pqpp_models; pqpp_models.TARGETS; pqpp_models.list_predictors()", "safetensors"),
        ("import pqpp_models.measures.linguistic", None),
        ("import pqpp_models.text.ridge.predictor", None),
        ("from pqpp_files.read_table import read_table; read_table('a.csv')", "numpy"),
        ("from pqpp_cli.main import main; main(['predict', 'a cat', '--target', 'mean_rr'])", None),
    ],
)
def test_loads_no_heavy_module(code, forbidden, tmp_path):
    (tmp_path / "a.csv").write_text("prompt\na\n")
    code += "\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    process = run_python(code, tmp_path)
    assert process.returncode == 0, process.stderr
    loaded = {name.split(".")[0] for name in json.loads(process.stdout.splitlines()[-1])}
    assert not loaded & (HEAVY | {forbidden})
