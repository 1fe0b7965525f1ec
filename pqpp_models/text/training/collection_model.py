"""Fitting a `CollectionModel`: kernel ridge in closed form, and small networks with dropout."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.special import ndtri
from torch import nn

from pqpp_models.text.arrays import Floats, Singles
from pqpp_models.text.collection.collection import Collection
from pqpp_models.text.collection.model import (
    CollectionModel,
    KernelRidge,
    Layers,
    Scaling,
    model_rows,
)
from pqpp_models.text.training.teacher import descend, relative_ranks, warm_up_and_decay


@dataclass(frozen=True)
class FitSettings:
    """What a `CollectionModel` is fitted with; chosen by cross-validation inside PQPP's train.

    Attributes:
        kernel_layers: the layers of the encoder that have a kernel, that the networks see, and in
            which the nearest training prompts are looked up.
        kernel_width: what multiplies the squared distance of their unit vectors.
        feature_weight: weight of the features' kernel; a layer's is 1.
        feature_width: what multiplies its squared distance.
        ridge: strength of the regularisation.
        rank_share: share of the Gaussian rank in a target, beside its standardised value.
        networks: how many, each trained without its own part of the rows.
        hidden_size: units of a network's first hidden layer; the second has half as many.
        learning_rate: the highest, after warming up over a tenth of the steps.
    """

    kernel_layers: tuple[int, ...] = (6, 2)
    kernel_width: float = 0.7
    feature_weight: float = 2.0
    feature_width: float = 0.3
    ridge: float = 5.0
    rank_share: float = 0.5
    networks: int = 4
    hidden_size: int = 384
    input_dropout: float = 0.5
    dropout: float = 0.5
    epochs: int = 18
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.02


@dataclass
class Fitted:
    """A fitted model and its honest view of the training rows.

    Attributes:
        model: the model.
        left_out: predictions for each training row by parts that were fitted without it.
        goals: what was fitted to: the targets, standardised and partly ranked.
    """

    model: CollectionModel
    left_out: Floats
    goals: Floats


def fit_collection_model(
    collection: Collection,
    prompts: Sequence[str],
    targets: Floats,
    settings: FitSettings,
    seed: int,
) -> Fitted:
    """Fit a model to the training prompts, which are the labelled captions of a collection.

    Args:
        collection: captions, the first of which are the training prompts.
        prompts: the training prompts.
        targets: shape ``(prompts, targets)``.
        settings: see there.
        seed: of the networks and of their parts of the rows.
    """
    standard = (targets - targets.mean(axis=0)) / targets.std(axis=0)
    ranks = ndtri(relative_ranks(targets))
    goals = settings.rank_share * ranks + (1 - settings.rank_share) * standard
    labels = standard.astype(np.float32)
    vectors = {layer: rows[: len(prompts)] for layer, rows in collection.vectors.items()}
    raw = collection.features(prompts, vectors, labels, settings.kernel_layers, own=True)
    features = Scaling.fit(raw)
    inputs = {layer: Scaling.fit(vectors[layer]) for layer in settings.kernel_layers}
    rows = model_rows(vectors, features(raw), inputs)
    ridge, ridge_left_out = fit_ridge(rows, goals, settings)
    networks, left_out = fit_networks(rows["all"], goals, settings, seed)
    model = CollectionModel(collection, labels, features, inputs, ridge, networks)
    return Fitted(model, (ridge_left_out + left_out) / 2, goals)


def fit_ridge(
    rows: dict[str, Singles], goals: Floats, settings: FitSettings
) -> tuple[KernelRidge, Floats]:
    """Solve the kernel ridge regression; also return its leave-one-out predictions."""
    layers = [str(layer) for layer in settings.kernel_layers]
    offset = goals.mean(axis=0)
    ridge = KernelRidge(
        weights={**dict.fromkeys(layers, 1.0), "features": settings.feature_weight},
        widths={**dict.fromkeys(layers, settings.kernel_width), "features": settings.feature_width},
        points={name: rows[name] for name in (*layers, "features")},
        coefficients=np.zeros_like(goals, dtype=np.float32),
        offset=offset.astype(np.float32),
    )
    kernel = ridge.kernel(rows).astype(np.float64)
    kernel[np.diag_indices_from(kernel)] += settings.ridge
    factor, lower = cho_factor(kernel, lower=True, overwrite_a=True, check_finite=False)
    solution = cho_solve((factor, lower), goals - offset)
    inverse_diagonal = np.diag(dpotri(factor, lower=lower, overwrite_c=True)[0])
    ridge.coefficients = solution.astype(np.float32)
    return ridge, goals - solution / inverse_diagonal[:, None]


def fit_networks(
    rows: Singles, goals: Floats, settings: FitSettings, seed: int
) -> tuple[list[Layers], Floats]:
    """Train the networks; also return, for each row, what the one trained without it says."""
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    fitted, left_out = [], np.zeros_like(goals)
    for number, part in enumerate(np.array_split(shuffled, settings.networks)):
        others = np.setdiff1d(np.arange(len(rows)), part)
        trained = train_network(rows[others], goals[others], settings, seed * 1000 + number)
        with torch.inference_mode():
            left_out[part] = trained(torch.from_numpy(rows[part])).numpy()
        linear = [layer for layer in trained if isinstance(layer, nn.Linear)]
        fitted.append([(la.weight.detach().numpy(), la.bias.detach().numpy()) for la in linear])
    return fitted, left_out


def train_network(rows: Singles, goals: Floats, settings: FitSettings, seed: int) -> nn.Sequential:
    """Train one network by mean squared error."""
    torch.manual_seed(seed)
    sizes = rows.shape[1], settings.hidden_size, settings.hidden_size // 2
    model = nn.Sequential(
        *(nn.Dropout(settings.input_dropout), nn.Linear(sizes[0], sizes[1])),
        *(nn.ReLU(), nn.Dropout(settings.dropout), nn.Linear(sizes[1], sizes[2])),
        *(nn.ReLU(), nn.Dropout(settings.dropout), nn.Linear(sizes[2], goals.shape[1])),
    )
    inputs, wanted = torch.from_numpy(rows), torch.from_numpy(goals.astype(np.float32))
    batches = max(1, len(rows) // settings.batch_size)
    descend(
        model,
        model.parameters(),
        lambda batch: nn.functional.mse_loss(model(inputs[batch]), wanted[batch]),
        lambda epoch: torch.randperm(len(rows)).chunk(batches),
        warm_up_and_decay(settings.epochs * batches),
        settings,
        "learning_rate of the networks",
        largest_gradient=None,
    )
    return model
