"""Generated prompts and scores to fit predictors to."""

import numpy as np

SUBJECTS = ("man", "woman", "dog", "cat", "bird", "child", "zebra", "horse")
ACTIONS = ("riding", "holding", "near", "under", "painting", "chasing")
THINGS = ("a wave", "two oranges", "a red bus", "the old clock", "a surfboard", "an umbrella")


def made_up(n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Return prompts with nine scores that depend on their words, in the targets' units."""
    rng = np.random.default_rng(seed)
    parts = [rng.integers(len(words), size=n) for words in (SUBJECTS, ACTIONS, THINGS)]
    prompts = [f"A {SUBJECTS[s]} {ACTIONS[a]} {THINGS[t]}." for s, a, t in zip(*parts, strict=True)]
    hidden = parts[0] / 8 + parts[1] / 12 + rng.normal(0, 0.1, n)
    scores = np.clip(hidden[:, None] / 2 + rng.normal(0, 0.05, (n, 9)), 0, 1)
    scores[:, :3] = scores[:, :3] * 3 - 1
    return prompts, scores
