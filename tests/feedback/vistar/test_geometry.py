"""Each cue of geometry falls under its own damage, step by step; the sixth has references."""

import itertools
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cv2", reason="geometry needs pqpp[assess]")
torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402
from support.damages import damaged, plain_scene  # noqa: E402
from support.tiny_sight import save_sight  # noqa: E402

from pqpp_feedback.assess.pictures import Picture  # noqa: E402
from pqpp_feedback.errors import FeedbackError  # noqa: E402
from pqpp_feedback.vistar.scores.geometry import (  # noqa: E402
    CUES,
    Geometry,
    cue_scores,
    fit_padim,
    raw_cues,
)
from pqpp_feedback.vistar.sight import Sight  # noqa: E402

STEPS = range(6)


@pytest.mark.parametrize("cue", CUES[:5])
def test_a_cue_falls_under_its_own_damage(cue):
    pixels, depth = plain_scene()
    scores = [cue_scores(raw_cues(*damaged(cue, step, pixels, depth)))[cue] for step in STEPS]
    assert all(before > after for before, after in itertools.pairwise(scores)), scores
    assert scores[0] > 0.5 and scores[-1] < 0.7 * scores[0], scores


@pytest.fixture(scope="module")
def sight(tmp_path_factory):
    return Sight(save_sight(tmp_path_factory.mktemp("models"), ("anomaly", "depth")), "cpu")


def as_image(pixels):
    return Image.fromarray((pixels * 255).round().astype(np.uint8))


def test_the_anomaly_cue_falls_under_its_own_damage(sight, tmp_path):
    random = np.random.default_rng(0)
    pixels, depth = plain_scene(96)
    for number in range(12):
        grain = random.normal(0, 0.03, pixels.shape)
        as_image(np.clip(pixels + grain, 0, 1)).save(tmp_path / f"{number}.png")
    score = Geometry(sight, str(tmp_path))
    found = []
    for step in STEPS:
        image = as_image(damaged("anomaly", step, pixels, depth)[0])
        (seen,) = score.perceive([image], [Picture(Path(f"{step}.png"), "")])
        found.append(cue_scores(seen)["anomaly"])
    assert all(before > after for before, after in itertools.pairwise(found)), found
    (tmp_path / "9.png").unlink()
    other = Geometry(sight, str(tmp_path))
    assert score.settings["references"] != other.settings["references"]


def test_padim_is_mahalanobis_distance():
    random = np.random.default_rng(1)
    references = random.normal(size=(30, 2, 3)) @ np.diag([1, 2, 3])
    model = fit_padim(references)
    image = random.normal(size=(2, 3))
    from scipy.spatial.distance import mahalanobis

    inverse = [np.linalg.inv(np.cov(references[:, place].T) + 0.01 * np.eye(3)) for place in (0, 1)]
    expected = [mahalanobis(image[p], references[:, p].mean(0), inverse[p]) for p in (0, 1)]
    assert model.distance(image) == pytest.approx(max(expected))
    with pytest.raises(FeedbackError, match="7 reference images"):
        fit_padim(references[:7])
