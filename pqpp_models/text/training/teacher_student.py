"""Train teachers on scores, and a student network on the teachers' predictions.

One teacher is an encoder, fine-tuned on targets and then on studies; the other is a
`CollectionModel`, which combines kernel ridge regression with small networks. In a single
regression on all rows, the large studies would dominate, so the encoder first learns from PQPP's
nine targets what makes a prompt hard, and then, with a new head, the order of the prompts within
each study.

This module also contains the training loop, with its batches, learning rate schedule and checks.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.special import ndtri
from scipy.stats import rankdata
from torch import nn
from tqdm.auto import tqdm
from transformers import PreTrainedModel

from pqpp_backbones.encoder.encoding import to_batch
from pqpp_backbones.encoder.normaliser import normalise_prompt
from pqpp_backbones.encoder.tokens import encode
from pqpp_backbones.pretrained import has_finite_weights
from pqpp_backbones.training.number_format import use_number_format
from pqpp_backbones.training.options import diverged_error
from pqpp_models.targets import Limits, scale_targets
from pqpp_models.text.arrays import Floats, Singles, normalise_rows
from pqpp_models.text.collection.collection import Collection
from pqpp_models.text.collection.model import (
    CollectionModel,
    KernelRidge,
    Layers,
    Scaling,
    build_model_inputs,
)
from pqpp_models.text.collection.pairs import PiecePairs
from pqpp_models.text.static import DEEPER, LINEAR, PAIRED, StaticNetwork, quantise
from pqpp_models.text.training.settings import (
    DistilSettings,
    FitSettings,
    SourceSettings,
    TuneSettings,
)
from pqpp_models.text.training.studies import Study


def run_adamw(
    model: nn.Module,
    parameters: Any,
    compute_loss: Callable[[Any], torch.Tensor],
    make_batches: Callable[[int], Sequence[Any]],
    factor: Callable[[int], float],
    settings: Any,
    option: str,
    bar: str | None = None,
    largest_gradient: float | None = 1.0,
) -> None:
    """Train a model with AdamW, in place.

    Args:
        model: the model, which is in evaluation mode afterwards.
        compute_loss: a function that returns the loss of a batch.
        make_batches: a function that returns the batches of an epoch.
        factor: a function that returns the learning rate factor of a step.
        settings: has ``epochs``, ``learning_rate`` (the peak) and ``weight_decay``.
        option: the name of the learning rate's option, for the error if training diverges.
        bar: the name of the progress bar; None for no bar.
        largest_gradient: the norm to which gradients are clipped; None for no clipping.

    Raises:
        PqppError: the training diverged.
    """
    rates = {"lr": settings.learning_rate, "weight_decay": settings.weight_decay}
    optimizer = torch.optim.AdamW(parameters, **rates, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    step, rate = 0, settings.learning_rate
    model.train()
    for epoch in (progress := tqdm(range(settings.epochs), bar, unit="epoch", disable=bar is None)):
        total, batches = 0.0, make_batches(epoch)
        for batch in batches:
            loss = compute_loss(batch)
            optimizer.zero_grad()
            loss.backward()
            if largest_gradient is not None:
                nn.utils.clip_grad_norm_(model.parameters(), largest_gradient)
            optimizer.step()
            step, rate = step + 1, schedule.get_last_lr()[0]
            schedule.step()
            total += loss.item()
            if not math.isfinite(total):
                raise diverged_error(f"the loss is {loss.item()}", step, rate, option)
        if not has_finite_weights(model):
            raise diverged_error("a weight is NaN or infinite", step, rate, option)
        progress.set_postfix(loss=f"{total / len(batches):.5f}")
    model.eval()


def make_schedule(steps: int, share: float = 0.1) -> Callable[[int], float]:
    """Return a learning rate schedule that rises over a share of the steps, then falls to 0."""
    warmup = max(1.0, share * steps)
    return lambda step: min(1.0, (step + 1) / warmup) * max(0.0, 1 - step / steps)


def split_into_batches(
    lengths: NDArray[np.int64], size: int, pool: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Split shuffled rows into batches of similar length, in random order."""
    shuffled = random.permutation(len(lengths))
    batches = []
    for start in range(0, len(shuffled), size * pool):
        part = shuffled[start : start + size * pool]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + size] for i in range(0, len(part), size)]
    return [batches[i] for i in random.permutation(len(batches))]


_POOL, _STUDENT_POOL = 20, 50  # batches whose rows are sorted by length together


def fine_tune(
    model: PreTrainedModel,
    tokenizer: Any,
    prompts: Sequence[str],
    labels: Singles,
    settings: TuneSettings,
    seed: int,
    name: str = "tuned",
    sample: Callable[[np.random.Generator], NDArray[np.int64]] | None = None,
) -> PreTrainedModel:
    """Fine-tune a model in place.

    Args:
        model: a model with a `backbone` and a `head`, like `BertForPerformancePrediction`.
        labels: shape ``(prompts, targets)``, 0 to 1, NaN if unknown.
        seed: the seed for the order of the rows.
        name: the name of the settings in the recipe, for the error if training diverges.
        sample: a function that returns the rows of an epoch; default: all rows.
    """
    groups = [
        {"params": model.backbone.parameters(), "lr": settings.learning_rate},
        {"params": model.head.parameters(), "lr": settings.head_learning_rate},
    ]
    token_ids = encode(tokenizer, prompts, settings.max_length)
    lengths = np.array([len(row) for row in token_ids])
    random, all_rows = np.random.default_rng(seed), np.arange(len(prompts))
    epoch_rows = [all_rows if sample is None else sample(random) for _ in range(settings.epochs)]

    def make_batches(epoch: int) -> list[NDArray[np.int64]]:
        epoch_lengths = lengths[epoch_rows[epoch]]
        batches = split_into_batches(epoch_lengths, settings.batch_size, _POOL, random)
        return [epoch_rows[epoch][batch] for batch in batches]

    def compute_loss(batch: NDArray[np.int64]) -> torch.Tensor:
        inputs = to_batch([token_ids[i] for i in batch], tokenizer.pad_token_id or 0)
        with use_number_format(settings.mixed_precision):
            return model(**inputs, labels=torch.from_numpy(labels[batch])).loss

    factor = make_schedule(sum(-(-len(rows) // settings.batch_size) for rows in epoch_rows))
    option = f"{name}.learning_rate"
    run_adamw(model, groups, compute_loss, make_batches, factor, settings, option, name)
    return model


def tune_on_targets(
    new_model: Callable[..., PreTrainedModel],
    tokenizer: Any,
    prompts: Sequence[str],
    values: Floats,
    targets: Sequence[str],
    settings: TuneSettings,
    seed: int,
    limits: Limits | None = None,
) -> PreTrainedModel:
    """Fine-tune an encoder on the targets of a benchmark.

    Args:
        new_model: a function that builds a model with a new head.
        prompts: normalised prompts.
        values: shape ``(prompts, targets)``, in the targets' own units.
        limits: limits of targets whose names do not imply them.
    """
    torch.manual_seed(seed)
    labels = scale_targets(values, targets, limits).astype(np.float32)
    variance = labels.var(axis=0)
    model = new_model(
        targets=list(targets),
        limits=limits or None,
        target_weights=(variance.mean() / variance).tolist(),
        pooling="mean",
        max_length=settings.max_length,
    )
    return fine_tune(model, tokenizer, prompts, labels, settings, seed)


def tune_on_sources(
    encoder: PreTrainedModel,
    tokenizer: Any,
    sources: Mapping[str, Study],
    settings: SourceSettings,
    seed: int,
) -> PreTrainedModel:
    """Fine-tune a copy of an encoder with a new head on studies.

    Args:
        encoder: the output of `tune_on_targets`.
        sources: the output of `read_studies`.
    """
    torch.manual_seed(seed)
    config = deepcopy(encoder.config)
    config.targets, config.target_weights = ["alignment"], None
    model = type(encoder)(config, deepcopy(encoder.backbone))
    # Only the top layers are trained, or all if there are no more.
    layers = getattr(getattr(model.backbone, "encoder", model.backbone), "layer", ())
    if len(layers) > settings.trained_layers:
        model.backbone.requires_grad_(False)
        for layer in layers[len(layers) - settings.trained_layers :]:
            layer.requires_grad_(True)
    prompts = [normalise_prompt(prompt) for source in sources.values() for prompt in source.prompts]
    ranks = [to_ranks(source.scores) for source in sources.values()]
    labels = np.concatenate(ranks).astype(np.float32)[:, None]
    ends = np.cumsum([len(study_ranks) for study_ranks in ranks])

    def sample(random: np.random.Generator) -> NDArray[np.int64]:
        studies = np.split(np.arange(len(prompts)), ends[:-1])
        return np.concatenate([random.permutation(s)[: settings.max_per_source] for s in studies])

    return fine_tune(model, tokenizer, prompts, labels, settings, seed, "tuned_on_sources", sample)


def to_ranks(scores: Sequence[float] | Floats) -> Floats:
    """Return ranks scaled to 0 .. 1; ties have their mean rank.

    >>> to_ranks([3.0, 1.0, 3.0, 9.0]).tolist()
    [0.5, 0.125, 0.5, 0.875]
    """
    return (rankdata(scores, axis=0) - 0.5) / len(scores)


def to_normal_quantiles(shares: Floats) -> Floats:
    """Return the normal quantiles of shares, clipped to -3 .. 3.

    >>> to_normal_quantiles(np.array([0.5, 1.0])).tolist()
    [0.0, 3.0]
    """
    return np.clip(ndtri(shares), -3, 3)


def choose_evenly(start: int, stop: int, limit: int) -> NDArray[np.int64]:
    """Return at most `limit` evenly spaced integers in a range.

    >>> choose_evenly(10, 20, 3).tolist()
    [10, 14, 19]
    """
    return np.linspace(start, stop - 1, min(limit, stop - start)).astype(int)


class FittedModel(NamedTuple):
    """A fitted model with out-of-fold predictions of the training rows.

    Attributes:
        out_of_fold: predictions of each training row by models that were fitted without it.
        goals: the values to fit: weighted means of targets' standardised values and normal scores.
    """

    model: CollectionModel
    out_of_fold: Floats
    goals: Floats


def fit_collection_model(
    collection: Collection,
    prompts: Sequence[str],
    targets: Floats,
    settings: FitSettings,
    seed: int,
) -> FittedModel:
    """Fit a model to the labelled captions of a collection.

    Args:
        collection: the captions, of which the training prompts are first.
        targets: shape ``(prompts, targets)``.
        seed: seed of the networks and of their folds.
    """
    standardised = (targets - targets.mean(axis=0)) / targets.std(axis=0)
    ranks = ndtri(to_ranks(targets))
    goals = settings.rank_share * ranks + (1 - settings.rank_share) * standardised
    labels = standardised.astype(np.float32)
    vectors = {layer: rows[: len(prompts)] for layer, rows in collection.vectors.items()}
    raw_features = collection.compute_features(
        prompts, vectors, labels, settings.kernel_layers, exclude_self=True
    )
    features = Scaling.fit(raw_features)
    inputs = {layer: Scaling.fit(vectors[layer]) for layer in settings.kernel_layers}
    rows = build_model_inputs(vectors, features(raw_features), inputs)
    ridge, ridge_out_of_fold = fit_ridge(rows, goals, settings)
    networks, out_of_fold = fit_networks(rows["all"], goals, settings, seed)
    model = CollectionModel(collection, labels, features, inputs, ridge, networks)
    return FittedModel(model, (ridge_out_of_fold + out_of_fold) / 2, goals)


def fit_ridge(
    rows: dict[str, Singles], goals: Floats, settings: FitSettings
) -> tuple[KernelRidge, Floats]:
    """Fit kernel ridge regression, and return it with leave-one-out predictions."""
    layers = [str(layer) for layer in settings.kernel_layers]
    offset = goals.mean(axis=0)
    ridge = KernelRidge(
        weights={**dict.fromkeys(layers, 1.0), "features": settings.feature_weight},
        widths={**dict.fromkeys(layers, settings.kernel_width), "features": settings.feature_width},
        points={name: rows[name] for name in (*layers, "features")},
        coefficients=np.zeros_like(goals, dtype=np.float32),
        offset=offset.astype(np.float32),
    )
    kernel = ridge.compute_kernel(rows).astype(np.float64)
    kernel[np.diag_indices_from(kernel)] += settings.ridge
    factor, lower = cho_factor(kernel, lower=True, overwrite_a=True, check_finite=False)
    solution = cho_solve((factor, lower), goals - offset)
    inverse_diagonal = np.diag(dpotri(factor, lower=lower, overwrite_c=True)[0])
    ridge.coefficients = solution.astype(np.float32)
    return ridge, goals - solution / inverse_diagonal[:, None]


def fit_networks(
    rows: Singles, goals: Floats, settings: FitSettings, seed: int
) -> tuple[list[Layers], Floats]:
    """Train networks, and return them with out-of-fold predictions."""
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    networks, out_of_fold = [], np.zeros_like(goals)
    for number, part in enumerate(np.array_split(shuffled, settings.networks)):
        others = np.setdiff1d(np.arange(len(rows)), part)
        network = train_network(rows[others], goals[others], settings, seed * 1000 + number)
        with torch.inference_mode():
            out_of_fold[part] = network(torch.from_numpy(rows[part])).numpy()
        linear = [layer for layer in network if isinstance(layer, nn.Linear)]
        networks.append([(la.weight.detach().numpy(), la.bias.detach().numpy()) for la in linear])
    return networks, out_of_fold


def train_network(rows: Singles, goals: Floats, settings: FitSettings, seed: int) -> nn.Sequential:
    """Train a network with the mean squared error as loss."""
    torch.manual_seed(seed)
    sizes = rows.shape[1], settings.hidden_size, settings.hidden_size // 2
    model = nn.Sequential(
        *(nn.Dropout(settings.input_dropout), nn.Linear(sizes[0], sizes[1])),
        *(nn.ReLU(), nn.Dropout(settings.dropout), nn.Linear(sizes[1], sizes[2])),
        *(nn.ReLU(), nn.Dropout(settings.dropout), nn.Linear(sizes[2], goals.shape[1])),
    )
    inputs, labels = torch.from_numpy(rows), torch.from_numpy(goals.astype(np.float32))
    batches = max(1, len(rows) // settings.batch_size)
    run_adamw(
        model,
        model.parameters(),
        lambda batch: nn.functional.mse_loss(model(inputs[batch]), labels[batch]),
        lambda epoch: torch.randperm(len(rows)).chunk(batches),
        make_schedule(settings.epochs * batches),
        settings,
        "learning_rate of the networks",
        largest_gradient=None,
    )
    return model


class StaticModule(nn.Module):
    """A trainable `StaticNetwork`."""

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
        """Return the scores and embeddings of prompts."""
        mask = attention_mask.float().unsqueeze(1)
        vectors = self.dropout(self.pieces(input_ids)).transpose(1, 2) * mask
        phrases = torch.relu(self.first(vectors)) * mask
        phrases = phrases + torch.relu(self.second(self.dropout(phrases))) * mask
        count = mask.sum(dim=2)
        parts = [phrases.sum(2) / count, phrases.max(2).values, vectors.sum(2) / count]
        pooled = torch.cat([*parts, count.log()], dim=1)
        hidden = self.dropout(torch.relu(self.hidden(self.dropout(pooled))))
        return self.scores(hidden), self.point(hidden)

    def to_static(self, score_columns: slice) -> StaticNetwork:
        """Convert to a `StaticNetwork` that has only the scores of `score_columns`."""
        codes, scales = quantise(self.pieces.weight.detach().numpy())
        weights: dict[str, NDArray[np.float16]] = {}
        for name in LINEAR:
            layer = getattr(self, name)
            weight = layer.weight.detach().numpy()
            if weight.ndim == 3:
                weight = weight.transpose(0, 2, 1).reshape(len(weight), -1)
            rows = score_columns if name == "scores" else slice(None)
            weights[f"{name}.weight"] = weight[rows].astype(np.float16)
            weights[f"{name}.bias"] = layer.bias.detach().numpy()[rows].astype(np.float16)
        return StaticNetwork(codes, scales, weights)


def make_initial_vectors(embeddings: Singles, size: int) -> torch.Tensor:
    """Return initial word vectors: the principal components of a transformer's word embeddings."""
    centred = embeddings - embeddings.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    vectors = centred @ directions[:, ::-1][:, :size]
    return torch.from_numpy((0.3 * vectors / vectors.std()).astype(np.float32))


def project_to_size(vectors: Singles, size: int) -> Singles:
    """Project vectors to fewer dimensions and length one, preserving their similarities."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    return normalise_rows(vectors @ directions[:, ::-1][:, :size])


def distil(
    encoded: Sequence[Sequence[int]],
    goals: Floats,
    points: Singles,
    pieces: torch.Tensor,
    settings: DistilSettings,
    seed: int,
    begin: StaticModule | None = None,
) -> StaticModule:
    """Train the network on prompts labelled by a teacher.

    Args:
        encoded: ids of the prompts' word pieces.
        goals: target scores, NaN if unknown.
        points: target embeddings of the prompts, as unit vectors.
        pieces: initial vectors of the word pieces.
        begin: the network to start from; default: a new one.
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = StaticModule(pieces, goals.shape[1], settings) if begin is None else deepcopy(begin)
    goal_scores = torch.from_numpy(goals.astype(np.float32))
    goal_points = torch.from_numpy(points)
    # The weight of each score's error; 0 if its goal is unknown.
    known_goals = [column[~np.isnan(column)] for column in goals.T]
    spread = np.array([(values.std() or 1.0) if len(values) else np.inf for values in known_goals])
    weights = np.r_[settings.first_weight**0.5, np.ones(len(spread) - 1)]
    importance = torch.from_numpy((weights / spread).astype(np.float32))
    lengths = np.array([len(row) for row in encoded])

    def compute_loss(batch: NDArray[np.int64]) -> torch.Tensor:
        with use_number_format(settings.mixed_precision):
            scores, vectors = model(**to_batch([encoded[i] for i in batch], 0))
        known = ~torch.isnan(goal_scores[batch])
        error = (scores.float() - goal_scores[batch].nan_to_num()) * importance * known
        cosines = nn.functional.cosine_similarity(vectors.float(), goal_points[batch], dim=1)
        return error.square().sum() / known.sum() + settings.point_weight * (1 - cosines.mean())

    parameters = [
        {"params": [array for array in model.parameters() if array.ndim > 1]},
        {"params": [a for a in model.parameters() if a.ndim < 2], "weight_decay": 0.0},
    ]
    steps = settings.epochs * (len(encoded) // settings.batch_size + 1)
    run_adamw(
        model,
        parameters,
        compute_loss,
        lambda epoch: split_into_batches(lengths, settings.batch_size, _STUDENT_POOL, random),
        make_schedule(steps, 0.05),
        settings,
        "learning_rate of the student",
        "distilling",
    )
    return model


def add_deeper_layer(
    network: StaticNetwork,
    encoded: Sequence[Sequence[int]],
    goals: Floats,
    settings: DistilSettings,
    seed: int,
    pairs: PiecePairs | None = None,
) -> StaticNetwork:
    """Return a network with an additional layer, trained to correct its last scores.

    Args:
        network: the network; if it already has such a layer, that layer is replaced.
        encoded: ids of the prompts' word pieces.
        goals: target values of the last scores, shape ``(prompts, scores)``.
        pairs: further input of the layer, if it is one of `PAIRED`; the captions that it counts are
            the first of the prompts.
    """
    torch.manual_seed(seed)
    names = DEEPER if pairs is None else PAIRED
    weights = {k: array for k, array in network.weights.items() if k.split(".")[0] not in names}
    base = StaticNetwork(network.pieces, network.scales, weights)
    scores, *_, hidden = base.compute_layers(encoded)
    if pairs is not None:
        members, others = encoded[: pairs.size], encoded[pairs.size :]
        pair_features = np.concatenate([pairs(members, exclude_self=True), pairs(others)])
        hidden = np.concatenate([hidden, pair_features], axis=1)
    count, dropout = goals.shape[1], settings.deeper_dropout
    deeper = nn.Linear(hidden.shape[1], settings.deeper_size)
    added = nn.Linear(settings.deeper_size, count)
    model = nn.Sequential(nn.Dropout(dropout), deeper, nn.ReLU(), nn.Dropout(dropout), added)
    inputs, spread = torch.from_numpy(hidden), torch.from_numpy(goals.std(axis=0))
    residuals = torch.from_numpy(goals - scores[:, -count:])
    batches = len(hidden) // settings.batch_size + 1
    run_adamw(
        model,
        model.parameters(),
        lambda rows: ((model(inputs[rows]) - residuals[rows]) / spread).square().mean(),
        lambda epoch: torch.randperm(len(hidden)).chunk(batches),
        make_schedule(settings.epochs * batches, 0.05),
        settings,
        "learning_rate of the student",
        "deepening",
    )
    for name, layer in zip(names, (deeper, added), strict=True):
        weights[f"{name}.weight"] = layer.weight.detach().numpy().astype(np.float16)
        weights[f"{name}.bias"] = layer.bias.detach().numpy().astype(np.float16)
    return StaticNetwork(network.pieces, network.scales, weights, pairs)
