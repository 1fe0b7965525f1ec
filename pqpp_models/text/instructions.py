"""What is done with prompts that give instructions, unlike the captions that were trained on.

People's scores of such prompts are about other things: whether an image follows the instruction to
the letter, not how much of a caption it shows. Two linear maps of the features of difficulty handle
them: a gate tells instructions from captions by how they are written, and a regression says how
well they do. The gate stays closed on nearly every caption, so that predictions for captions are
what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.words import DIFFICULTY_FEATURES, WordTables, difficulty_features

Floats = NDArray[np.float32]

STYLE = ("full_stop", "log_words", "capitals")
DIFFICULTY = (
    *("number", "log_number", "numbers", "negation", "places", "lettering", "comparisons"),
    *("content_words", "unseen_pairs", "unseen_share", "unknown_words", "max_rarity"),
    *("mean_rarity", "commas", "colours", "log_words", "long", "and", "of", "ing", "single"),
)
TENSORS = {
    "gate.weight": (len(STYLE) + 1,),
    "gate.bias": (3,),
    "strict.weight": (len(DIFFICULTY),),
    "strict.bias": (1,),
}
"""The names and shapes of the float32 arrays that a checkpoint holds of an `InstructionModel`."""

_MIDDLE, _HALF = 0.5, 1.5
_FULL_STOP = DIFFICULTY_FEATURES.index("full_stop")
_STYLE_COLUMNS = [DIFFICULTY_FEATURES.index(name) for name in STYLE]
_DIFFICULTY_COLUMNS = [DIFFICULTY_FEATURES.index(name) for name in DIFFICULTY]


@dataclass
class InstructionModel:
    """The gate and the regression.

    Attributes:
        gate_weight: for the columns of `style_inputs`.
        gate_bias: such that the gate is closed, 0, for nearly all captions.
        weight: of the regression, for the columns of `difficulty_inputs`.
        bias: of the regression.
        shortest: the log of the words, plus one, below which a prompt is no shorter for the gate.
        floor: how open the gate is at least, where a prompt doesn't end like a sentence.
    """

    gate_weight: Floats
    gate_bias: float
    weight: Floats
    bias: float
    shortest: float
    floor: float

    def gate(self, features: Floats, lower: NDArray[np.bool_]) -> Floats:
        """Return, from 0 (a caption) to 1, how much the regression counts.

        ``features`` are from `difficulty_features`, ``lower`` from `begins_lower`.
        """
        rows = style_inputs(features, lower, self.shortest)
        gate = np.clip(rows @ self.gate_weight + self.gate_bias, 0, 1)
        return np.maximum(gate, self.floor * (1 - features[:, _FULL_STOP]))

    def hbpp(self, features: Floats) -> Floats:
        """Return the mean HBPP that prompts get if their instructions are read to the letter."""
        linear = difficulty_inputs(features) @ self.weight + self.bias
        # Bends towards the limits of HBPP, so that no two prompts become the same.
        return _MIDDLE + _HALF * np.tanh((linear - _MIDDLE) / _HALF)

    def corrections(
        self,
        prompts: Sequence[str],
        values: NDArray[np.float64],
        targets: Sequence[str],
        tables: WordTables,
    ) -> tuple[Floats, NDArray[np.float64]]:
        """Return how open the gate is, and what that adds to predictions of the targets.

        Values are in units of the targets, of shape ``(prompts, targets)``; only HBPP changes.
        """
        features = difficulty_features(prompts, tables)
        gate = self.gate(features, begins_lower(prompts))
        generation = np.array([target.endswith("hbpp") for target in targets], dtype=bool)
        if not generation.any():
            return np.zeros_like(gate), np.zeros_like(values)
        step = gate * (self.hbpp(features) - values[:, generation].mean(axis=1))
        return gate, np.where(generation, step[:, None], 0.0)

    def tensors(self) -> dict[str, Floats]:
        """Return the model as arrays, by the names of `TENSORS`."""
        biases = [self.gate_bias, self.shortest, self.floor]
        arrays = (self.gate_weight, biases, self.weight, [self.bias])
        return {
            name: np.asarray(array, np.float32) for name, array in zip(TENSORS, arrays, strict=True)
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Floats]) -> InstructionModel:
        """Return the model that `tensors` gave.

        Raises:
            KeyError: an array is missing.
            ValueError: one has another shape than those of `TENSORS`.
        """
        if any(tensors[name].shape != shape for name, shape in TENSORS.items()):
            raise ValueError("the instruction model's arrays do not fit its features")
        gate, gate_bias, weight, bias = (tensors[name] for name in TENSORS)
        first, shortest, floor = map(float, gate_bias)
        return cls(gate, first, weight, float(bias[0]), shortest, floor)

    def describe(self) -> dict[str, dict[str, float]]:
        """Return the weights by name, to be read by people."""
        parts = {
            "gate": zip((*STYLE, "small_letter"), self.gate_weight, strict=True),
            "hbpp": zip(DIFFICULTY, self.weight, strict=True),
        }
        return {
            part: {name: round(float(value), 3) for name, value in weights}
            for part, weights in parts.items()
        }


def style_inputs(features: Floats, lower: NDArray[np.bool_], shortest: float) -> Floats:
    """Return what tells instructions from captions: how a prompt is written, not what it says."""
    rows = np.column_stack([features[:, _STYLE_COLUMNS], lower])
    column = STYLE.index("log_words")
    rows[:, column] = np.maximum(rows[:, column], shortest)
    return rows


def difficulty_inputs(features: Floats) -> Floats:
    """Return the columns that make an instruction hard to follow."""
    return features[:, _DIFFICULTY_COLUMNS]


def begins_lower(prompts: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which prompts begin with a small letter.

    >>> begins_lower(["a cat", "A cat", ""]).tolist()
    [True, False, False]
    """
    return np.array([prompt.lstrip()[:1].islower() for prompt in prompts], dtype=bool)


def renamed_details(details: dict[str, Any]) -> dict[str, Any]:
    """Return what a configuration tells of its training, with today's names in an older one.

    >>> renamed_details({"training": {"seed": 0, "outside": {"ajar": 0.1}}})
    {'training': {'seed': 0, 'instruction_model': {'floor': 0.1}}}
    """
    training = details.get("training")
    if not isinstance(training, dict) or "outside" not in training:
        return details
    names = {"ajar": "floor", "strict": "hbpp"}
    told = {names.get(name, name): one for name, one in (training["outside"] or {}).items()}
    rest = {name: value for name, value in training.items() if name != "outside"}
    return {**details, "training": {**rest, "instruction_model": told or None}}
