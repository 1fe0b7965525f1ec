"""Distilling a teacher into the static predictor's network."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pqpp_backbones.encoder.encoding import as_batch
from pqpp_backbones.training.number_format import check_number_format, number_format
from pqpp_models.text.arrays import Floats, Singles, unit
from pqpp_models.text.static import DEEPER, LINEAR, StaticNetwork, quantise
from pqpp_models.text.training.teacher import batches_of_like_length, descend, warm_up_and_decay

_POOL = 50


@dataclass(frozen=True)
class DistilSettings:
    """What the network is trained by; chosen by cross-validation inside PQPP's train split.

    Attributes:
        piece_size: numbers in the vector of a word piece.
        point_size: numbers in a prompt's point.
        deeper_size: units of the layer over the hidden one, which is trained at the end, when all
            else stays as it is.
        deeper_dropout: of its inputs and its units.
        true_share: share of a training prompt's own scores in what it is trained to; the rest is
            what the teacher says of it without having seen its scores.
        point_weight: weight of the points' loss, one minus the cosine to the teacher's.
        first_weight: weight of the squared error of the first score; that of the others is 1.
        learning_rate: the highest, after warming up over a twentieth of the steps.
        weight_decay: of AdamW, on matrices only.
        alignment_epochs: of training further, on `alignment` and all else.
        alignment_learning_rate: the highest of that.
        sdxl_share: how much of the score of `sdxl_hbpp` is added to that of `alignment`.
        mixed_precision: of `pqpp_backbones.training.number_format.FORMATS`.
    """

    piece_size: int = 96
    filters: int = 192
    hidden_size: int = 256
    point_size: int = 64
    deeper_size: int = 128
    deeper_dropout: float = 0.1
    dropout: float = 0.2
    true_share: float = 0.5
    point_weight: float = 1.0
    first_weight: float = 6.0
    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    alignment_epochs: int = 8
    alignment_learning_rate: float = 2e-3
    sdxl_share: float = 1.0
    mixed_precision: str = "no"

    def __post_init__(self) -> None:
        """Check the number format."""
        check_number_format(self.mixed_precision)


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

    def to_static(self, kept: slice) -> StaticNetwork:
        """Return the network, its vectors rounded, with some of its scores only."""
        codes, scales = quantise(self.pieces.weight.detach().numpy())
        weights: dict[str, NDArray[np.float16]] = {}
        for name in LINEAR:
            layer = getattr(self, name)
            weight = layer.weight.detach().numpy()
            if weight.ndim == 3:
                weight = weight.transpose(0, 2, 1).reshape(len(weight), -1)
            rows = kept if name == "scores" else slice(None)
            weights[f"{name}.weight"] = weight[rows].astype(np.float16)
            weights[f"{name}.bias"] = layer.bias.detach().numpy()[rows].astype(np.float16)
        return StaticNetwork(codes, scales, weights)


def first_vectors(embeddings: Singles, size: int) -> torch.Tensor:
    """Return the principal components of a transformer's word embeddings, to begin with."""
    centred = embeddings - embeddings.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    vectors = centred @ directions[:, ::-1][:, :size]
    return torch.from_numpy((0.3 * vectors / vectors.std()).astype(np.float32))


def first_points(vectors: Singles, size: int) -> Singles:
    """Return unit vectors in fewer dimensions that keep the similarities as well as they can."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    return unit(vectors @ directions[:, ::-1][:, :size])


def distil(
    encoded: Sequence[Sequence[int]],
    goals: Floats,
    points: Singles,
    pieces: torch.Tensor,
    settings: DistilSettings,
    seed: int,
    begin: StaticModule | None = None,
) -> StaticModule:
    """Train the network on prompts that a teacher labelled.

    Args:
        encoded: numbers of the prompts' word pieces.
        goals: what each prompt's scores should be, NaN where that is not known.
        points: where each prompt's point should be, unit vectors.
        pieces: the word pieces' first vectors.
        settings: see there.
        seed: of everything random.
        begin: a network to train on, which stays as it is; a new one if left out.
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = StaticModule(pieces, goals.shape[1], settings) if begin is None else deepcopy(begin)
    wanted = torch.from_numpy(goals.astype(np.float32))
    places = torch.from_numpy(points)
    # What errors of each score are multiplied by; 0 where no goal is known.
    known_goals = [column[~np.isnan(column)] for column in goals.T]
    spread = np.array([(some.std() or 1.0) if len(some) else np.inf for some in known_goals])
    weights = np.r_[settings.first_weight**0.5, np.ones(len(spread) - 1)]
    importance = torch.from_numpy((weights / spread).astype(np.float32))
    lengths = np.array([len(row) for row in encoded])

    def loss_of(batch: NDArray[np.int64]) -> torch.Tensor:
        with number_format(settings.mixed_precision):
            scores, at = model(**as_batch([encoded[i] for i in batch], 0))
        known = ~torch.isnan(wanted[batch])
        error = (scores.float() - wanted[batch].nan_to_num()) * importance * known
        nearness = nn.functional.cosine_similarity(at.float(), places[batch], dim=1).mean()
        return error.square().sum() / known.sum() + settings.point_weight * (1 - nearness)

    parameters = [
        {"params": [array for array in model.parameters() if array.ndim > 1]},
        {"params": [a for a in model.parameters() if a.ndim < 2], "weight_decay": 0.0},
    ]
    steps = settings.epochs * (len(encoded) // settings.batch_size + 1)
    descend(
        model,
        parameters,
        loss_of,
        lambda epoch: batches_of_like_length(lengths, settings.batch_size, _POOL, random),
        warm_up_and_decay(steps, 0.05),
        settings,
        "learning_rate of the student",
        "distilling",
    )
    return model


def deepen(
    network: StaticNetwork,
    encoded: Sequence[Sequence[int]],
    goals: Floats,
    settings: DistilSettings,
    seed: int,
) -> StaticNetwork:
    """Return a network with a deeper layer, which adds to its last scores what these lack.

    Args:
        network: without a deeper layer; all of its weights stay as they are.
        encoded: numbers of the prompts' word pieces.
        goals: what each prompt's last scores should be, shape ``(prompts, scores)``.
        settings: see there.
        seed: of everything random.
    """
    torch.manual_seed(seed)
    scores, *_, hidden = network.layers(encoded)
    count, dropout = goals.shape[1], settings.deeper_dropout
    deeper = nn.Linear(hidden.shape[1], settings.deeper_size)
    added = nn.Linear(settings.deeper_size, count)
    model = nn.Sequential(nn.Dropout(dropout), deeper, nn.ReLU(), nn.Dropout(dropout), added)
    inputs, spread = torch.from_numpy(hidden), torch.from_numpy(goals.std(axis=0))
    missing = torch.from_numpy(goals - scores[:, -count:])
    batches = len(hidden) // settings.batch_size + 1
    descend(
        model,
        model.parameters(),
        lambda rows: ((model(inputs[rows]) - missing[rows]) / spread).square().mean(),
        lambda epoch: torch.randperm(len(hidden)).chunk(batches),
        warm_up_and_decay(settings.epochs * batches, 0.05),
        settings,
        "learning_rate of the student",
        "deepening",
    )
    weights = dict(network.weights)
    for name, layer in zip(DEEPER, (deeper, added), strict=True):
        weights[f"{name}.weight"] = layer.weight.detach().numpy().astype(np.float16)
        weights[f"{name}.bias"] = layer.bias.detach().numpy().astype(np.float16)
    return StaticNetwork(network.pieces, network.scales, weights)


def add_to_first(network: StaticNetwork, score: int, share: float) -> StaticNetwork:
    """Return a network with a deeper layer whose first score also has a share of a later one.

    Args:
        network: with a deeper layer for all scores but the first.
        score: the later one's number, counted from the last, which is -1.
        share: what it is multiplied by.
    """
    weights = dict(network.weights)
    for part in ("weight", "bias"):
        scores, added = (weights[f"{layer}.{part}"] for layer in ("scores", DEEPER[1]))
        weights[f"scores.{part}"] = np.concatenate(
            [scores[:1] + share * scores[[score]], scores[1:]]
        )
        weights[f"{DEEPER[1]}.{part}"] = np.concatenate([share * added[[score]], added])
    return StaticNetwork(network.pieces, network.scales, weights)
