"""Distilling a teacher into the static predictor's network, and what surrounds the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pqpp_models.text.calibrated import spread_inputs
from pqpp_models.text.collection import Floats, unit
from pqpp_models.text.encoder.encoding import pad
from pqpp_models.text.instructions import (
    DIFFICULTY,
    STYLE,
    OutsideModel,
    begins_lower,
    difficulty_inputs,
    style_inputs,
)
from pqpp_models.text.static.network import LINEAR, StaticNetwork, quantise
from pqpp_models.text.text_ensemble.fitting import warm_up_and_decay
from pqpp_models.text.words import CUES, WordTables, cue_features

_Z90 = 1.6449
_IGNORED_GATE = 4
_LEAST_DEVIATION = 0.3


@dataclass(frozen=True)
class DistilSettings:
    """What the network is trained by; chosen by cross-validation inside PQPP's train split.

    Attributes:
        piece_size: numbers in the vector of a word piece.
        filters: of each convolution.
        hidden_size: units of the hidden layer.
        point_size: numbers in a prompt's point.
        dropout: of vectors, phrases and the hidden layer.
        true_share: share of a training prompt's own scores in what it is trained to; the rest is
            what the teacher says of it without having seen its scores.
        point_weight: weight of the points' loss, one minus the cosine to the teacher's.
        epochs: passes over the prompts.
        batch_size: prompts a step.
        learning_rate: the highest, after warming up over a twentieth of the steps.
        weight_decay: of AdamW, on matrices only.
    """

    piece_size: int = 96
    filters: int = 192
    hidden_size: int = 256
    point_size: int = 64
    dropout: float = 0.2
    true_share: float = 0.5
    point_weight: float = 1.0
    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 0.01


@dataclass(frozen=True)
class OutsideSettings:
    """How the outside model is fitted.

    Attributes:
        closed_share: share of the captions for which the gate is closed.
        ajar: how open it is at least, where a prompt doesn't end like a sentence.
        ridge: strength of the regularisation of the difficulty.
        expected: what it is drawn to, by name of a cue: what a step of it adds to HBPP. For what
            is known to be hard but hardly varies among the instructions; 0 for all others.
    """

    closed_share: float = 0.998
    ajar: float = 0.1
    ridge: float = 300.0
    expected: Mapping[str, float] = field(default_factory=dict)


class StaticModule(nn.Module):
    """`StaticNetwork` as a module that can be trained."""

    def __init__(self, pieces: torch.Tensor, targets: int, settings: DistilSettings) -> None:
        super().__init__()
        size, filters, hidden = settings.piece_size, settings.filters, settings.hidden_size
        self.pieces = nn.Embedding.from_pretrained(pieces, freeze=False)
        self.first = nn.Conv1d(size, filters, 3, padding=1)
        self.second = nn.Conv1d(filters, filters, 3, padding=1)
        self.hidden = nn.Linear(2 * filters + size + 1, hidden)
        self.scores = nn.Linear(hidden, targets)
        self.point = nn.Linear(hidden, settings.point_size)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores and points."""
        mask = attention_mask.float().unsqueeze(1)
        vectors = self.dropout(self.pieces(input_ids)).transpose(1, 2) * mask
        phrases = torch.relu(self.first(vectors)) * mask
        phrases = phrases + torch.relu(self.second(self.dropout(phrases))) * mask
        count = mask.sum(dim=2)
        parts = [phrases.sum(2) / count, phrases.max(2).values, vectors.sum(2) / count]
        pooled = torch.cat([*parts, count.log()], dim=1)
        hidden = self.dropout(torch.relu(self.hidden(self.dropout(pooled))))
        return self.scores(hidden), self.point(hidden)

    def to_static(self, targets: int) -> StaticNetwork:
        """Return the network, its vectors rounded, with the first targets' scores only."""
        codes, scales = quantise(self.pieces.weight.detach().numpy())
        weights: dict[str, Floats] = {}
        for name in LINEAR:
            layer = getattr(self, name)
            weight = layer.weight.detach().numpy()
            if weight.ndim == 3:
                weight = weight.transpose(0, 2, 1).reshape(len(weight), -1)
            kept = slice(targets if name == "scores" else None)
            weights[f"{name}.weight"] = weight[kept].astype(np.float16)
            weights[f"{name}.bias"] = layer.bias.detach().numpy()[kept].astype(np.float16)
        return StaticNetwork(codes, scales, weights)


def first_vectors(embeddings: Floats, size: int) -> torch.Tensor:
    """Return the principal components of a transformer's word embeddings, to begin with."""
    centred = embeddings - embeddings.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    vectors = centred @ directions[:, ::-1][:, :size]
    return torch.from_numpy((0.3 * vectors / vectors.std()).astype(np.float32))


def first_points(vectors: Floats, size: int) -> Floats:
    """Return unit vectors in fewer dimensions that keep the similarities as well as they can."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    return unit(vectors @ directions[:, ::-1][:, :size])


def distil(
    encoded: Sequence[Sequence[int]],
    goals: NDArray[np.float64],
    points: Floats,
    pieces: torch.Tensor,
    settings: DistilSettings,
    seed: int,
) -> StaticModule:
    """Train the network on prompts that a teacher labelled.

    Args:
        encoded: numbers of the prompts' word pieces.
        goals: what each prompt's scores should be.
        points: where each prompt's point should be, unit vectors.
        pieces: the word pieces' first vectors.
        settings: how.
        seed: of everything random.
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = StaticModule(pieces, goals.shape[1], settings)
    wanted = torch.from_numpy(goals.astype(np.float32))
    places = torch.from_numpy(points)
    importance = torch.from_numpy((1 / goals.std(axis=0)).astype(np.float32))
    matrices = [one for one in model.parameters() if one.ndim > 1]
    others = [one for one in model.parameters() if one.ndim < 2]
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        groups, lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    steps = settings.epochs * (len(encoded) // settings.batch_size + 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_up_and_decay(steps, 0.05))
    lengths = np.array([len(row) for row in encoded])
    from tqdm.auto import tqdm

    for _ in tqdm(range(settings.epochs), desc="distilling", unit="epoch"):
        batches = _mixed_batches(lengths, settings.batch_size, random)
        for batch in batches:
            scores, at = model(**pad([encoded[i] for i in batch], 0))
            loss = (((scores - wanted[batch]) * importance) ** 2).mean()
            nearness = nn.functional.cosine_similarity(at, places[batch], dim=1).mean()
            optimizer.zero_grad()
            (loss + settings.point_weight * (1 - nearness)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return model.eval()


def _mixed_batches(
    lengths: NDArray[np.int64], size: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Cut shuffled prompts into batches of like length, in random order."""
    shuffled = random.permutation(len(lengths))
    batches = []
    for start in range(0, len(shuffled), size * 50):
        part = shuffled[start : start + size * 50]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + size] for i in range(0, len(part), size)]
    return [batches[i] for i in random.permutation(len(batches))]


def outside_of(
    captions: list[str],
    instructions: list[str],
    rates: NDArray[np.float64],
    tables: WordTables,
    settings: OutsideSettings,
) -> OutsideModel:
    """Fit what is done with prompts that are no captions to texts.

    Args:
        captions: captions of the collection.
        instructions: prompts that give instructions.
        rates: for each of these, how often images follow it, from 0 to 1.
        tables: the counts of the collection's words.
        settings: how.
    """
    inside = cue_features(captions, tables, own=True), begins_lower(captions)
    outside = cue_features(instructions, tables), begins_lower(instructions)
    return fit_outside(inside, outside, rates, settings)


def fit_outside(
    captions: tuple[Floats, NDArray[np.bool_]],
    instructions: tuple[Floats, NDArray[np.bool_]],
    rates: NDArray[np.float64],
    settings: OutsideSettings,
) -> OutsideModel:
    """Fit what is done with prompts that are no captions.

    Args:
        captions: cues of captions, and which of them begin with a small letter.
        instructions: the same of prompts that give instructions.
        rates: for each of these, how often images follow it, from 0 to 1.
        settings: how.
    """
    shortest = float(instructions[0][:, CUES.index("log_words")].min())
    inside, outside = style_inputs(*captions, shortest), style_inputs(*instructions, shortest)
    gate, gate_bias = _logistic(inside, outside)
    closed_at = np.quantile(inside @ gate + gate_bias, settings.closed_share)
    rows = difficulty_inputs(instructions[0]).astype(np.float64)
    mean = rows.mean(axis=0)
    deviation = np.maximum(rows.std(axis=0), _LEAST_DEVIATION)
    scaled = (rows - mean) / deviation
    expected = np.array([settings.expected.get(name, 0.0) for name in DIFFICULTY]) * deviation
    goal = 3 * rates - 1
    gram = scaled.T @ scaled + settings.ridge * np.eye(scaled.shape[1])
    rest = goal - goal.mean() - scaled @ expected
    weight = (expected + np.linalg.solve(gram, scaled.T @ rest)) / deviation
    return OutsideModel(
        gate.astype(np.float32),
        float(gate_bias - closed_at),
        weight.astype(np.float32),
        float(goal.mean() - mean @ weight),
        shortest,
        settings.ajar,
    )


def _logistic(
    inside: NDArray[np.float64], outside: NDArray[np.float64], strength: float = 100.0
) -> tuple[NDArray[np.float64], float]:
    """Tell two sets of rows apart by logistic regression, both sets weighing the same."""
    from scipy.optimize import minimize

    rows = np.concatenate([inside, outside]).astype(np.float64)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    scaled = np.column_stack([(rows - mean) / deviation, np.ones(len(rows))])
    sign = np.r_[-np.ones(len(inside)), np.ones(len(outside))]
    weight = np.r_[
        np.full(len(inside), 1e3 / len(inside)), np.full(len(outside), 1e3 / len(outside))
    ]

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


def fit_calibration(
    scores: NDArray[np.float64],
    targets: NDArray[np.float64],
    distance: NDArray[np.float32],
    rates: NDArray[np.float64],
    generation: Sequence[bool],
) -> dict[str, NDArray[np.float32]]:
    """Fit units and deviations to predictions for prompts that were left out.

    Args:
        scores: standardised predictions.
        targets: the true values.
        distance: of each prompt to the other training prompts.
        rates: of instructions, for how much wider deviations are behind the gate.
        generation: which targets the gate concerns.
    """
    slopes, offsets, spreads = [], [], []
    inputs = spread_inputs(scores, distance, np.zeros(len(scores), np.float32))
    for column in range(targets.shape[1]):
        slope, offset = np.polyfit(scores[:, column], targets[:, column], 1)
        error = np.abs(targets[:, column] - slope * scores[:, column] - offset) + 1e-3
        rows = inputs[:, column, :_IGNORED_GATE]
        spread = np.linalg.lstsq(rows, np.log(error), rcond=None)[0]
        if spread[1] < 0:
            rows = np.delete(rows, 1, axis=1)
            spread = np.insert(np.linalg.lstsq(rows, np.log(error), rcond=None)[0], 1, 0.0)
            rows = inputs[:, column, :_IGNORED_GATE]
        # Ninety in a hundred errors are to lie within 1.645 deviations.
        spread[0] += np.log(np.quantile(error / np.exp(rows @ spread), 0.9) / _Z90)
        usual = np.exp((rows @ spread).mean())
        # As far as prompts of one kind could at most differ: images follow them, or they don't.
        strict = 3 * np.sqrt((rates * (1 - rates)).mean())
        wider = max(0.0, np.log(strict / usual)) if generation[column] else 0.0
        slopes.append(slope)
        offsets.append(offset)
        spreads.append([*spread, wider])
    return {
        "slope": np.array(slopes, np.float32),
        "offset": np.array(offsets, np.float32),
        "spread": np.array(spreads, np.float32),
        "far": np.array([np.quantile(distance, 0.99)], np.float32),
    }


def describe_outside(outside: OutsideModel) -> dict[str, Any]:
    """Return the maps' weights by name, to be read by people."""
    style = dict(zip((*STYLE, "small_letter"), outside.gate_weight, strict=True))
    strict = dict(zip(DIFFICULTY, outside.strict_weight, strict=True))
    return {
        "gate": {name: round(float(value), 3) for name, value in style.items()},
        "strict": {name: round(float(value), 3) for name, value in strict.items()},
    }
