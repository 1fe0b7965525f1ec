"""The model that predicts `alignment`, fitted to people's ratings in several studies.

`pqpp_models.text.training.pooling` fits the model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pqpp_models.text.arrays import Arrays, Floats, Singles, multiply_exactly, round_to_grid
from pqpp_models.text.reading.simplify import compute_log_demand
from pqpp_models.text.reading.words import WordTables, compute_difficulty, to_words

CLIP_DEVIATIONS = 4.0
"""The number of standard deviations to which features are clipped."""


def compute_features(
    texts: Sequence[str], vectors: Singles, scores: Singles, tables: WordTables
) -> list[Floats]:
    """Return the features of normalised prompts, as blocks of columns with one row per prompt.

    Args:
        texts: normalised prompts.
        vectors: the mean vectors of the prompts' word pieces.
        scores: the network's scores of the prompts.
        tables: word counts of the captions.
    """
    demand = np.array([compute_log_demand(text) for text in texts])[:, None]
    return [vectors, scores, compute_difficulty(texts, tables), demand]


def compute_lengths(texts: Sequence[str]) -> Floats:
    """Return log(1 + words) of each prompt, minus the same value for ten words.

    >>> compute_lengths(["one two three four five six seven eight nine ten"]).tolist()
    [0.0]
    """
    return np.array([math.log1p(len(to_words(text))) - math.log(11) for text in texts])


@dataclass(eq=False)
class AlignmentModel:
    """A model that is linear in prompt features and quadratic in the prompt's log length.

    Attributes:
        mean, deviation: mean and standard deviation of each feature.
        slopes: coefficient of each standardised feature.
        curve: quadratic, linear and constant coefficients of the output of `compute_lengths`.

    >>> model = AlignmentModel(np.ones(2), np.ones(2), np.array([1.0, -0.5]), np.array([0.0, 2, 0]))
    >>> model(np.array([[2.0, 3.0], [99.0, 1.0]]), np.array([0.0, 1.0])).tolist()
    [0.0, 6.0]
    """

    mean: Floats
    deviation: Floats
    slopes: Floats
    curve: Floats

    def __post_init__(self) -> None:
        """Round the coefficients to the precision of a checkpoint."""
        for name, array in self.to_tensors().items():
            setattr(self, name, array)

    def __call__(self, features: Floats, lengths: Floats) -> Floats:
        """Return the score of each prompt, which does not depend on the other prompts."""
        rows = np.clip((features - self.mean) / self.deviation, -CLIP_DEVIATIONS, CLIP_DEVIATIONS)
        scores = multiply_exactly(rows, round_to_grid(self.slopes[:, None]))[:, 0]
        curve: Floats = np.polyval(self.curve.astype(float), lengths)
        return scores + curve

    def to_tensors(self) -> Arrays:
        """Return the model's arrays by name, in the precision of a checkpoint."""
        return {name: np.asarray(array, np.float32) for name, array in vars(self).items()}
