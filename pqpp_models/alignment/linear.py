"""A linear model of `alignment` on an encoder's states, for what is too dear to tune again.

It gives each study's prompts a prediction by the other studies, on which units and deviations of
`alignment` are fitted, and cross-validated predictions inside a study, the ceiling of its table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.alignment.teacher import gaussian, relative_ranks
from pqpp_models.encoder.encoding import embed
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.encoder.tokens import encode
from pqpp_models.text.ridge.solving import cross_validate, solve

STRENGTHS = tuple(10.0 ** (step / 2) for step in range(0, 9))
FOLDS = 5
_MOST_A_SOURCE = 400

Floats = NDArray[np.float64]


def tuned_states(tuned: Any, tokenizer: Any, prompts: Sequence[str]) -> NDArray[np.float32]:
    """Return what the head of a tuned encoder gets of some prompts, ``(prompts, hidden size)``."""
    rows = encode(tokenizer, [normalise(one) for one in prompts], tuned.config.max_length)
    return embed(tuned, rows, tokenizer.pad_token_id or 0, 128, tuned.device)


def leave_each_out(
    states: Mapping[str, NDArray[np.float32]], scores: Mapping[str, Sequence[float]]
) -> dict[str, Floats]:
    """Predict the Gaussian ranks of each study's prompts by ridge regression on the other studies.

    One strength is chosen for all studies, by the least squared error over them.

    Args:
        states: by study, shape ``(prompts, columns)``.
        scores: by study, one a prompt, on a scale of its own.

    Returns:
        By study, one prediction a prompt.
    """
    told = {name: gaussian(relative_ranks(one)) for name, one in scores.items()}
    found, errors = {}, np.zeros(len(STRENGTHS))
    for name in states:
        others = [one for one in states if one != name] or [name]
        picks = {one: _spread(len(told[one])) for one in others}
        rows = np.concatenate([states[one][picks[one]] for one in others])
        values = np.concatenate([told[one][picks[one]] for one in others])
        mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-6
        slopes, intercepts = solve(
            (rows - mean) / deviation, values[:, None].astype(np.float64), STRENGTHS
        )
        ours = ((states[name] - mean) / deviation) @ slopes[..., 0].T + intercepts[:, 0]
        errors += ((ours - told[name][:, None]) ** 2).mean(axis=0)
        found[name] = ours
    return {name: ours[:, errors.argmin()] for name, ours in found.items()}


def inside(states: NDArray[np.float32], scores: Sequence[float], seed: int) -> Floats:
    """Predict a study's Gaussian ranks by its own other prompts, in five folds.

    Args:
        states: shape ``(prompts, columns)``.
        scores: one a prompt.
        seed: of the folds.
    """
    told = gaussian(relative_ranks(scores))[:, None]
    rows = (states - states.mean(axis=0)) / (states.std(axis=0) + 1e-6)
    part = np.random.default_rng(seed).permutation(np.arange(len(rows)) % FOLDS)
    return cross_validate(rows.astype(np.float64), told, part, STRENGTHS)[1][:, 0]


def _spread(size: int) -> NDArray[np.int64]:
    """Return evenly spaced rows, so many as a study may have."""
    return np.unique(np.linspace(0, size - 1, min(size, _MOST_A_SOURCE)).astype(int))
