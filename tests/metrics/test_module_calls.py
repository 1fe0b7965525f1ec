"""Refused calls leave a module's state alone; batches keep labels and ids as they are."""

import evaluate
import pytest
from metrics.module_cases import CASES
from metrics.test_evaluate_modules import cut_inputs, identical

from pqpp_metrics.errors import MetricInputError


@pytest.mark.parametrize("name", ["kendall_qpp", "ndcg", "hbpp", "kld", "fleiss_kappa"])
def test_a_refused_call_leaves_earlier_batches_alone(name):
    case = CASES[name]
    at_once = evaluate.load(f"pqpp/{name}").compute(**case.inputs, **case.options)
    first, second = cut_inputs(case.inputs, 2)
    metric = evaluate.load(f"pqpp/{name}")
    with_unknown = case.inputs | {"no_such_input": [1]}
    without_first = case.inputs | {next(iter(case.inputs)): None}
    metric.add_batch(**first)
    for inputs in (with_unknown, without_first) if len(case.inputs) > 1 else (with_unknown,):
        with pytest.raises(MetricInputError):
            metric.add_batch(**inputs)
        with pytest.raises(MetricInputError):
            metric.compute(**inputs, **case.options)
    metric.add_batch(**second)
    assert identical(metric.compute(**case.options), at_once)
    # After an error in computing, the next round starts without the earlier batches.
    metric.add_batch(**first)
    if metric.get_options():
        with pytest.raises(MetricInputError):
            metric.compute(**second, **{next(iter(metric.get_options())): "no such"})
        assert identical(metric.compute(**case.inputs, **case.options), at_once)


@pytest.mark.parametrize("ids", [["a", None], [1.0, 2.0]])
def test_a_missing_id_is_refused_and_the_next_call_works(ids):
    metric = evaluate.load("pqpp/hbpp")
    labels = [[2, None, 1], [0, 0, 2]]
    with pytest.raises(MetricInputError, match="prompt_ids"):
        metric.compute(labels=labels, prompt_ids=ids)
    metric.add_batch(labels=labels, prompt_ids=ids)
    with pytest.raises(MetricInputError, match="prompt_ids"):
        metric.compute()
    assert metric.compute(labels=labels, prompt_ids=[1, 2])["prompt_ids"] == [1, 2]


@pytest.mark.parametrize(
    "labels",
    [
        [2**60, 2**60 + 1, 2**62, 2**62 + 1],
        ["1", "01", "a", '"'],
        [True, False, True, False],
        [0.1, 0.2, 0.5, 1.0],
    ],
)
def test_batches_keep_labels_as_they_are(labels):
    metric = evaluate.load("pqpp/cohen_kappa")
    metric.add_batch(predictions=labels[:2], references=labels[:2])
    metric.add_batch(predictions=labels[2:], references=labels[:1:-1])
    at_once = metric.compute()
    assert at_once == metric.compute(predictions=labels, references=[*labels[:2], *labels[:1:-1]])
