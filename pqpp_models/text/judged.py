"""What people in several studies said of prompts, as one model of what is read in a prompt.

`pqpp_models.text.training.pooling` fits it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pqpp_models.text.arrays import Arrays, Floats, Singles, multiply_exactly, to_grid
from pqpp_models.text.reading.asking_less import compute_log_demand
from pqpp_models.text.reading.words import WordTables, compute_difficulty, to_words

MOST_EXTREME = 4.0
"""Facts count for no more than so many deviations."""


def compute_facts(
    texts: Sequence[str], vectors: Singles, scores: Singles, tables: WordTables
) -> list[Floats]:
    """Return what is read in normalised prompts, one block of columns a kind.

    Args:
        texts: the prompts.
        vectors: the mean vectors of their word pieces.
        scores: what a network makes of them.
        tables: counts of words in captions.
    """
    asked = np.array([compute_log_demand(text) for text in texts])[:, None]
    return [vectors, scores, compute_difficulty(texts, tables), asked]


def compute_lengths(texts: Sequence[str]) -> Floats:
    """Return the logs of numbers of words plus one, over that of ten words.

    >>> compute_lengths(["one two three four five six seven eight nine ten"]).tolist()
    [0.0]
    """
    return np.array([math.log1p(len(to_words(text))) - math.log(11) for text in texts])


@dataclass(eq=False)
class JudgedModel:
    """A linear model of facts, and a curve of the prompt's length.

    Attributes:
        mean, deviation: of each fact.
        slopes: by fact, what a deviation adds.
        curve: of `compute_lengths`: what its square and itself are multiplied by, and what is
            added.

    >>> model = JudgedModel(np.ones(2), np.ones(2), np.array([1.0, -0.5]), np.array([0.0, 2, 0]))
    >>> model(np.array([[2.0, 3.0], [99.0, 1.0]]), np.array([0.0, 1.0])).tolist()
    [0.0, 6.0]
    """

    mean: Floats
    deviation: Floats
    slopes: Floats
    curve: Floats

    def __post_init__(self) -> None:
        """Round to what a checkpoint holds."""
        for name, array in self.to_tensors().items():
            setattr(self, name, array)

    def __call__(self, facts: Floats, lengths: Floats) -> Floats:
        """Return the scores of prompts, each the same whatever prompts are beside it."""
        rows = np.clip((facts - self.mean) / self.deviation, -MOST_EXTREME, MOST_EXTREME)
        scores = multiply_exactly(rows, to_grid(self.slopes[:, None]))[:, 0]
        curve: Floats = np.polyval(self.curve.astype(float), lengths)
        return scores + curve

    def to_tensors(self) -> Arrays:
        """Return the arrays by name, as a checkpoint contains them."""
        return {name: np.asarray(array, np.float32) for name, array in vars(self).items()}
