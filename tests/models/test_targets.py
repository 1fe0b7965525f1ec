import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_models import TARGETS, UnknownTargetError, resolve_targets, target_range
from pqpp_models.targets import scale_targets, target_limits, unscale_targets


def test_names_and_ranges():
    assert len(TARGETS) == 9
    assert [target_range(t) for t in TARGETS] == [(-1.0, 2.0)] * 3 + [(0.0, 1.0)] * 6
    low, high = target_limits(())
    assert low.shape == high.shape == (0,)


def test_hbpp_is_scaled_as_in_the_paper():
    scaled = scale_targets([[-1.0, 0.0, 2.0]], TARGETS[:3])
    assert scaled.tolist() == [[0.0, 1 / 3, 1.0]]
    assert scale_targets([[0.3] * 6], TARGETS[3:]).tolist() == [[0.3] * 6]


def test_missing_values_stay_missing():
    assert np.isnan(scale_targets([[np.nan]], ["mean_rr"])).all()


@given(st.lists(st.floats(-1, 2), min_size=9, max_size=9))
def test_unscale_undoes_scale(values):
    there_and_back = unscale_targets(scale_targets([values]))
    np.testing.assert_allclose(there_and_back, [values], atol=1e-12)


@pytest.mark.parametrize("shape", [(), (8,), (2, 3)])
def test_wrong_number_of_values_is_refused(shape):
    with pytest.raises(ValueError, match="9 targets"):
        scale_targets(np.zeros(shape))


def test_names_are_resolved_in_their_order():
    assert resolve_targets(" mean_rr ,mean_hbpp") == ("mean_rr", "mean_hbpp")
    assert resolve_targets(["clip_rr"]) == ("clip_rr",)
    assert resolve_targets(None) == TARGETS


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("mean_hbbp", "did you mean 'mean_hbpp'"),
        ("xyz", "no target is called 'xyz'; available: glide_hbpp"),
        ("mean_hbpp,mean_hbpp", "named twice: mean_hbpp"),
        ("", "no target was named"),
        ([], "no target was named"),
        ([3], "no target is called '3'"),
    ],
)
def test_bad_names_are_refused(names, said):
    with pytest.raises(UnknownTargetError, match=said):
        resolve_targets(names)


def test_target_that_a_predictor_does_not_have():
    with pytest.raises(UnknownTargetError, match="'mean_rr' is not predicted here"):
        resolve_targets("mean_rr", ("mean_hbpp",))
