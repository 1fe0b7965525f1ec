import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_datasets.target_columns import sort_targets
from pqpp_models import TARGETS, PredictorError, resolve_targets
from pqpp_models.targets import get_limits, scale_targets, unscale_targets


def test_scales_hbpp_like_paper():
    scaled = scale_targets([[-1.0, 0.0, 2.0]], TARGETS[:3])
    assert scaled.tolist() == [[0.0, 1 / 3, 1.0]]
    assert scale_targets([[0.3] * 6], TARGETS[3:]).tolist() == [[0.3] * 6]


@given(st.lists(st.floats(-1, 2), min_size=9, max_size=9))
def test_unscale_inverts_scale(values):
    restored = unscale_targets(scale_targets([values]))
    np.testing.assert_allclose(restored, [values], atol=1e-12)


def test_resolves_targets_of_any_model():
    names = ("alignment", "mini-dalle_hbpp", "siglip_p5", "mean_rate", "t2v_rating")
    assert resolve_targets(names) == names
    low, high = get_limits(names, {"t2v_rating": (1, 5)})
    assert low.tolist() == [0, -1, 0, 0, 1] and high.tolist() == [1, 2, 1, 1, 5]
    assert sort_targets(names[::-1]) == names
    expected = "sdxl_hbpp glide_hbpp mean_hbpp blip2_p10 clip_p10 mean_p10 blip2_rr clip_rr mean_rr"
    assert sort_targets(TARGETS[::-1]) == tuple(expected.split())


def test_scales_ratings_by_limits():
    limits = {"flux_rating": (1.0, 5.0)}
    assert scale_targets([[1.0], [4.0]], ["flux_rating"], limits).tolist() == [[0.0], [0.75]]
    assert unscale_targets([[0.75]], ["flux_rating"], limits).tolist() == [[4.0]]
    with pytest.raises(PredictorError, match="'flux_rating' has no known range"):
        scale_targets([[1.0]], ["flux_rating"])
