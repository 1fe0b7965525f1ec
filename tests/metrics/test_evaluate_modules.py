"""Every module in each way that evaluate computes: at once, in batches, in several processes."""

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import evaluate
import numpy as np
import pandas as pd
import pytest
from metrics.module_cases import CASES

from pqpp_metrics import registration
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.registration import load_metric

NAMES = registration.list_metrics()


def identical(left, right):
    """Equal to the last bit, NaN equal to NaN."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def cut_inputs(inputs, parts):
    """Cut the inputs into contiguous parts."""
    length = len(next(iter(inputs.values())))
    bounds = [length * part // parts for part in range(parts + 1)]
    return [
        {name: column[low:high] for name, column in inputs.items()}
        for low, high in itertools.pairwise(bounds)
    ]


def compute_expected(case):
    """The oracle's values by key of the result; None stands for the main value."""
    values = case.oracle(**case.inputs)
    return values if isinstance(values, dict) else {None: values}


def agrees(left, right):
    """Equal but for rounding, in lists and dicts too; the left may have more keys."""
    if isinstance(right, dict):
        return all(agrees(left[key], value) for key, value in right.items())
    if isinstance(right, list):
        return len(left) == len(right) and all(map(agrees, left, right))
    return left == right if isinstance(right, str) else left == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_module_agrees_with_its_oracle(name):
    case = CASES[name]
    metric = evaluate.load(f"pqpp/{name}")
    assert metric.name == name
    result = metric.compute(**case.inputs, **case.options)
    assert isinstance(result[name], float)
    assert math.isfinite(result[name])
    for key, value in compute_expected(case).items():
        assert agrees(result[key or name], value), key
    assert not issubclass(load_metric(name), evaluate.Metric)
    assert identical(load_metric(name).score(case.inputs, case.options), result)


@pytest.mark.parametrize("name", NAMES)
def test_batches_single_items_and_memory_give_the_same(name):
    case = CASES[name]
    at_once = evaluate.load(f"pqpp/{name}").compute(**case.inputs, **case.options)
    batched = evaluate.load(f"pqpp/{name}", keep_in_memory=True)
    for part in cut_inputs(case.inputs, min(3, len(next(iter(case.inputs.values()))))):
        batched.add_batch(**part)
    assert identical(batched.compute(**case.options), at_once)
    single = evaluate.load(f"pqpp/{name}")
    singular = {"predictions": "prediction", "references": "reference"}
    for part in cut_inputs(case.inputs, len(next(iter(case.inputs.values())))):
        single.add(**{singular.get(key, key): column[0] for key, column in part.items()})
    assert identical(single.compute(**case.options), at_once)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_and_columns_give_the_same(name):
    case = CASES[name]
    metric = evaluate.load(f"pqpp/{name}")
    at_once = metric.compute(**case.inputs, **case.options)
    columns = {key: pd.Series(column) for key, column in case.inputs.items()}
    assert identical(metric.compute(**columns, **case.options), at_once)
    try:
        arrays = {key: np.asarray(column) for key, column in case.inputs.items()}
    except ValueError:
        pytest.skip("the inputs are not rectangular arrays")
    assert identical(metric.compute(**arrays, **case.options), at_once)


WORKER = """
import json, sys
import pqpp_metrics, evaluate
from metrics.module_cases import CASES
from metrics.test_evaluate_modules import cut_inputs

rank, parts, names, experiment = json.loads(sys.argv[1])
results = {}
for name in names:
    case = CASES[name]
    metric = evaluate.load(
        f"pqpp/{name}", num_process=parts, process_id=rank, experiment_id=experiment
    )
    results[name] = metric.compute(**cut_inputs(case.inputs, parts)[rank], **case.options)
print(json.dumps(results))
"""


@pytest.mark.daily
def test_processes_share_the_rows(tmp_path):
    """Two processes share the rows of each module; the result is bitwise that of one process."""
    import os

    tests = Path(__file__).resolve().parents[1]
    path = os.pathsep.join([str(registration._PACKAGE.parent), str(tests)])
    environment = os.environ | {"PYTHONPATH": path, "HF_METRICS_CACHE": str(tmp_path)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, json.dumps([rank, 2, NAMES, "spread"])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [worker.communicate(timeout=900) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], outputs
    first, second = (json.loads(out.splitlines()[-1]) for out, _ in outputs)
    assert set(second.values()) == {None}
    for name in NAMES:
        case = CASES[name]
        at_once = evaluate.load(f"pqpp/{name}").compute(**case.inputs, **case.options)
        assert identical(first[name], at_once), name


@pytest.mark.parametrize("name", NAMES)
def test_bad_calls_are_typed_errors(name):
    case = CASES[name]
    metric = evaluate.load(f"pqpp/{name}")
    first = next(iter(case.inputs))
    calls = [case.inputs | {"no_such_option": 1}, {}, {key: [] for key in case.inputs}]
    if len(case.inputs) > 1:
        calls += [case.inputs | {first: value} for value in (None, case.inputs[first][:-1], 1.0)]
    for call in calls:
        with pytest.raises(MetricInputError):
            metric.compute(**call)


def test_prompt_ids_may_be_integers_or_strings():
    metric = evaluate.load("pqpp/hbpp")
    labels = [[2, None, 1], [0, 0, 2], [1, 1, 1]]
    assert metric.compute(labels=labels, prompt_ids=["a", "b", "a"])["prompt_ids"] == ["a", "b"]
    assert metric.compute(labels=labels, prompt_ids=[7, 3, 7])["prompt_ids"] == [7, 3]
    assert metric.compute(labels=labels, prompt_ids=["7", "3", "7"])["prompt_ids"] == ["7", "3"]
