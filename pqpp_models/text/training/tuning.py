"""Fine-tuning an encoder on prompts with known values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm.auto import tqdm
from transformers import PreTrainedModel

from pqpp_models.encoder.encoding import as_batch
from pqpp_models.encoder.tokens import encode
from pqpp_models.text.training.collection_model import batches_of_like_length, warm_up_and_decay
from pqpp_models.training.divergence import Divergence
from pqpp_models.training.number_format import check_number_format, number_format

POOL = 20
Choice = Callable[[np.random.Generator], NDArray[np.int64]]


@dataclass(frozen=True)
class TuneSettings:
    """How an encoder is fine-tuned.

    Attributes:
        head_learning_rate: of the new layers; the encoder's is ``learning_rate``.
        max_length: tokens after which a prompt is cut.
        mixed_precision: of `pqpp_models.training.number_format.FORMATS`.
    """

    epochs: int = 4
    batch_size: int = 32
    learning_rate: float = 5e-5
    head_learning_rate: float = 1e-3
    weight_decay: float = 0.01
    max_length: int = 96
    mixed_precision: str = "no"

    def __post_init__(self) -> None:
        """Check the number format."""
        check_number_format(self.mixed_precision)


def fine_tune(
    model: PreTrainedModel,
    tokenizer: Any,
    prompts: Sequence[str],
    labels: NDArray[np.float32],
    settings: TuneSettings,
    seed: int,
    name: str = "tuned",
    choose: Choice | None = None,
) -> PreTrainedModel:
    """Fine-tune a model in place; what requires no gradient stays as it is.

    Args:
        model: a `backbone` with a `head`, like `BertForPerformancePrediction`.
        tokenizer: the encoder's.
        prompts: as they are to be read.
        labels: shape ``(prompts, targets)``, 0 to 1, NaN where not known.
        settings: see there.
        seed: of the order; that of dropout is the caller's `torch.manual_seed`.
        name: what the settings are called in a recipe, and on the bar.
        choose: the rows of an epoch; all if left out.
    """
    groups = [
        {"params": model.backbone.parameters(), "lr": settings.learning_rate},
        {"params": model.head.parameters(), "lr": settings.head_learning_rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=settings.weight_decay, fused=True)
    numbers = encode(tokenizer, prompts, settings.max_length)
    lengths = np.array([len(row) for row in numbers])
    random = np.random.default_rng(seed)
    rows = [
        np.arange(len(prompts)) if choose is None else choose(random)
        for _ in range(settings.epochs)
    ]
    steps = sum(-(-len(some) // settings.batch_size) for some in rows)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_up_and_decay(steps))
    divergence, step = Divergence(f"{name}.learning_rate"), 0
    for some in (bar := tqdm(rows, desc=name, unit="epoch")):
        total, model = 0.0, model.train()
        batches = batches_of_like_length(lengths[some], settings.batch_size, POOL, random)
        for batch in (some[one] for one in batches):
            inputs = as_batch([numbers[i] for i in batch], tokenizer.pad_token_id or 0)
            with number_format(settings.mixed_precision):
                loss = model(**inputs, labels=torch.from_numpy(labels[batch])).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            divergence.note(step, schedule.get_last_lr()[0], loss)
            schedule.step()
            total += loss.item()
        divergence.check(model)
        bar.set_postfix(loss=f"{total / len(batches):.5f}")
    return model.eval()
