"""The provider for ir_measures from the docs, compared with ir_measures' own providers."""

import re
from pathlib import Path

import numpy as np
import pytest

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.runs import evaluate_run

ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
PAGE = Path(__file__).parents[2] / "docs" / "ir_measures.md"
NAMES = [
    *("nDCG", "nDCG@5", "nDCG(judged_only=True)@5", "AP", "AP(rel=2)", "AP@3", "RR"),
    *("RR(judged_only=True)", "P@5", "P(rel=2)@3", "R@5", "R(rel=2)@5", "Rprec", "Success@1"),
]


@pytest.fixture(scope="module")
def page_names():
    """The names that the page's code defines."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {}
    exec(code, names)
    return names


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    run, qrels = [], []
    for query in range(30):
        documents = rng.permutation(25)
        run += [
            ir_measures.ScoredDoc(f"q{query}", f"d{d}", rng.integers(0, 9) / 3)
            for d in documents[:15]
        ]
        grades = rng.integers(0, 4, 12).tolist()
        qrels += [
            ir_measures.Qrel(f"q{query}", f"d{d}", grade)
            for d, grade in zip(documents[8:20], grades, strict=True)
        ]
    return qrels, [row for row in run if row.query_id != "q3"]


def test_values_equal_pytrec_eval(page_names, data):
    reference = ir_measures.providers.registry["pytrec_eval"]
    measures = [ir_measures.parse_measure(name) for name in NAMES]
    assert all(map(page_names["provider"].supports, measures))
    values = [
        {(str(row.measure), row.query_id): row.value for row in provider.iter_calc(measures, *data)}
        for provider in (page_names["provider"], reference)
    ]
    assert values[0].keys() == values[1].keys() and len(values[0]) == 30 * len(NAMES)
    for key, value in values[1].items():
        assert values[0][key] == pytest.approx(value, abs=1e-12), key
    aggregates = [p.calc_aggregate(measures, *data) for p in (page_names["provider"], reference)]
    for measure in measures:
        assert aggregates[0][measure] == pytest.approx(aggregates[1][measure], abs=1e-12)


def test_exponential_gains(page_names, data):
    qrels, run = data
    gains = [ir_measures.nDCG(gains={0: 0, 1: 1, 2: 3, 3: 7}), ir_measures.nDCG(dcg="exp-log2")]
    found = page_names["provider"].calc_aggregate(gains, qrels, run)
    assert found[gains[0]] == pytest.approx(found[gains[1]], abs=1e-12)
    reference = ir_measures.providers.registry["pytrec_eval"].calc_aggregate(gains[:1], qrels, run)
    assert found[gains[0]] == pytest.approx(reference[gains[0]], abs=1e-12)


@pytest.mark.parametrize("name", ["hits@5", "rbp.95", "SetF(beta=2)", "RBP", "rbp", "iprec"])
def test_names_of_unsupported_measures_are_refused(name, data):
    qrels, run = data
    with pytest.raises(MetricInputError):
        evaluate_run(run, qrels, name)


def test_fractional_grades_are_refused_for_ir_measures():
    with pytest.raises(MetricInputError, match="integer grades"):
        evaluate_run({"q": {"d": 2.0}}, {"q": {"d": 0.5}}, "Bpref")


def test_other_measures_are_computed_by_ir_measures(data):
    qrels, run = data
    run = [row for row in run if row.query_id != "q7"]
    found = evaluate_run(run, qrels, "Bpref,p@5,infAP", missing="zero")
    assert list(found["values"]) == ["Bpref", "p@5", "infAP"]
    for name in ("Bpref", "infAP"):
        measure = ir_measures.parse_measure(name)
        values = {row.query_id: row.value for row in ir_measures.iter_calc([measure], qrels, run)}
        assert dict(zip(found["query_ids"], found["values"][name], strict=True)) == values
    for options in ({"relevance_level": 2}, {"judged_only": True}, {"ties": "order"}):
        with pytest.raises(MetricInputError):  # they would not apply to Bpref
            evaluate_run(run, qrels, "Bpref", "zero", **options)
