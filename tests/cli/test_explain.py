"""`pqpp predict --explain`: explanations in files."""

import json

import pytest
from support.processes import run_pqpp

from pqpp_files.read_table import read_table
from pqpp_models import Predictor


@pytest.mark.parametrize("style", ["csv", "jsonl", "parquet"])
def test_explanations_are_a_column_in_files(tmp_path, style):
    (tmp_path / "in.csv").write_text('id,prompt\n1,"a red, cat"\n2," "\n3,two dogs\n')
    out = tmp_path / f"out.{style}"
    options = ("--file", "in.csv", "--target", "mean_rr", "--explain", "--output", str(out))
    done = run_pqpp("predict", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    cells = read_table(out)["explanation"]
    cells = [json.loads(cell) if cell else None for cell in cells] if style == "csv" else cells
    expected = Predictor.from_pretrained("static").explain(["a red, cat", "two dogs"], "mean_rr")
    assert cells[1] is None
    for cell, item in zip((cells[0], cells[2]), expected, strict=True):
        phrases, changes = ([part[key] for part in cell["changes"]] for key in ("phrase", "change"))
        assert phrases == [part.phrase for part in item.changes] and cell["target"] == "mean_rr"
        assert changes == pytest.approx([part.change for part in item.changes], abs=1e-5)
