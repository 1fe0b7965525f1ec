"""What a call leaves of a module: a refused one nothing, any other labels and ids as they came."""

import uuid
from pathlib import Path

import evaluate
import pytest
from metrics.module_cases import CASES
from metrics.test_evaluate_modules import NAMES, same, shards

from pqpp_metrics.errors import MetricInputError


def refused_inputs(inputs):
    """Inputs of which one is missing, shorter, holds no value, or is none of this metric."""
    for key, column in inputs.items():
        yield inputs | {key: None}
        yield inputs | {key: [{"no": "value"}, *column[1:]]}
        yield inputs | {key: [[[[[[0]]]]], *column[1:]]}
        if len(inputs) > 1:
            yield inputs | {key: column[:-1]}
    yield inputs | {"no_such_input": next(iter(inputs.values()))}


def one_item(inputs):
    """What `add` takes for the first item."""
    singular = {"predictions": "prediction", "references": "reference"}
    return {singular.get(k, k): column and column[0] for k, column in inputs.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_call_changes_nothing(name):
    case = CASES[name]
    whole = evaluate.load(f"pqpp/{name}").compute(**case.inputs, **case.options)
    first, second = shards(case.inputs, 2)
    metric = evaluate.load(f"pqpp/{name}")

    def refused(inputs):
        with pytest.raises(MetricInputError):
            metric.add_batch(**inputs)
        if any(column is not None for column in inputs.values()):  # else what was added counts
            with pytest.raises(MetricInputError):
                metric.compute(**inputs, **case.options)
        if all(column is None or len(column) == len(first) for column in inputs.values()):
            with pytest.raises(MetricInputError):
                metric.add(**one_item(inputs))

    for inputs in refused_inputs(case.inputs):
        refused(inputs)
    assert same(metric.compute(**case.inputs, **case.options), whole)
    metric.add_batch(**first)
    for inputs in refused_inputs(case.inputs):
        refused(inputs)
    metric.add_batch(**second)
    assert same(metric.compute(**case.options), whole)
    # What only shows in computing: all is forgotten, and the next round is a clean one.
    metric.add_batch(**first)
    if metric.options():
        with pytest.raises(MetricInputError):
            metric.compute(**second, **(case.options | {next(iter(metric.options())): object()}))
        assert same(metric.compute(**case.inputs, **case.options), whole)
    else:
        metric.compute()
    assert not list(Path(metric.data_dir).glob("*.arrow"))


def test_a_missing_id_is_refused_and_the_next_call_works():
    metric = evaluate.load("pqpp/hbpp")
    labels = [[2, None, 1], [0, 0, 2]]
    for ids in (["a", None], [None, None], [1, None], [1.0, 2.0]):
        for give in (metric.compute, metric.add_batch):
            with pytest.raises(MetricInputError, match="`prompt_ids` holds"):
                give(labels=labels, prompt_ids=ids)
    assert metric.compute(labels=labels, prompt_ids=["a", "b"])["prompt_ids"] == ["a", "b"]
    assert metric.compute(labels=labels, prompt_ids=[1, 2])["prompt_ids"] == [1, 2]


LARGE = [2**60, 2**60 + 1, 2**70, 2**70 + 1]
LABELS = {
    "large": LARGE,
    "text": ["1", "01", "a", '"'],
    "truth": [True, False, True, False],
    "uuid": [uuid.UUID(int=i) for i in range(4)],
    "fractions": [0.1, 0.2, 0.5, 1.0],
}


@pytest.mark.parametrize("give", ["compute", "add_batch"])
def test_integers_that_floats_merge_are_refused(give):
    metric = evaluate.load("pqpp/kendall_qpp")
    with pytest.raises(MetricInputError, match=r"`predictions` .*inexact as float64"):
        getattr(metric, give)(predictions=[2**60, 2**60 + 1], references=[1, 2])


def test_one_process_at_once_writes_no_cache_file(monkeypatch):
    metric = evaluate.load("pqpp/kendall_qpp")
    monkeypatch.setattr(metric, "_init_writer", None)
    case = CASES["kendall_qpp"]
    assert metric.compute(**case.inputs)["n"] == 31
    assert len(metric) == 0
