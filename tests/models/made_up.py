"""Generated prompts and scores to fit predictors to."""

import numpy as np
import pandas as pd

from pqpp_models.targets import TARGETS

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


def write_made_up(folder) -> None:
    """Write a dataset `data` of two splits, in which a score is missing, and captions."""
    (folder / "data").mkdir()
    for seed, split in enumerate(("train", "validation")):
        prompts, scores = made_up(40, seed=seed)
        table = pd.DataFrame(scores, columns=list(TARGETS))
        table.insert(0, "prompt", [f"{prompt} {n} {split}" for n, prompt in enumerate(prompts)])
        table.loc[3, "mean_rr"] = np.nan  # such a row is skipped
        table.to_csv(folder / "data" / f"{split}.csv", index=False)
    captions = [f"{prompt} again {n}" for n, prompt in enumerate(made_up(30, seed=5)[0])]
    (folder / "captions.txt").write_text("\n".join(captions))
