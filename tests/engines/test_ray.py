"""Predictions on Ray Data: those of the plain call, on a cluster of two processors, in time."""

import json
import subprocess
import sys

import pyarrow as pa
import pytest

import pqpp_engines
from pqpp_engines.ray_data import _predict_block
from pqpp_files.errors import MissingExtraError
from pqpp_models.errors import UnknownTargetError
from pqpp_models.predict import predict

SCRIPT = """
import json, sys
import ray
from pqpp_engines import ray_predict

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
texts = [f"a photo of {n} dogs" for n in range(300)]
rows = ray.data.from_items([{"prompt": one, "id": n} for n, one in enumerate(texts)])
whole = ray_predict(rows, "mean_hbpp", batch_size=20).take_all()
twice = ray_predict(rows.repartition(7), "mean_hbpp", uncertainty=True, num_cpus=2).take_all()
odd = [{"prompt": one} for one in ("a cat", None, 3, " ", "a dog")]
apart = ray_predict(ray.data.from_items(odd), "mean_hbpp").take_all()
together = ray_predict(ray.data.from_items(odd, override_num_blocks=1), "mean_hbpp").take_all()
print(json.dumps([whole, twice, apart, together]), file=sys.__stdout__)
ray.shutdown()
"""


@pytest.mark.slow
def test_two_processors_give_the_plain_predictions_and_bad_rows_end_nothing(tmp_path):
    pytest.importorskip("ray")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=900, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    whole, twice, apart, together = json.loads(done.stdout.splitlines()[-1])
    table = predict([f"a photo of {n} dogs" for n in range(300)], "mean_hbpp", uncertainty=True)
    for found in (whole, twice):
        rows = sorted(found, key=lambda row: row["id"])
        assert [row["id"] for row in rows] == list(range(300))
        for name in {"mean_hbpp", "distance", "mean_hbpp_deviation"} & rows[0].keys():
            assert [row[name] for row in rows] == pytest.approx(table[name].tolist(), abs=2e-6)
    for found in (apart, together):
        assert [row["error"] for row in found] == [
            None,
            "the prompt is a NoneType, not a text",
            "the prompt is a int, not a text",
            "the prompt is blank",
            None,
        ]
        assert [row["mean_hbpp"] is None for row in found] == [False, True, True, True, False]


def test_a_block_of_any_size_has_the_plain_predictions():
    texts = [f"a photo of {n} dogs" for n in range(25)]
    settings = ("static", ("mean_hbpp",), False, "prompt", None)
    found = _predict_block(pa.table({"prompt": texts}), 7, settings)
    assert found["mean_hbpp"].to_pylist() == pytest.approx(
        predict(texts, "mean_hbpp")["mean_hbpp"].tolist(), abs=2e-6
    )
    assert (
        _predict_block(pa.table({"prompt": pa.array([], pa.string())}), 7, settings).num_rows == 0
    )


def test_ray_is_imported_only_when_asked_for():
    code = "import sys, pqpp_engines; pqpp_engines.ray_predict; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_cannot_be_done_is_said_before_the_job(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"ray_predict needs ray; run: pip install"):
        pqpp_engines.ray_predict(None)
    monkeypatch.setitem(sys.modules, "ray", sys)
    monkeypatch.setitem(sys.modules, "ray.data", sys)
    with pytest.raises(UnknownTargetError, match="mean_hbp"):
        pqpp_engines.ray_predict(None, "mean_hbp")
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        pqpp_engines.other  # noqa: B018
