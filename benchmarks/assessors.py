"""How right the scores after VISTAR are on scenes whose truth is known, and how fast.

    python benchmarks/assessors.py [--scenes N] [--seed N] [--only NAME,...]

Scenes are drawn or rendered by `tests/support`; seeds count up from --seed. The tests' bars are the
same figures; thresholds in `vistar_choices.yaml` were set while looking at seeds below 400.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.damages import damaged, plain_scene
from support.drawn_texts import draw_text
from support.lit_scenes import lit_scene
from support.meeting_solids import meeting_solids
from support.skeletons import skeleton

from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.vistar.characters import Characters
from pqpp_feedback.vistar.composed_scene import ComposedScene
from pqpp_feedback.vistar.geometry import CUES, Geometry, cue_scores, raw_cues
from pqpp_feedback.vistar.light import Light, inferred_light
from pqpp_feedback.vistar.penetration import WEIGHTINGS, PenetrationScore, meeting_pairs
from pqpp_feedback.vistar.postures import POSTURES, posture_of
from pqpp_feedback.vistar.shadows import cast_shadows
from pqpp_feedback.vistar.text_rendering import TextRenderingScore


def text(n: int, seed: int) -> None:
    """Text rendering of drawn texts that are read as they should be."""
    score, found = TextRenderingScore(), []
    score.look(draw_text(seed)[0], picture())  # loads the models
    spent = 0.0
    for number in range(seed, seed + n):
        image, wanted = draw_text(number)
        asked = picture(text=wanted)
        start = time.process_time()
        found.append(score.judge(score.look(image, asked), asked).score)
        spent += time.process_time() - start
    version = importlib.metadata.version("rapidocr")
    print(f"text rendering: n {n}, mean {np.mean(found):.3f}, rapidocr {version}")
    print(f"text rendering: {n / spent:.2f} images of 512 x 512 a CPU second")


def light(n: int, seed: int) -> None:
    """Degrees between inferred and true light."""
    off, silent, spent = [], 0, 0.0
    for number in range(seed, seed + n):
        scene, true = lit_scene(number)
        start = time.process_time()
        inferred = inferred_light(shadows(scene))
        spent += time.process_time() - start
        if inferred is None:
            silent += 1
            continue
        off.append(np.degrees(np.arccos(np.clip(inferred @ true / np.linalg.norm(true), -1, 1))))
    told = f"median {np.median(off):.1f}, 90 % below {np.quantile(off, 0.9):.1f} degrees"
    print(f"light: n {n}, {told}, no direction for {silent}")
    dark = [bool(shadows(lit_scene(m, shadow=False)[0])["pairs"]) for m in range(seed, seed + n)]
    print(f"light: n {n} without a shadow, a direction for {sum(dark)}")
    print(f"light: {n / spent:.1f} images of 192 x 192 a CPU second, masks and depth given")


def shadows(scene) -> dict:
    """Return the evidence of a rendered scene."""
    return cast_shadows(scene.image, scene.masks[scene.masks.any((1, 2))], scene.depth)


def solids(n: int, seed: int) -> None:
    """Whether penetrating solids score below touching ones."""
    seen, spent = {True: [], False: []}, 0.0
    for number in range(seed, seed + n // 2):
        inside = np.random.default_rng([number, 6]).uniform(0.15, 0.5)
        for depth in (0, inside):
            scene = meeting_solids(number, depth)
            start = time.process_time()
            pairs = meeting_pairs(scene.masks, scene.depth, [1, 1])
            spent += time.process_time() - start
            seen[depth > 0].append({"objects": 2, "labels": ["a", "b"], "pairs": pairs})
    for weighting in WEIGHTINGS:
        score = PenetrationScore(weighting=weighting)
        own, other = (
            np.array([score.judge(one, picture()).score for one in seen[kind]])
            for kind in (True, False)
        )
        auc = (own[:, None] < other).mean() + (own[:, None] == other).mean() / 2
        print(f"penetration, {weighting}: n {n}, AUC {auc:.3f}")
    print(f"penetration: {n / spent:.1f} images of 256 x 256 a CPU second, masks and depth given")


def postures(n: int, seed: int) -> None:
    """Share of drawn skeletons whose posture is told."""
    right = {name: [] for name in POSTURES}
    for number in range(seed, seed + n):
        name = POSTURES[number % len(POSTURES)]
        right[name].append(posture_of(skeleton(number, name)) == name)
    every = [one for some in right.values() for one in some]
    by_name = ", ".join(f"{name} {np.mean(some):.3f}" for name, some in right.items())
    print(f"postures: n {n}, {np.mean(every):.3f} right ({by_name})")


def geometry(n: int, seed: int) -> None:
    """Each cue under its own damage, in five steps."""
    pixels, depth = plain_scene()
    for cue in CUES[:5]:
        steps = [cue_scores(raw_cues(*damaged(cue, m, pixels, depth)))[cue] for m in range(6)]
        print(f"geometry, {cue}: " + " ".join(f"{one:.3f}" for one in steps))


def arithmetic(n: int, seed: int) -> None:
    """Images a second from kept evidence, reading of JSON included."""
    pair = {"top": [0, 1, 0], "tip": [1, 0, 0]}
    meeting = {"overlap": [1, 1.5], "outside": [1, 3], "relief": 1, "contact": 2}
    meeting |= {"enclosed": 0, "confidences": [1, 0.5], "objects": [0, 1]}
    person = {"keypoints": skeleton(seed, "sitting"), "expression": "happy"}
    pieces = [{"text": "Grand Canyn", "confidence": 0.9, "corners": [[0, 0]] * 4}]
    scene = {"panels": [[0, 0, 1, 1]] * 4, "similarity": np.full((4, 4), 0.2).tolist()}
    scene |= {"found": [0, 1, 2, 3], "likeness": np.full((4, 4), 0.8).tolist()}
    cases = {
        TextRenderingScore(): ({"pieces": pieces}, {"text": "Grand Canyon"}),
        Light(): (
            {"objects": 3, "floor": True, "left_out": [], "pairs": [pair] * 3},
            {"light": "light from upper-left"},
        ),
        ComposedScene(): (scene, {"panels": ["a", "b", "c", "d"], "subject": "cat"}),
        Characters(): (
            {"people": [person] * 3},
            {"postures": "sitting; standing; lying", "expressions": "happy; sad; happy"},
        ),
        PenetrationScore(): ({"objects": 4, "labels": list("abcd"), "pairs": [meeting] * 6}, {}),
        Geometry(): (raw_cues(*plain_scene()), {}),
    }
    for score, (evidence, about) in cases.items():
        text, asked = json.dumps(evidence), picture(**about)
        start = time.process_time()
        for _ in range(2000):
            score.score(json.loads(text), asked)
        rate = 2000 / (time.process_time() - start)
        print(f"{score.section}: {rate:,.0f} images a CPU second from evidence")


def picture(**about) -> Picture:
    """Return a picture of which only this is known."""
    return Picture(Path("a.png"), "", about=about)


PARTS = {
    **{"text_rendering": (text, 200), "light": (light, 100), "penetration": (solids, 200)},
    **{"characters": (postures, 200), "geometry": (geometry, 1), "arithmetic": (arithmetic, 1)},
}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, metavar="N", help="of each kind (default: 100, 200)")
    parser.add_argument("--seed", type=int, default=1000, metavar="N", help="the first one's")
    parser.add_argument("--only", metavar="NAME[,...]", help=f"of {', '.join(PARTS)}")
    options = parser.parse_args()
    for name in (options.only or ",".join(PARTS)).split(","):
        part, usual = PARTS[name]
        part(options.scenes or usual, options.seed)


if __name__ == "__main__":
    main()
