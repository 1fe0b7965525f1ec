"""Light on rendered scenes whose light is known, and its rules by hand."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")

from support.lit_scenes import lit_scene
from support.other_lit_scenes import soft_scene

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.choices import load_params
from pqpp_feedback.vistar.scores.light import Light, find_dark_areas, find_shadows, infer_direction
from pqpp_metrics.functional.match_rate import match_rate


def seen(scene):
    return find_shadows(scene.image, scene.masks[scene.masks.any((1, 2))], scene.depth)


def degrees_between(one, other):
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def degrees_off(seeds, size=192):
    """Degrees between inferred and true light of each scene; None where nothing is inferred."""
    found = []
    for seed in seeds:
        scene, light = lit_scene(seed, size=size)
        inferred = infer_direction(seen(scene))
        found.append(None if inferred is None else degrees_between(inferred, light))
    return found


def check(found):
    told = [one for one in found if one is not None]
    assert len(told) >= 0.8 * len(found)
    assert np.median(told) < 10


def test_some_rendered_scenes():
    check(degrees_off(range(8), 128))


@pytest.mark.slow
def test_100_rendered_scenes():
    check(degrees_off(range(1000, 1100)))


@pytest.mark.slow
def test_100_scenes_of_another_maker():
    """Soft shadows, patterned floors, uneven light, stacked solids; nothing was chosen on these."""
    phrases = [np.array(one) for one in load_params("light")["phrases"].values()]
    random, off, is_right = np.random.default_rng(0), [], []
    for seed in range(4000, 4100):
        *scene, light = soft_scene(seed)
        inferred = infer_direction(find_shadows(*scene))
        if inferred is None:
            continue
        off.append(degrees_between(inferred, light))
        named = min(phrases, key=lambda phrase: degrees_between(phrase, light))
        other = phrases[int(random.integers(16))]
        while other is named:
            other = phrases[int(random.integers(16))]
        is_right.append(degrees_between(inferred, named) < degrees_between(inferred, other))
    near = match_rate(np.array(off) < 22.5)
    right = match_rate(np.array(is_right))
    print(len(off), np.median(off), np.quantile(off, 0.9), near, right)
    assert len(off) >= 70 and np.median(off) < 12
    assert near["ci_low"] > 0.75 and right["ci_low"] > 0.85


def test_without_a_shadow_there_is_no_direction():
    picture = Picture(Path("a.png"), "", about={"light": "light from upper-left"})
    for seed in range(6):
        scene, _ = lit_scene(seed, shadow=False, size=128)
        evidence = seen(scene)
        assert evidence["pairs"] == [] and evidence["floor"]
        said = Light().score(evidence, picture)
        assert said.score is None and "shadow" in said.reason


def test_shadows_are_found_in_the_picture():
    shares = []
    for seed in range(10):
        scene, _ = lit_scene(seed)
        labels, _ = find_dark_areas(scene.image, scene.floor)
        found = labels > 0
        shares.append((found & scene.shadow).sum() / (found | scene.shadow).sum())
    assert np.median(shares) > 0.85


def test_score_by_hand():
    up = {"top": [0, 1, 0], "tip": [1, 0, 0]}  # light from the left, 45 degrees high
    off = {"top": [0, 1, 0], "tip": [-5, 0, 0]}
    evidence = {"objects": 3, "floor": True, "left_out": [], "pairs": [up, up, off]}
    picture = Picture(Path("a.png"), "", about={"light": "light from upper-left"})
    assert Light().score(evidence, picture).score == pytest.approx(1, abs=1e-4)
    opposite = Picture(Path("a.png"), "", about={"light": "light from upper-right"})
    said = Light().score(evidence, opposite)
    assert said.score == pytest.approx(0, abs=1e-4) and "90 degrees" in said.reason
