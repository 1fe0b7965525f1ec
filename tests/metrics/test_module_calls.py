"""What a call leaves of a module: a refused one nothing, any other labels and ids as they came."""

import evaluate
import pytest
from metrics.module_cases import CASES
from metrics.test_evaluate_modules import same, shards

from pqpp_metrics.errors import MetricInputError


@pytest.mark.parametrize("name", ["kendall_qpp", "ndcg", "hbpp", "kld", "fleiss_kappa"])
def test_a_refused_call_changes_nothing(name):
    case = CASES[name]
    whole = evaluate.load(f"pqpp/{name}").compute(**case.inputs, **case.options)
    first, second = shards(case.inputs, 2)
    metric = evaluate.load(f"pqpp/{name}")
    unknown = case.inputs | {"no_such_input": [1]}
    lacking = case.inputs | {next(iter(case.inputs)): None}
    metric.add_batch(**first)
    for inputs in (unknown, lacking) if len(case.inputs) > 1 else (unknown,):
        with pytest.raises(MetricInputError):
            metric.add_batch(**inputs)
        with pytest.raises(MetricInputError):
            metric.compute(**inputs, **case.options)
    metric.add_batch(**second)
    assert same(metric.compute(**case.options), whole)
    # After a fault that only shows in computing, the next round is a clean one.
    metric.add_batch(**first)
    if metric.get_options():
        with pytest.raises(MetricInputError):
            metric.compute(**second, **{next(iter(metric.get_options())): "no such"})
        assert same(metric.compute(**case.inputs, **case.options), whole)


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
    whole = metric.compute()
    assert whole == metric.compute(predictions=labels, references=[*labels[:2], *labels[:1:-1]])
