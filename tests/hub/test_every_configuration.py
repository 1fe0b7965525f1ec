"""Every configuration: loaded in all modes, exported, pushed, and pulled without changes."""

import json
import runpy
from pathlib import Path

import pytest
from support.benchmark_folders import write_conqa, write_gimbrr, write_richhf, write_vistar
from support.pqpp_folders import write_v1_0, write_v1_1
from support.rated_folders import WRITERS
from support.relevance import write_relevance

from pqpp_datasets.benchmarks import BENCHMARKS


def get_test_writer(config):
    """Return `write` of a benchmark's test, which CONTRIBUTING.md describes."""
    path = Path(__file__).parents[1] / f"datasets/test_{BENCHMARKS[config].family}.py"
    return runpy.run_path(str(path))["write"]


# Functions that write small synthetic files, and the folders of the published data.
KNOWN_WRITERS = {
    "pqpp": write_v1_1,
    "pqpp-v1.0": write_v1_0,
    "pqpp-relevance": write_relevance,
    "conqa": write_conqa,
    "conqa-candidates": write_conqa,
    "richhf": lambda folder: write_richhf(folder, 1200),
    "gimbrr": write_gimbrr,
    "gimbrr-annotations": write_gimbrr,
    "gimbrr-automated": write_gimbrr,
    "vistar": write_vistar,
    "sample": lambda folder: None,
    **WRITERS,
}
SYNTHETIC = {name: KNOWN_WRITERS.get(name) or get_test_writer(name) for name in BENCHMARKS}
REAL = {
    "pqpp": "pqpp/v1.1",
    "pqpp-v1.0": "pqpp/v1.0",
    "pqpp-relevance": "pqpp/v1.0",
    "conqa": "conqa",
    "conqa-candidates": "conqa",
    "gimbrr": "gimbrr",
    "gimbrr-annotations": "gimbrr",
    "gimbrr-automated": "gimbrr",
    **{name: name for name in WRITERS},
}
DIGEST_CODE = """
import hashlib, json
from datasets import Image, load_dataset
def digest(splits):
    digests = {}
    for name, rows in splits.items():
        features = dict(rows.features)
        for column, feature in features.items():
            if isinstance(feature, Image):
                rows = rows.cast_column(column, Image(decode=False))
        text = json.dumps([list(rows), str(features)], default=bytes.hex, sort_keys=True)
        digests[name] = hashlib.sha256(text.encode()).hexdigest()
    return digests
"""
LOAD_CODE = """
import datasets, os
from pqpp_datasets.benchmarks import BENCHMARKS
def load(cache, **more):
    return load_dataset("pqpp", {config!r}, data_dir={data!r}, cache_dir=cache, **more)
result = {{"cold": digest(load("{owner}-one"))}}
def files():
    return {{f: os.stat(f).st_mtime_ns for s in load("{owner}-one").values()
            for f in (c["filename"] for c in s.cache_files)}}
written = files()
benchmark = BENCHMARKS[{config!r}]
reader = benchmark.read
object.__setattr__(benchmark, "read", None)  # reading the files again fails
result["cached"] = digest(load("{owner}-one"))
result["untouched"] = bool(written) and files() == written
object.__setattr__(benchmark, "read", reader)
result["two processes"] = digest(load("{owner}-two", num_proc=2))
result["streamed"] = digest(load("{owner}-three", streaming=True))
"""
PULL_CODE = """
result = digest(load_dataset("{owner}/bench", {config!r}, {more}))
"""


@pytest.mark.daily
@pytest.mark.parametrize("config", SYNTHETIC)
def test_synthetic_data(state, plain_worker, tmp_path, config):
    check_configuration(state, plain_worker, config, SYNTHETIC[config](tmp_path / "data"))


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize("config", REAL)
def test_published_data(state, plain_worker, real_data, config):
    check_configuration(state, plain_worker, config, real_data / REAL[config])


def check_configuration(state, plain_worker, config: str, data: Path | None):
    data = data and str(data)
    code = DIGEST_CODE + LOAD_CODE.format(config=config, data=data, owner=state.owner)
    results = get_value(state.user.run(code))
    assert results.pop("untouched")
    cold = results.pop("cold")
    assert cold and set(results) == {"cached", "two processes", "streamed"}
    for mode, digests in results.items():
        assert digests == cold, mode
    out, target = f"{state.owner}-out", f"{state.owner}/bench"
    options = ["--data-dir", data] if data else []
    assert get_value(state.user.pqpp("datasets", "export", config, "--output", out, *options)) == 0
    assert get_value(state.user.pqpp("datasets", "push", out, target)) == 0
    for more in ("", "streaming=True"):
        code = DIGEST_CODE + PULL_CODE.format(owner=state.owner, config=config, more=more)
        assert get_value(plain_worker.run(code)) == cold, json.dumps([more, cold])


def get_value(outcome):
    assert outcome.error is None, outcome.error
    return outcome.value
