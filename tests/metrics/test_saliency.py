import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from metrics.pysaliency_values import TABLE
from metrics.pysaliency_values import make_maps as make_table_maps

from pqpp_metrics import functional as F
from pqpp_metrics.errors import MetricInputError

CONVENTIONS = ["tuebingen", "pysaliency", "mit", "unisal", "richhf"]
METRICS = [F.nss, F.kld, F.cc, F.sim, F.auc_judd]
MIT = {"NSS": "nss", "KLD": "kld", "CC": "cc", "SIM": "sim", "AUC_Judd_nojitter": "auc_judd"}
# By convention: the public code, and our function for each of its values.
REFERENCES = {
    "mit": ("matlab_cvzoya", MIT),
    "tuebingen": ("pysaliency", {"NSS": "nss", "KLD_MIT": "kld", "CC": "cc", "SIM": "sim"}),
    "pysaliency": ("pysaliency", {"NSS": "nss", "KLD_default": "kld", "CC": "cc", "SIM": "sim"}),
    "unisal": ("unisal", {"AUC_Judd": "auc_judd", "SIM_on_sum1": "sim"}),
    "richhf": ("richhf_author", MIT | {"NSS_with_gt": "nss", "AUC_Judd_gt_nojitter": "auc_judd"}),
}
VALUES_ON_FIXATIONS = {"NSS", "AUC_Judd_nojitter", "AUC_Judd"}


@pytest.fixture
def cases(real_data):
    return json.loads((real_data / "saliency" / "reference_values.json").read_text())["cases"]


@pytest.mark.realdata
@pytest.mark.parametrize("convention", REFERENCES)
def test_values_of_public_implementations(cases, convention):
    implementation, names = REFERENCES[convention]
    for case_name, case in cases.items():
        prediction, truth = np.array(case["pred"]), np.array(case["gt"])
        fixations = F.fixation_map(case["fix"], *prediction.shape)
        for name, metric in names.items():
            reference = fixations if name in VALUES_ON_FIXATIONS else truth
            value = getattr(F, metric)(prediction, reference, convention=convention)
            published = case["values"][implementation][name]
            if published < 0 and metric == "auc_judd":
                assert 0 <= value <= 1  # a bug: an area is never negative
                continue
            assert value == pytest.approx(published, abs=1e-12), (case_name, name)


@pytest.mark.realdata
def test_auc_with_ties_is_exact_by_default(cases):
    """For an area of .770 with ties the published loops return .663, and even -.21."""
    from sklearn.metrics import roc_auc_score

    case = cases["box_pred_ties"]
    prediction = np.array(case["pred"])
    fixations = F.fixation_map(case["fix"], *prediction.shape)
    exact = roc_auc_score(fixations.ravel() > 0, prediction.ravel())
    assert F.auc_judd(prediction, fixations) == pytest.approx(exact, abs=1e-12)


# Our function for each name in the table of pysaliency.
PYSALIENCY_METRICS = {
    "NSS": lambda p, q, f: F.nss(p, f),
    "CC": lambda p, q, f: F.cc(p, q),
    "SIM": lambda p, q, f: F.sim(p, q),
    "KLDiv": lambda p, q, f: F.kld(p, q, convention="pysaliency"),
    "MIT_KLDiv": lambda p, q, f: F.kld(p, q),
    "AUC_Judd": lambda p, q, f: F.auc_judd(p, f),
}


@pytest.mark.parametrize("kind", make_table_maps())
def test_every_metric_equals_pysaliency(kind):
    """Maps with zeros, ties, 8 bits, negative values; repeated fixations; images of three sizes."""
    expected = json.loads(TABLE.read_text())["values"][kind]
    predictions, truths, points = make_table_maps()[kind]
    fixations = [F.fixation_map(p, *q.shape) for p, q in zip(points, truths, strict=True)]
    for name, metric in PYSALIENCY_METRICS.items():
        values = list(map(metric, predictions, truths, fixations))
        np.testing.assert_allclose(values, expected[name], rtol=1e-12, atol=1e-12, err_msg=name)


def test_formulas_of_mit_and_unisal():
    """On 8-bit maps with zeros and a pixel that is fixated twice."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        p, q = (rng.integers(0, 256, (9, 11)) * (rng.random((9, 11)) < 0.6) for _ in range(2))
        f = rng.integers(0, 3, p.shape) * (rng.random(p.shape) < 0.1)
        z, (a, b) = (p - p.mean()) / p.std(ddof=1), (m / m.sum() for m in (p, q))
        assert F.nss(p, f, convention="mit") == pytest.approx(z[f > 0].mean(), abs=1e-12)
        for convention, e in (("mit", np.finfo(float).eps), ("unisal", 2.2204e-16)):
            expected = (b * np.log(e + b / (a + e))).sum()
            assert F.kld(p, q, convention=convention) == pytest.approx(expected, abs=1e-12)
        a, b = ((m - m.min()) / (m.max() - m.min()) for m in (p, q))
        expected = np.minimum(a / a.sum(), b / b.sum()).sum()
        assert F.sim(p, q, convention="mit") == pytest.approx(expected, abs=1e-12)
        fixated, others, n = sorted(p[f > 0], reverse=True), (f == 0).sum(), (f > 0).sum()
        false = [((p >= value).sum() - i) / others for i, value in enumerate(fixated, start=1)]
        expected = np.trapezoid([*np.arange(n + 1) / n, 1], [0, *false, 1])
        assert F.auc_judd(p, f, convention="mit") == pytest.approx(expected, abs=1e-12)
    # A prediction of zeros shares nothing with the truth, and only e divides.
    assert F.sim(0 * p, q, convention="mit") == 0
    e, b = np.finfo(float).eps, q / q.sum()
    expected = (b * np.log(e + b / e)).sum()
    assert F.kld(0 * p, q, convention="mit") == pytest.approx(expected, abs=1e-12)


def draw_maps(seed=0, shape=(4, 9, 11)):
    rng = np.random.default_rng(seed)
    return (
        rng.random(shape),
        rng.random(shape) ** 4,
        rng.integers(0, 3, shape) * (rng.random(shape) < 0.1),
    )


MAPS = hnp.arrays(np.float64, (5, 6), elements=st.integers(0, 5).map(float))


@given(MAPS, MAPS, st.sampled_from(CONVENTIONS))
def test_values_are_within_bounds_or_nan(p, q, convention):
    values = {metric.__name__: float(metric(p, q, convention=convention)) for metric in METRICS}
    if not q.any():
        assert all(math.isnan(value) for value in values.values())
        return
    for name, (low, high) in {"cc": (-1, 1), "sim": (0, 1), "auc_judd": (0, 1)}.items():
        assert math.isnan(values[name]) or low - 1e-12 <= values[name] <= high + 1e-12
    # The epsilon of a convention may take a little from a divergence of 0.
    assert math.isnan(values["kld"]) or values["kld"] >= -1e-6


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_torch_and_other_types_give_the_same(convention):
    torch = pytest.importorskip("torch")
    p, q, f = draw_maps()
    for metric in METRICS:
        truth = f if metric in (F.nss, F.auc_judd) else q
        expected = metric(p, truth, convention=convention)
        result = metric(torch.tensor(p), torch.tensor(truth), convention=convention)
        assert isinstance(result, torch.Tensor)
        np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)
        binary = truth > np.median(truth)
        for values in (binary, binary.astype(np.uint8), binary.astype(np.float32)):
            binary_value = metric(p, binary.astype(float), convention=convention)
            np.testing.assert_allclose(
                metric(p, values, convention=convention), binary_value, atol=1e-12
            )
        result = metric(torch.tensor(p), torch.tensor(binary), convention=convention)
        np.testing.assert_allclose(result.numpy(), binary_value, atol=1e-12)


def test_auc_is_nan_if_all_pixels_are_fixated():
    assert math.isnan(F.auc_judd(np.arange(6.0).reshape(2, 3), np.ones((2, 3))))


def test_repeated_fixations():
    p = np.array([[0.0, 1.0], [2.0, 3.0]])
    once, twice = np.array([[0, 1], [0, 1]]), np.array([[0, 1], [0, 3]])
    for metric in (F.nss, F.auc_judd):
        for convention in CONVENTIONS[:2]:
            assert metric(p, twice, convention=convention) > metric(p, once, convention=convention)
        for convention in CONVENTIONS[2:]:
            assert metric(p, twice, convention=convention) == metric(p, once, convention=convention)
    # (0, 0), (0, 3/4), (1/2, 1), (1, 1) by hand.
    assert F.auc_judd(p, twice) == pytest.approx((0.75 + 1) / 4 + 0.5, abs=1e-15)


def test_continuous_maps_are_refused_as_fixations():
    p, q, f = draw_maps()
    for metric in (F.nss, F.auc_judd):
        with pytest.raises(MetricInputError, match="`references > 0`"):
            metric(p, q)
        metric(p, f / 2)  # weights


def test_richhf_protocol():
    p, q, _ = draw_maps(shape=(5, 6, 7))
    q[1], q[3] = 0, 0
    result = F.richhf_heatmap(p, q)
    error = ((p - q) ** 2).mean(axis=(1, 2))
    assert result["richhf_heatmap"] == result["mse_all"] == pytest.approx(error.mean(), abs=1e-15)
    assert result["mse_empty"] == pytest.approx(error[[1, 3]].mean(), abs=1e-15)
    kept = [0, 2, 4]
    assert result["cc"] == pytest.approx(F.cc(p[kept], q[kept]).mean(), abs=1e-12)
    assert result["nss"] == pytest.approx(F.nss(p[kept], q[kept] > 0).mean(), abs=1e-12)
    assert (result["n"], result["n_empty"]) == (5, 2)
    assert math.isnan(F.richhf_heatmap(p, 0 * q)["kld"])
    assert math.isnan(F.richhf_heatmap(p[:1], q[:1])["mse_empty"])
    with pytest.raises(MetricInputError, match="images, height, width"):
        F.richhf_heatmap(p[0], q[0])
