"""The reference of verdicts: quantiles of predictions for captions and people's prompts.

A predictor's configuration contains a `reference`: the name of the target, and 101 quantiles (the
0th to the 100th percentile) of its predictions for real captions and for prompts that people wrote.
It contains no text. `pqpp_models.text.training.reference` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_files.errors import reraise
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import REFERENCE


@dataclass(frozen=True)
class VerdictReference:
    """Quantiles of a predictor's own predictions.

    Attributes:
        captions: The 0th to the 100th percentile of predictions for real captions.
        people: The same for people's prompts.
    """

    target: str
    captions: NDArray[np.float64]
    people: NDArray[np.float64]

    def rank(self, values: ArrayLike, prompts: str = "people") -> NDArray[np.float64]:
        """Return how many of 100 reference prompts each prediction exceeds; ties count half.

        Args:
            values: Predictions, NaN if missing.
            prompts: `people` or `captions`.

        >>> steps = np.linspace(0.0, 1.0, 101)
        >>> VerdictReference("alignment", steps, steps).rank([0.25, -1.0, 2.0]).tolist()
        [25.0, 0.0, 100.0]
        >>> steps = np.maximum(steps, 0.2)  # of the lowest 21, ties count half
        >>> VerdictReference("alignment", steps, steps).rank([0.2, 0.1]).tolist()
        [10.0, 0.0]
        """
        quantiles = getattr(self, prompts)
        distinct, first, counts = np.unique(quantiles, return_index=True, return_counts=True)
        return np.interp(np.asarray(values), distinct, first + (counts - 1) / 2, left=0, right=100)


def read_reference(predictor: Any) -> VerdictReference:
    """Return a predictor's verdict reference.

    Raises:
        PredictorError: The predictor has no reference, or a damaged one.

    >>> from pqpp_models.predictor import Predictor
    >>> read_reference(Predictor.from_pretrained("static")).target
    'alignment'
    """
    record = predictor.details.get(REFERENCE)
    if record is None:
        raise PredictorError(f"{predictor.title} gives no verdicts; use static")
    remedy = "save or download the predictor again"
    with reraise(f"the verdict ranks of {predictor.title} are damaged", remedy, PredictorError):
        shares = np.array([record["captions"], record["people"]], dtype=np.float64)
        is_rising = np.isfinite(shares).all() and (np.diff(shares) >= 0).all()
        if not is_rising or shares.shape != (2, 101) or record["target"] not in predictor.targets:
            raise ValueError("invalid quantiles or target")
    return VerdictReference(record["target"], *shares)
