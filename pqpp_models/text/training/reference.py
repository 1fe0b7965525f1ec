"""The reference prompts of verdicts: captions, and prompts that people wrote.

Studies whose prompts were composed by rules are not used.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pqpp_models.predict import choose_main_targets

FREELY_WRITTEN = ("agiqa", "genai", "t2v", "drawbench")
"""The studies whose prompts people wrote."""
_DIGITS = 4


def make_reference(
    predictor: Any, captions: Sequence[str], people: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the reference for verdicts, an entry of a predictor's configuration.

    Args:
        predictor: A predictor of texts.
        people: The prompts that people wrote, by study.
    """
    target = choose_main_targets(predictor)[0]

    def compute_quantiles(groups: Iterable[Sequence[str]]) -> list[float]:
        """Return 101 quantiles of predictions for prompts, with equal weight for each group."""
        values = [predictor.predict(list(prompts), target)[:, 0] for prompts in groups]
        weights = np.concatenate([np.full(len(group), 1 / len(group)) for group in values])
        pooled = np.concatenate(values)
        order = np.argsort(pooled, kind="stable")
        # Interpolated linearly between the midpoints of the weights.
        middles = np.cumsum(weights[order]) - weights[order] / 2
        shares = (middles - middles[0]) / (middles[-1] - middles[0]) * 100
        return np.interp(np.arange(101), shares, pooled[order]).round(_DIGITS).tolist()

    return {
        "target": target,
        "captions": compute_quantiles([captions]),
        "people": compute_quantiles(people.values()),
        "sources": {"captions": len(captions), **{name: len(people[name]) for name in people}},
    }
