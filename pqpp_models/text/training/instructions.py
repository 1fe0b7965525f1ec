"""Fitting what is done with prompts that give instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pqpp_models.text.instructions import (
    DIFFICULTY,
    InstructionModel,
    begins_lower,
    difficulty_inputs,
    style_inputs,
)
from pqpp_models.text.words import DIFFICULTY_FEATURES, WordTables, difficulty_features

_LEAST_DEVIATION = 0.3


@dataclass(frozen=True)
class InstructionSettings:
    """How the instruction model is fitted.

    Attributes:
        closed_share: share of the captions for which the gate is closed.
        floor: how open it is at least, where a prompt doesn't end like a sentence.
        ridge: strength of the regularisation of the regression.
        expected: what its weights are drawn to, by name of a feature: what a step of it adds to
            HBPP. For what is known to be hard but hardly varies among the instructions; 0 for all
            others.
    """

    closed_share: float = 0.998
    floor: float = 0.1
    ridge: float = 300.0
    expected: dict[str, float] = field(default_factory=dict)


def fit_instruction_model(
    captions: Sequence[str],
    instructions: Sequence[str],
    rates: NDArray[np.float64],
    tables: WordTables,
    settings: InstructionSettings,
) -> InstructionModel:
    """Fit the gate and the regression to captions of a collection and to instructions.

    Args:
        captions: captions of the collection.
        instructions: prompts that give instructions.
        rates: for each of these, how often images follow it, from 0 to 1.
        tables: the counts of the collection's words.
        settings: see there.
    """
    features = difficulty_features(instructions, tables)
    shortest = float(features[:, DIFFICULTY_FEATURES.index("log_words")].min())
    inside = difficulty_features(captions, tables, own=True)
    inside = style_inputs(inside, begins_lower(captions), shortest)
    gate, gate_bias = _logistic(
        inside, style_inputs(features, begins_lower(instructions), shortest)
    )
    closed_at = np.quantile(inside @ gate + gate_bias, settings.closed_share)
    rows = difficulty_inputs(features).astype(np.float64)
    mean = rows.mean(axis=0)
    deviation = np.maximum(rows.std(axis=0), _LEAST_DEVIATION)
    scaled = (rows - mean) / deviation
    expected = np.array([settings.expected.get(name, 0.0) for name in DIFFICULTY]) * deviation
    goal = 3 * rates - 1
    gram = scaled.T @ scaled + settings.ridge * np.eye(scaled.shape[1])
    rest = goal - goal.mean() - scaled @ expected
    weight = (expected + np.linalg.solve(gram, scaled.T @ rest)) / deviation
    return InstructionModel(
        gate_weight=gate.astype(np.float32),
        gate_bias=float(gate_bias - closed_at),
        weight=weight.astype(np.float32),
        bias=float(goal.mean() - mean @ weight),
        shortest=shortest,
        floor=settings.floor,
    )


def _logistic(
    inside: NDArray[np.float64], outside: NDArray[np.float64], strength: float = 100.0
) -> tuple[NDArray[np.float64], float]:
    """Tell two sets of rows apart by logistic regression, both sets weighing the same."""
    rows = np.concatenate([inside, outside]).astype(np.float64)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    scaled = np.column_stack([(rows - mean) / deviation, np.ones(len(rows))])
    sizes = [len(inside), len(outside)]
    sign = np.repeat([-1.0, 1.0], sizes)
    weight = np.repeat(1e3 / np.array(sizes), sizes)

    def loss(solution):
        margin = sign * (scaled @ solution)
        slope = -sign * weight / (1 + np.exp(margin))
        penalty = strength * solution
        penalty[-1] = 0
        value = (weight * np.logaddexp(0, -margin)).sum() + penalty @ solution / 2
        return value, scaled.T @ slope + penalty

    solution = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B").x
    gate = solution[:-1] / deviation
    return gate, float(solution[-1] - mean @ gate)
