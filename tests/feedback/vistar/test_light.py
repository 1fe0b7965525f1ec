"""Light: directions in rendered scenes, and the score by hand."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")

from support.lit_scenes import make_lit_scene
from support.soft_scenes import make_soft_scene

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import load_params
from pqpp_feedback.vistar.scores.light import Light, find_dark_areas, find_shadows, infer_direction
from pqpp_metrics.functional.match_rate import match_rate


def find_scene_shadows(scene):
    return find_shadows(scene.image, scene.masks[scene.masks.any((1, 2))], scene.depth)


def compute_angle(a, b):
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


@pytest.mark.parametrize(
    ("seeds", "size"),
    [(range(8), 128), pytest.param(range(1000, 1100), 192, marks=pytest.mark.slow)],
)
def test_light_direction_of_rendered_scenes(seeds, size):
    errors = []
    for seed in seeds:
        scene, light = make_lit_scene(seed, size=size)
        inferred = infer_direction(find_scene_shadows(scene))
        errors += [] if inferred is None else [compute_angle(inferred, light)]
    assert len(errors) >= 0.8 * len(seeds)
    assert np.median(errors) < 10


@pytest.mark.slow
def test_light_direction_of_100_soft_scenes():
    """Soft shadows, patterned floors and stacked solids; no parameter was tuned on these."""
    phrases = [np.array(one) for one in load_params("light")["phrases"].values()]
    random, errors, is_right = np.random.default_rng(0), [], []
    for seed in range(4000, 4100):
        *scene, light = make_soft_scene(seed)
        inferred = infer_direction(find_shadows(*scene))
        if inferred is None:
            continue
        errors.append(compute_angle(inferred, light))
        closest = min(phrases, key=lambda phrase: compute_angle(phrase, light))
        other = phrases[int(random.integers(16))]
        while other is closest:
            other = phrases[int(random.integers(16))]
        is_right.append(compute_angle(inferred, closest) < compute_angle(inferred, other))
    close_rate = match_rate(np.array(errors) < 22.5)
    phrase_rate = match_rate(np.array(is_right))
    print(len(errors), np.median(errors), np.quantile(errors, 0.9), close_rate, phrase_rate)
    assert len(errors) >= 70 and np.median(errors) < 12
    assert close_rate["ci_low"] > 0.75 and phrase_rate["ci_low"] > 0.85


def test_scene_without_shadow_has_no_direction():
    picture = Picture(Path("a.png"), "", about={"light": "light from upper-left"})
    for seed in range(6):
        scene, _ = make_lit_scene(seed, shadow=False, size=128)
        evidence = find_scene_shadows(scene)
        assert evidence["pairs"] == [] and evidence["floor"]
        verdict = Light().score(evidence, picture)
        assert verdict.score is None and "shadow" in verdict.reason


def test_flat_object_has_no_direction():
    """A dark rug: its mask and its dark rim lie in the plane of the floor."""
    scene, _ = make_lit_scene(0, shadow=False, size=128)
    rows, columns = np.argwhere(scene.floor).mean(axis=0).astype(int)
    image, rug = scene.image.copy(), np.zeros(scene.floor.shape, bool)
    rug[rows : rows + 9, columns : columns + 9] = True
    image[rows : rows + 9, columns + 9 : columns + 20] *= 0.3
    # Noise puts the rug just below the floor.
    found = find_shadows(image, rug[None], scene.depth + 0.01 * rug)
    assert found["pairs"] == [] and "floor" in "".join(found["left_out"])


def test_find_dark_areas_overlaps_shadows():
    overlaps = []
    for seed in range(10):
        scene, _ = make_lit_scene(seed)
        is_dark = find_dark_areas(scene.image, scene.floor)[0] > 0
        overlaps.append((is_dark & scene.shadow).sum() / (is_dark | scene.shadow).sum())
    assert np.median(overlaps) > 0.85


def test_score_by_hand():
    pair = {"top": [0, 1, 0], "tip": [1, 0, 0]}  # light from the left, 45 degrees high
    outlier = {"top": [0, 1, 0], "tip": [-5, 0, 0]}
    evidence = {"objects": 3, "floor": True, "left_out": [], "pairs": [pair, pair, outlier]}
    picture = Picture(Path("a.png"), "", about={"light": "light from upper-left"})
    assert Light().score(evidence, picture).score == pytest.approx(1, abs=1e-4)
    opposite = Picture(Path("a.png"), "", about={"light": "light from upper-right"})
    verdict = Light().score(evidence, opposite)
    assert verdict.score == pytest.approx(0, abs=1e-4) and "90 degrees" in verdict.reason
