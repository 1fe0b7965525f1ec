"""Prompt syntax (dialects, quotes, quality tags, addresses) does not change predictions."""

import numpy as np
import pytest

from pqpp_models.predictor import Predictor

BARE = [
    "a red bicycle leaning on a wall",
    "three cats on a mat",
    "a man riding a wave on a surfboard",
    'a sign that says "Hello World"',
    "a glass of water to the left of a plate",
    "a street with no cars",
    "an old bridge over a river in autumn",
    "two dogs and a horse in the snow",
]
TYPED = {
    "quotes": "'{}'",
    "curly quotes": "“{}”",
    "resolution": "{}, 4k",
    "quality": "{}, trending on artstation, octane render, 8k",
    "unwanted": "{}, no blur, no watermark, no text",
    "address": "https://example.org/a.png {}",
    "web interface": "(masterpiece:1.3), {}, [bad hands], --ar 16:9 --v 6",
    "network": "{} <lora:detail:0.8>",
    "settings": "{}\nNegative prompt: blurry\nSteps: 20, Sampler: Euler a, CFG scale: 7",
    "bold": "**{}**",
    "flags": "{} --ar 16:9 --style raw --no people",
    "command": "/imagine prompt: {}",
    "request": "Please generate an image of {}. Thank you!",
}


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


@pytest.mark.parametrize("typed", TYPED.values(), ids=TYPED)
def test_syntax_does_not_change_predictions(static, typed):
    expected = static.predict_with_uncertainty(BARE)
    result = static.predict_with_uncertainty([typed.format(prompt) for prompt in BARE])
    for before, after in zip(expected[:4], result[:4], strict=True):
        np.testing.assert_array_equal(after, before)
    assert not result.out_of_domain.any()


def test_syntax_does_not_change_features(static):
    prompts = [TYPED["web interface"].format(prompt) for prompt in BARE]
    np.testing.assert_array_equal(static.embed(prompts), static.embed(BARE))
    for after, before in zip(static.get_features(prompts), static.get_features(BARE), strict=True):
        np.testing.assert_array_equal(after, before)
