"""What the static predictor does with prompts unlike the captions that it was trained on.

Human scores of other prompt sets are about other things: whether an image follows an instruction to
the letter, not how much of a caption it shows. Two linear maps of the cues of difficulty handle
them: one tells such prompts from captions by how they are written, one says how well they do. The
first stays closed on nearly every caption, so that predictions for captions are what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.collection import Floats
from pqpp_models.text.words import CUES, WordTables, cue_features

STYLE = ("full_stop", "log_words", "capitals")
DIFFICULTY = (
    *("number", "log_number", "numbers", "negation", "places", "lettering", "comparisons"),
    *("content_words", "unseen_pairs", "unseen_share", "unknown_words", "max_rarity"),
    *("mean_rarity", "commas", "colours", "log_words", "long", "and", "of", "ing", "single"),
)
OUTSIDE_TENSORS = ("gate.weight", "gate.bias", "strict.weight", "strict.bias")
_MIDDLE, _HALF = 0.5, 1.5
_GENERATION = "hbpp"
_FULL_STOP = CUES.index("full_stop")
_STYLE_COLUMNS = [CUES.index(name) for name in STYLE]
_DIFFICULTY_COLUMNS = [CUES.index(name) for name in DIFFICULTY]


@dataclass
class OutsideModel:
    """The two maps.

    Attributes:
        gate_weight: for the columns of `style_inputs`.
        gate_bias: such that the gate is 0 and closed for nearly all captions.
        strict_weight: for the columns of `difficulty_inputs`.
        strict_bias: what is added.
        shortest: the log of the words, plus one, below which a prompt is no shorter for the gate.
        ajar: how open the gate is at least, where a prompt doesn't end like a sentence.
    """

    gate_weight: Floats
    gate_bias: float
    strict_weight: Floats
    strict_bias: float
    shortest: float
    ajar: float

    def gate(self, cues: Floats, lower: NDArray[np.bool_]) -> Floats:
        """Return, from 0 (a caption) to 1, how much of the second map a prompt gets."""
        rows = style_inputs(cues, lower, self.shortest)
        gate = np.clip(rows @ self.gate_weight + self.gate_bias, 0, 1)
        return np.maximum(gate, self.ajar * (1 - cues[:, _FULL_STOP]))

    def strict(self, cues: Floats) -> Floats:
        """Return the mean HBPP that a prompt would get if instructions were read strictly."""
        linear = difficulty_inputs(cues) @ self.strict_weight + self.strict_bias
        # Bends towards the limits of HBPP, so that no two prompts become the same.
        return _MIDDLE + _HALF * np.tanh((linear - _MIDDLE) / _HALF)

    def steps(
        self,
        prompts: list[str],
        values: NDArray[np.float64],
        targets: Sequence[str],
        tables: WordTables,
    ) -> tuple[Floats, NDArray[np.float64]]:
        """Return how open the gate is, and what that adds to each target.

        Args:
            prompts: the texts.
            values: predictions in the targets' own units, shape ``(prompts, targets)``.
            targets: their names; only generation is added to.
            tables: the counts of the collection's words.
        """
        cues = cue_features(prompts, tables)
        gate = self.gate(cues, begins_lower(prompts))
        generation = np.array([target.endswith(_GENERATION) for target in targets], dtype=bool)
        if not generation.any():
            return np.zeros_like(gate), np.zeros_like(values)
        step = gate * (self.strict(cues) - values[:, generation].mean(axis=1))
        return gate, np.where(generation, step[:, None], 0.0)

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Return the maps as arrays, by the names of `OUTSIDE_TENSORS`."""
        biases = [self.gate_bias, self.shortest, self.ajar]
        arrays = (self.gate_weight, biases, self.strict_weight, [self.strict_bias])
        return {
            name: np.asarray(array, np.float32)
            for name, array in zip(OUTSIDE_TENSORS, arrays, strict=True)
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[np.float32]]) -> OutsideModel:
        """Return the maps that `tensors` gave.

        Raises:
            KeyError: an array is missing.
            ValueError: one has another shape than the cues ask for.
        """
        gate, gate_bias, strict, strict_bias = (tensors[name] for name in OUTSIDE_TENSORS)
        shapes = gate.shape, gate_bias.shape, strict.shape, strict_bias.shape
        if shapes != ((len(STYLE) + 1,), (3,), (len(DIFFICULTY),), (1,)):
            raise ValueError("the outside model's arrays do not fit its cues")
        bias, shortest, ajar = map(float, gate_bias)
        return cls(gate, bias, strict, float(strict_bias[0]), shortest, ajar)


def style_inputs(cues: Floats, lower: NDArray[np.bool_], shortest: float) -> Floats:
    """Return what tells instructions from captions: how a prompt is written, not what it says."""
    rows = np.column_stack([cues[:, _STYLE_COLUMNS], lower])
    column = STYLE.index("log_words")
    rows[:, column] = np.maximum(rows[:, column], shortest)
    return rows


def difficulty_inputs(cues: Floats) -> Floats:
    """Return the cues that make an instruction hard to follow."""
    return cues[:, _DIFFICULTY_COLUMNS]


def begins_lower(prompts: list[str]) -> NDArray[np.bool_]:
    """Tell which prompts begin with a small letter.

    >>> begins_lower(["a cat", "A cat", ""]).tolist()
    [True, False, False]
    """
    return np.array([prompt.lstrip()[:1].islower() for prompt in prompts], dtype=bool)
