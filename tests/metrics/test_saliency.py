import json
import math
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pqpp_metrics import functional as F
from pqpp_metrics.errors import MetricInputError

CONVENTIONS = ["pysaliency", "matlab", "unisal", "richhf"]
METRICS = [F.nss, F.kld, F.cc, F.sim, F.auc_judd]
# Which function, with what as truth, gives the value that a public code gives under this name.
REFERENCES = {
    "matlab_cvzoya": (
        "matlab",
        {"NSS": "nss", "KLD": "kld", "CC": "cc", "SIM": "sim", "AUC_Judd_nojitter": "auc_judd"},
    ),
    "pysaliency": ("pysaliency", {"NSS": "nss", "KLD_default": "kld", "CC": "cc", "SIM": "sim"}),
    "unisal": ("unisal", {"AUC_Judd": "auc_judd", "SIM_on_sum1": "sim"}),
    "richhf_author": (
        "richhf",
        {
            "NSS": "nss",
            "NSS_with_gt": "nss",
            "KLD": "kld",
            "CC": "cc",
            "SIM": "sim",
            "AUC_Judd_nojitter": "auc_judd",
            "AUC_Judd_gt_nojitter": "auc_judd",
        },
    ),
}
ON_FIXATIONS = {"NSS", "AUC_Judd_nojitter", "AUC_Judd"}


def cases():
    root = os.environ.get("PQPP_TEST_DATA")
    if not root:
        pytest.skip("PQPP_TEST_DATA is not set; see CONTRIBUTING for how to get the data")
    text = (Path(root) / "saliency" / "reference_values.json").read_text()
    return json.loads(text)["cases"]


@pytest.mark.realdata
@pytest.mark.parametrize("implementation", REFERENCES)
def test_public_implementations(implementation):
    convention, names = REFERENCES[implementation]
    for case_name, case in cases().items():
        prediction, truth = np.array(case["pred"]), np.array(case["gt"])
        fixations = F.fixation_map(case["fix"], *prediction.shape)
        for name, metric in names.items():
            reference = fixations if name in ON_FIXATIONS else truth
            value = getattr(F, metric)(prediction, reference, convention=convention)
            published = case["values"][implementation][name]
            if published < 0 and metric == "auc_judd":
                assert 0 <= value <= 1  # an area is never negative: not a convention but a bug
                continue
            assert value == pytest.approx(published, abs=1e-12), (case_name, name)


@pytest.mark.realdata
def test_ties_are_right_by_default():
    """Where predictions tie, the published loops give .663, and even -.21, for an area of .770."""
    from sklearn.metrics import roc_auc_score

    case = cases()["box_pred_ties"]
    prediction = np.array(case["pred"])
    fixations = F.fixation_map(case["fix"], *prediction.shape)
    exact = roc_auc_score(fixations.ravel() > 0, prediction.ravel())
    assert F.auc_judd(prediction, fixations) == pytest.approx(exact, abs=1e-12)


def some_maps(seed=0, shape=(4, 9, 11)):
    rng = np.random.default_rng(seed)
    return (
        rng.random(shape),
        rng.random(shape) ** 4,
        rng.integers(0, 3, shape) * (rng.random(shape) < 0.1),
    )


def test_default_formulas():
    for p, q, f in zip(*some_maps(), strict=True):
        z = (p - p.mean()) / p.std()
        assert F.nss(p, f) == pytest.approx((z * f).sum() / f.sum(), abs=1e-12)
        assert F.cc(p, q) == pytest.approx(np.corrcoef(p.ravel(), q.ravel())[0, 1], abs=1e-12)
        a, b = p / p.sum(), q / q.sum()
        assert F.kld(p, q) == pytest.approx((b * np.log(b / a)).sum(), abs=1e-12)
        assert F.sim(p, q) == pytest.approx(np.minimum(a, b).sum(), abs=1e-12)
        assert F.heatmap_mse(p, q) == pytest.approx(((p - q) ** 2).mean(), abs=1e-15)


def test_auc_by_its_definition():
    """The curve through the points of the thresholds at fixated pixels, straight in between."""
    for p, _, f in zip(*some_maps(), strict=True):
        p = p.round(1)
        hit = f > 0
        points = [(0.0, 0.0)]
        for threshold in sorted(set(p[hit]), reverse=True):
            points.append(((p[~hit] >= threshold).mean(), (p[hit] >= threshold).mean()))
        points.append((1.0, 1.0))
        x, y = np.array(points).T
        assert F.auc_judd(p, f) == pytest.approx(np.trapezoid(y, x), abs=1e-12)


MAPS = hnp.arrays(np.float64, (5, 6), elements=st.integers(0, 5).map(float))


@given(MAPS, MAPS, st.sampled_from(CONVENTIONS))
@settings(max_examples=80)
def test_bounds_and_undefined(p, q, convention):
    values = {metric.__name__: float(metric(p, q, convention=convention)) for metric in METRICS}
    if not q.any():
        assert all(math.isnan(value) for value in values.values())
        return
    for name, (low, high) in {"cc": (-1, 1), "sim": (0, 1), "auc_judd": (0, 1)}.items():
        assert math.isnan(values[name]) or low - 1e-12 <= values[name] <= high + 1e-12
    # The epsilon of a convention may take a little from a divergence of 0.
    assert math.isnan(values["kld"]) or values["kld"] >= -1e-6


@given(MAPS, MAPS, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_pixels_have_no_order_and_scale_no_effect(p, q, random):
    order = list(range(30))
    random.shuffle(order)
    for metric in METRICS:
        plain = metric(p, q)
        moved = metric(p.ravel()[order].reshape(6, 5), q.ravel()[order].reshape(6, 5))
        np.testing.assert_allclose(moved, plain, atol=1e-12)
        np.testing.assert_allclose(metric(4 * p + 4, q), metric(p + 1, q), atol=1e-9)


@given(MAPS, MAPS)
@settings(max_examples=40)
def test_auc_only_sees_the_order_of_predictions(p, q):
    np.testing.assert_allclose(F.auc_judd(np.exp(p) - 3, q), F.auc_judd(p, q), atol=1e-14)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_stacks_give_what_single_maps_give(convention):
    p, q, _ = some_maps(shape=(2, 3, 9, 11))
    for metric in METRICS:
        stack = metric(p, q, convention=convention)
        assert stack.shape == (2, 3)
        singles = [
            [metric(p[i, j], q[i, j], convention=convention) for j in range(3)] for i in range(2)
        ]
        np.testing.assert_array_equal(stack, singles)


def test_maps_wider_than_a_band():
    rng = np.random.default_rng(0)
    p, q = rng.random((2, 700, 500))
    for metric, plain in (
        (F.cc, np.corrcoef(p.ravel(), q.ravel())[0, 1]),
        (F.sim, np.minimum(p / p.sum(), q / q.sum()).sum()),
        (F.heatmap_mse, ((p - q) ** 2).mean()),
    ):
        assert metric(p, q) == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_torch_and_other_types_give_the_same(convention):
    torch = pytest.importorskip("torch")
    p, q, f = some_maps()
    for metric in METRICS:
        truth = f if metric in (F.nss, F.auc_judd) else q
        plain = metric(p, truth, convention=convention)
        result = metric(torch.tensor(p), torch.tensor(truth), convention=convention)
        assert isinstance(result, torch.Tensor)
        np.testing.assert_allclose(result.numpy(), plain, atol=1e-12)
        binary = truth > np.median(truth)
        for values in (binary, binary.astype(np.uint8), binary.astype(np.float32)):
            expected = metric(p, binary.astype(float), convention=convention)
            np.testing.assert_allclose(
                metric(p, values, convention=convention), expected, atol=1e-12
            )
        result = metric(torch.tensor(p), torch.tensor(binary), convention=convention)
        np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)


def test_constant_predictions():
    p, q = np.full((4, 5), 0.1), np.zeros((4, 5))
    q[1, 2] = 1
    assert F.nss(p, q) == 0 and F.cc(p, q) == 0
    assert math.isnan(F.nss(p, q, convention="matlab")) and math.isnan(
        F.cc(p, q, convention="unisal")
    )
    assert F.auc_judd(p, q) == 0.5
    assert F.kld(p, q) == pytest.approx(math.log(20), abs=1e-12)
    assert F.kld(0 * p, q) == pytest.approx(math.log(20), abs=1e-12)
    assert F.sim(0 * p, q) == pytest.approx(1 / 20, abs=1e-12)
    assert math.isnan(F.sim(p, q, convention="matlab"))
    assert math.isnan(F.cc(q, p))


def test_all_pixels_fixated_leave_nothing_to_tell_apart():
    assert math.isnan(F.auc_judd(np.arange(6.0).reshape(2, 3), np.ones((2, 3))))


def test_repeated_fixations():
    p = np.array([[0.0, 1.0], [2.0, 3.0]])
    once, twice = np.array([[0, 1], [0, 1]]), np.array([[0, 1], [0, 3]])
    assert F.nss(p, twice) > F.nss(p, once)
    for convention in CONVENTIONS[1:]:
        assert F.nss(p, twice, convention=convention) == F.nss(p, once, convention=convention)


@pytest.mark.parametrize("metric", [*METRICS, F.heatmap_mse])
@pytest.mark.parametrize(
    ("p", "q", "words"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), "shapes differ"),
        (np.zeros(3), np.zeros(3), "a height and a width"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "empty"),
        ([[np.nan, 1]], [[1, 0]], r"`predictions` holds 1 NaN .* \[0, 0\]"),
        ([[0.5, 1]], [[np.inf, 0]], "`references` holds 1 NaN"),
        ([[0.5, 1]], [[-1, 0]], "`references` holds -1"),
        ([["a", "b"]], [[1, 0]], "str"),
    ],
)
def test_bad_input_is_one_typed_error(metric, p, q, words):
    with pytest.raises(MetricInputError, match=words):
        metric(p, q)


def test_values_that_no_square_holds():
    for scale in (1e300, 1e-300):
        p = scale * np.arange(6.0).reshape(2, 3)
        with pytest.raises(MetricInputError, match="rescale"):
            F.cc(p, np.eye(3)[:2])


def test_negative_predictions():
    p, q = np.array([[-1.0, 2.0]]), np.array([[0.0, 1.0]])
    assert F.sim(p, q) == F.sim(p + 1, q)
    # Moved up they are 0 and 3, and 1e-20 more: densities of 1e-20 / 3 and 1.
    truth = np.array([[1.0, 3.0]])
    expected = 0.25 * math.log(0.25 / (1e-20 / 3)) + 0.75 * math.log(0.75)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert F.kld(p, truth) == pytest.approx(expected, abs=1e-12)
        # A constant is uniform, whatever its sign and digits.
        assert F.kld(np.full((1, 3), -0.1), [[0, 0, 1]]) == pytest.approx(math.log(3), abs=1e-12)
    for metric in (F.kld, F.sim):
        with pytest.raises(MetricInputError, match="never negative"):
            metric(p, q, convention="richhf")
    with pytest.raises(MetricInputError, match="'pysaliency', 'matlab'"):
        F.nss(p, q, convention="mit")


def test_report_is_the_metrics():
    p, q, f = some_maps()
    for convention in CONVENTIONS:
        report = F.saliency_report(p, q, f, convention=convention)
        assert set(report) == {"nss", "kld", "cc", "sim", "auc_judd", "heatmap_mse"}
        for name, values in report.items():
            truth = f if name in ("nss", "auc_judd") else q
            options = {} if name == "heatmap_mse" else {"convention": convention}
            assert values.tolist() == getattr(F, name)(p, truth, **options).tolist()
    assert F.saliency_report(p, q)["nss"].tolist() == F.nss(p, q > 0).tolist()
    with pytest.raises(MetricInputError, match="'psnr'"):
        F.saliency_report(p, q, metrics=["psnr"])
    with pytest.raises(MetricInputError, match="`fixations` holds -1"):
        F.saliency_report(p, q, f - 1)


def test_richhf_protocol():
    p, q, _ = some_maps(shape=(5, 6, 7))
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


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[2, 0]], "outside"),
        ([[-1, 0]], "outside"),
        ([[0.5, 0]], "integers"),
        ([["a", "b"]], "integers"),
    ],
)
def test_points_outside_a_map_are_refused(points, words):
    with pytest.raises(MetricInputError, match=words):
        F.fixation_map(points, 2, 3)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint64"])
def test_points_of_any_whole_type_mark_their_pixels(kind):
    # row * width + column is beyond every byte, and (2, 120) beyond every int16 in a wide map.
    points = np.array([[2, 120], [99, 0], [99, 127]], dtype=kind)
    for width in (128, 20_000):
        marked = np.argwhere(F.fixation_map(points, 100, width)).tolist()
        assert marked == [[2, 120], [99, 0], [99, 127]]


@pytest.mark.parametrize("points", [[[0, 1, 2], [1, 0, 1]], [0, 1], [[[0, 1]]], [[0], [1]]])
def test_points_of_another_shape_are_not_cut_into_pairs(points):
    with pytest.raises(MetricInputError, match="a row for each point"):
        F.fixation_map(points, 3, 3)


@pytest.mark.parametrize("value", [-1.0, -0.1, -0.3, -7e20, -1e-300])
def test_a_constant_map_shares_what_an_even_one_shares(value):
    # 3 of 49 pixels hold all of the truth, and an even map holds 1/49 on each: 3/49 is shared.
    truth = np.zeros((7, 7))
    truth[2, 1:4] = 5.0
    assert F.sim(np.full((7, 7), value), truth) == pytest.approx(3 / 49, rel=1e-12)
