"""How much of their errors two like prompts share: what a difference of predictions can be trusted.

The figures are in `likeness.json`, measured by `benchmarks/rewriting.py` inside the train split of
PQPP: residuals of a kernel ridge fitted without both captions of a pair, by the pair's cosine.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_FIGURES = Path(__file__).with_name("likeness.json")


def shared_error(predictor: str, target: str, cosines: ArrayLike) -> NDArray[np.float64]:
    """Return the correlation of the errors of two predictions, by how alike the prompts are.

    Args:
        predictor: The name of the predictor in whose space the cosines are, like `static`.
        target: What is predicted.
        cosines: Of two prompts each, any shape.

    Returns:
        From 0 to 1, of the same shape. 0 where nothing was measured, for another predictor, another
        target or prompts that are less alike: errors are taken for independent there.

    Example:
        >>> shared_error("static", "mean_p10", [0.5, 1.0]).round(2).tolist()
        [0.0, 0.2]
    """
    cosines = np.asarray(cosines, dtype=np.float64)
    space = _figures()["spaces"].get(predictor, {})
    if target not in space.get("correlations", {}):
        return np.zeros_like(cosines)
    return np.interp(cosines, space["cosines"], space["correlations"][target], left=0.0)


@cache
def _figures() -> dict[str, Any]:
    return json.loads(_FIGURES.read_text("utf-8"))
