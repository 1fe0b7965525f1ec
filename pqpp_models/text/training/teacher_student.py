"""Teachers and the student: what learns from scores, and the network that is distilled from it.

The teachers are an encoder, tuned on targets and then on studies, and a model of a collection. The
second is fitted in numpy and torch: kernel ridge regression, and small networks with dropout.
Pooling all rows in one regression drowns the small sources, so the encoder first learns what makes
a prompt hard from PQPP's nine targets, and then, with a head of its own, the order of the prompts
within each source.

How small networks are trained is here too: batches, a learning rate that rises and falls, and a
watch over both.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

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

from pqpp_backbones.encoder.encoding import as_batch
from pqpp_backbones.encoder.normaliser import content
from pqpp_backbones.encoder.tokens import encode
from pqpp_backbones.pretrained import is_finite
from pqpp_backbones.training.number_format import number_format
from pqpp_backbones.training.options import divergence
from pqpp_models.targets import Limits, scale_targets
from pqpp_models.text.arrays import Floats, Singles, unit
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


def descend(
    model: nn.Module,
    parameters: Any,
    loss_of: Callable[[Any], torch.Tensor],
    batches_of: Callable[[int], Sequence[Any]],
    factor: Callable[[int], float],
    settings: Any,
    option: str,
    bar: str | None = None,
    largest_gradient: float | None = 1.0,
) -> None:
    """Train a model by AdamW, and put it into evaluation mode.

    Args:
        model: the model.
        parameters: what of it is trained, as optimizers take it.
        loss_of: the loss of a batch.
        batches_of: the batches of an epoch; 0 is the first.
        factor: of the learning rate at a step, like `make_schedule`.
        settings: with ``epochs``, ``learning_rate``, the highest, and ``weight_decay``.
        option: what a recipe calls the learning rate, told where the training diverges.
        bar: the name of a progress bar; none if left out.
        largest_gradient: the length to which longer ones are cut; None leaves them.

    Raises:
        PqppError: the training diverged.
    """
    rates = {"lr": settings.learning_rate, "weight_decay": settings.weight_decay}
    optimizer = torch.optim.AdamW(parameters, **rates, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    step, rate = 0, settings.learning_rate
    model.train()
    for epoch in (shown := tqdm(range(settings.epochs), bar, unit="epoch", disable=bar is None)):
        total, batches = 0.0, batches_of(epoch)
        for batch in batches:
            loss = loss_of(batch)
            optimizer.zero_grad()
            loss.backward()
            if largest_gradient is not None:
                nn.utils.clip_grad_norm_(model.parameters(), largest_gradient)
            optimizer.step()
            step, rate = step + 1, schedule.get_last_lr()[0]
            schedule.step()
            total += loss.item()
            if not math.isfinite(total):
                raise divergence(f"the loss is {loss.item()}", step, rate, option)
        if not is_finite(model):
            raise divergence("a weight is NaN or infinite", step, rate, option)
        shown.set_postfix(loss=f"{total / len(batches):.5f}")
    model.eval()


def make_schedule(steps: int, share: float = 0.1) -> Callable[[int], float]:
    """Return a learning rate factor: up over a share of the steps, then down to zero."""

    def factor(step: int) -> float:
        return min(1.0, (step + 1) / max(1.0, share * steps)) * max(0.0, 1 - step / steps)

    return factor


def cut_batches(
    lengths: NDArray[np.int64], size: int, pool: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Cut shuffled rows into batches, in random order; ``pool`` batches are sorted together."""
    shuffled = random.permutation(len(lengths))
    batches = []
    for start in range(0, len(shuffled), size * pool):
        part = shuffled[start : start + size * pool]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + size] for i in range(0, len(part), size)]
    return [batches[i] for i in random.permutation(len(batches))]


_POOL, _STUDENT_POOL = 20, 50


def fine_tune(
    model: PreTrainedModel,
    tokenizer: Any,
    prompts: Sequence[str],
    labels: Singles,
    settings: TuneSettings,
    seed: int,
    name: str = "tuned",
    choose: Callable[[np.random.Generator], NDArray[np.int64]] | None = None,
) -> PreTrainedModel:
    """Fine-tune a model in place; what requires no gradient stays as it is.

    Args:
        model: a `backbone` with a `head`, like `BertForPerformancePrediction`.
        tokenizer: the encoder's.
        prompts: as they are to be read.
        labels: shape ``(prompts, targets)``, 0 to 1, NaN if not known.
        settings: see there.
        seed: of the order; that of dropout is the caller's `torch.manual_seed`.
        name: what the settings are called in a recipe, and on the bar.
        choose: the rows of an epoch; all if left out.
    """
    groups = [
        {"params": model.backbone.parameters(), "lr": settings.learning_rate},
        {"params": model.head.parameters(), "lr": settings.head_learning_rate},
    ]
    numbers = encode(tokenizer, prompts, settings.max_length)
    lengths = np.array([len(row) for row in numbers])
    random, every = np.random.default_rng(seed), np.arange(len(prompts))
    rows = [every if choose is None else choose(random) for _ in range(settings.epochs)]

    def make_batches(epoch: int) -> list[NDArray[np.int64]]:
        own = lengths[rows[epoch]]
        batches = cut_batches(own, settings.batch_size, _POOL, random)
        return [rows[epoch][batch] for batch in batches]

    def compute_loss(batch: NDArray[np.int64]) -> torch.Tensor:
        inputs = as_batch([numbers[i] for i in batch], tokenizer.pad_token_id or 0)
        with number_format(settings.mixed_precision):
            return model(**inputs, labels=torch.from_numpy(labels[batch])).loss

    factor = make_schedule(sum(-(-len(some) // settings.batch_size) for some in rows))
    option = f"{name}.learning_rate"
    descend(model, groups, compute_loss, make_batches, factor, settings, option, name)
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
    """Tune an encoder on prompts with the targets of a benchmark.

    Args:
        new_model: puts a new head on the encoder: `BertForPerformancePrediction.from_backbone`,
            given its name.
        tokenizer: the encoder's.
        prompts: normalised.
        values: shape ``(prompts, targets)``, in the targets' own units.
        targets: their names.
        settings: see there.
        seed: of everything random.
        limits: of targets whose names don't tell them.
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
    tuned: PreTrainedModel,
    tokenizer: Any,
    sources: Mapping[str, Study],
    settings: SourceSettings,
    seed: int,
) -> PreTrainedModel:
    """Tune a copy of an encoder, with a new head, on the order of the prompts in each source.

    Args:
        tuned: what `tune_on_targets` returned; it stays as it is.
        tokenizer: the encoder's.
        sources: from `read_sources`.
        settings: see there.
        seed: of everything random.
    """
    torch.manual_seed(seed)
    config = deepcopy(tuned.config)
    config.targets, config.target_weights = ["alignment"], None
    model = type(tuned)(config, deepcopy(tuned.backbone))
    # Only the highest layers learn; all of it where there are no more.
    layers = getattr(getattr(model.backbone, "encoder", model.backbone), "layer", ())
    if len(layers) > settings.trained_layers:
        model.backbone.requires_grad_(False)
        for layer in layers[len(layers) - settings.trained_layers :]:
            layer.requires_grad_(True)
    prompts = [content(prompt) for source in sources.values() for prompt in source.prompts]
    ranks = [rank_relatively(source.scores) for source in sources.values()]
    labels = np.concatenate(ranks).astype(np.float32)[:, None]
    ends = np.cumsum([len(some) for some in ranks])

    def choose(random: np.random.Generator) -> NDArray[np.int64]:
        rows = (np.arange(end - len(some), end) for end, some in zip(ends, ranks, strict=True))
        return np.concatenate([random.permutation(r)[: settings.most_a_source] for r in rows])

    return fine_tune(model, tokenizer, prompts, labels, settings, seed, "tuned_on_sources", choose)


def rank_relatively(scores: Sequence[float] | Floats) -> Floats:
    """Return the ranks of some scores as shares of them, between 0 and 1; ties share theirs.

    >>> rank_relatively([3.0, 1.0, 3.0, 9.0]).tolist()
    [0.5, 0.125, 0.5, 0.875]
    """
    return (rankdata(scores, axis=0) - 0.5) / len(scores)


def to_gaussian(shares: Floats) -> Floats:
    """Return the normal quantiles of shares; those next to 0 and 1 stay within 3.

    >>> to_gaussian(np.array([0.5, 1.0])).tolist()
    [0.0, 3.0]
    """
    return np.clip(ndtri(shares), -3, 3)


def space_evenly(start: int, stop: int, limit: int) -> NDArray[np.int64]:
    """Return at most `most` evenly spaced numbers of a range.

    >>> space_evenly(10, 20, 3).tolist()
    [10, 14, 19]
    """
    return np.linspace(start, stop - 1, min(limit, stop - start)).astype(int)


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
    ranks = ndtri(rank_relatively(targets))
    goals = settings.rank_share * ranks + (1 - settings.rank_share) * standard
    labels = standard.astype(np.float32)
    vectors = {layer: rows[: len(prompts)] for layer, rows in collection.vectors.items()}
    raw = collection.features(prompts, vectors, labels, settings.kernel_layers, own=True)
    features = Scaling.fit(raw)
    inputs = {layer: Scaling.fit(vectors[layer]) for layer in settings.kernel_layers}
    rows = build_model_inputs(vectors, features(raw), inputs)
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
        make_schedule(settings.epochs * batches),
        settings,
        "learning_rate of the networks",
        largest_gradient=None,
    )
    return model


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


def make_first_vectors(embeddings: Singles, size: int) -> torch.Tensor:
    """Return the principal components of a transformer's word embeddings, to begin with."""
    centred = embeddings - embeddings.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    vectors = centred @ directions[:, ::-1][:, :size]
    return torch.from_numpy((0.3 * vectors / vectors.std()).astype(np.float32))


def make_first_points(vectors: Singles, size: int) -> Singles:
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
        goals: what each prompt's scores should be, NaN if that is not known.
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
    goal_points = torch.from_numpy(points)
    # What errors of each score are multiplied by; 0 where no goal is known.
    known_goals = [column[~np.isnan(column)] for column in goals.T]
    spread = np.array([(some.std() or 1.0) if len(some) else np.inf for some in known_goals])
    weights = np.r_[settings.first_weight**0.5, np.ones(len(spread) - 1)]
    importance = torch.from_numpy((weights / spread).astype(np.float32))
    lengths = np.array([len(row) for row in encoded])

    def compute_loss(batch: NDArray[np.int64]) -> torch.Tensor:
        with number_format(settings.mixed_precision):
            scores, at = model(**as_batch([encoded[i] for i in batch], 0))
        known = ~torch.isnan(wanted[batch])
        error = (scores.float() - wanted[batch].nan_to_num()) * importance * known
        nearness = nn.functional.cosine_similarity(at.float(), goal_points[batch], dim=1).mean()
        return error.square().sum() / known.sum() + settings.point_weight * (1 - nearness)

    parameters = [
        {"params": [array for array in model.parameters() if array.ndim > 1]},
        {"params": [a for a in model.parameters() if a.ndim < 2], "weight_decay": 0.0},
    ]
    steps = settings.epochs * (len(encoded) // settings.batch_size + 1)
    descend(
        model,
        parameters,
        compute_loss,
        lambda epoch: cut_batches(lengths, settings.batch_size, _STUDENT_POOL, random),
        make_schedule(steps, 0.05),
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
    pairs: PiecePairs | None = None,
) -> StaticNetwork:
    """Return a network with a deeper layer, which adds to its last scores what these lack.

    Args:
        network: all of its weights stay as they are, but those of a former layer of the same kind.
        encoded: numbers of the prompts' word pieces.
        goals: what each prompt's last scores should be, shape ``(prompts, scores)``.
        settings: see there.
        seed: of everything random.
        pairs: what the layer sees beside the hidden one, if it is to be one of `PAIRED`. Its
            captions come first among the prompts.
    """
    torch.manual_seed(seed)
    names = DEEPER if pairs is None else PAIRED
    kept = {k: array for k, array in network.weights.items() if k.split(".")[0] not in names}
    scores, *_, hidden = StaticNetwork(network.pieces, network.scales, kept).layers(encoded)
    if pairs is not None:
        own, others = encoded[: pairs.size], encoded[pairs.size :]
        beside = np.concatenate([pairs(own, own=True), pairs(others)])
        hidden = np.concatenate([hidden, beside], axis=1)
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
        make_schedule(settings.epochs * batches, 0.05),
        settings,
        "learning_rate of the student",
        "deepening",
    )
    for name, layer in zip(names, (deeper, added), strict=True):
        kept[f"{name}.weight"] = layer.weight.detach().numpy().astype(np.float16)
        kept[f"{name}.bias"] = layer.bias.detach().numpy().astype(np.float16)
    return StaticNetwork(network.pieces, network.scales, kept, pairs)
