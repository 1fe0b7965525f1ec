"""The teacher of `alignment`: an encoder tuned on PQPP, then on the sources with a head of its own.

Pooling all rows in one regression drowns the small sources, so the encoder first learns what makes
a prompt hard from PQPP's nine targets, and then the order of the prompts within each source.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from pqpp_models.bench.generalisation import ScoredPrompts
from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.targets import scale_targets
from pqpp_models.text.training.tuning import TuneSettings, fine_tune

TARGET = "alignment"


@dataclass(frozen=True)
class SourceSettings(TuneSettings):
    """How the encoder is tuned on the sources.

    Attributes:
        most_a_source: rows of a source that an epoch sees at most, so that none drowns the others.
        trained_layers: how many of the encoder's layers, from the top, learn from the sources.
    """

    most_a_source: int = 400
    trained_layers: int = 6


def tune_on_targets(
    name_or_path: str,
    tokenizer: Any,
    prompts: Sequence[str],
    values: NDArray[np.float64],
    targets: Sequence[str],
    settings: TuneSettings,
    seed: int,
) -> BertForPerformancePrediction:
    """Tune an encoder on prompts with the targets of a benchmark.

    Args:
        name_or_path: the encoder.
        tokenizer: its own.
        prompts: normalised.
        values: shape ``(prompts, targets)``, in the targets' own units.
        targets: their names.
        settings: see there.
        seed: of everything random.
    """
    torch.manual_seed(seed)
    labels = scale_targets(values, targets).astype(np.float32)
    variance = np.nanvar(labels, axis=0)
    model = BertForPerformancePrediction.from_backbone(
        name_or_path,
        targets=list(targets),
        target_weights=(variance.mean() / variance).tolist(),
        pooling="mean",
        max_length=settings.max_length,
    )
    return fine_tune(model, tokenizer, prompts, labels, settings, seed)


def tune_on_sources(
    tuned: BertForPerformancePrediction,
    tokenizer: Any,
    sources: Mapping[str, ScoredPrompts],
    settings: SourceSettings,
    seed: int,
) -> BertForPerformancePrediction:
    """Tune a copy of an encoder, with a new head, on the order of the prompts in each source.

    Args:
        tuned: what `tune_on_targets` returned; it stays as it is.
        tokenizer: the encoder's.
        sources: from `read_sources`.
        settings: see there.
        seed: of everything random.
    """
    torch.manual_seed(seed)
    config = copy.deepcopy(tuned.config)
    config.targets, config.target_weights = [TARGET], None
    model = BertForPerformancePrediction(config, copy.deepcopy(tuned.backbone))
    freeze_below(model.backbone, settings.trained_layers)
    prompts = [normalise(one) for source in sources.values() for one in source.prompts]
    ranks = [relative_ranks(source.scores) for source in sources.values()]
    labels = np.concatenate(ranks).astype(np.float32)[:, None]
    ends = np.cumsum([len(some) for some in ranks])

    def choose(random: np.random.Generator) -> NDArray[np.int64]:
        parts = [
            random.permutation(np.arange(end - len(some), end))[: settings.most_a_source]
            for end, some in zip(ends, ranks, strict=True)
        ]
        return np.concatenate(parts)

    return fine_tune(model, tokenizer, prompts, labels, settings, seed, "tuned_on_sources", choose)


def relative_ranks(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks of some scores as shares of them, between 0 and 1; ties share theirs.

    >>> relative_ranks([3.0, 1.0, 3.0, 9.0]).tolist()
    [0.5, 0.125, 0.5, 0.875]
    """
    return (rankdata(scores) - 0.5) / len(scores)


def gaussian(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal quantiles of shares; those next to 0 and 1 stay within 3.

    >>> gaussian(np.array([0.5, 1.0])).tolist()
    [0.0, 3.0]
    """
    return np.clip(ndtri(shares), -3, 3)


def freeze_below(backbone: Any, trained: int) -> None:
    """Let only the highest layers of an encoder learn; all of it where it has no more layers."""
    layers = getattr(getattr(backbone, "encoder", backbone), "layer", None)
    if layers is None or trained >= len(layers):
        return
    backbone.requires_grad_(False)
    for layer in layers[len(layers) - trained :]:
        layer.requires_grad_(True)
