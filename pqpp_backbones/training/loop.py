"""The training loop, for any model whose output has a `loss`; Accelerate has the devices.

A run that is killed at any moment and resumed ends with the weights of a run that was not: the
order of the data is a function of seed and epoch, the dropout of seed, epoch, batch and process,
and the rest (model, optimizer, loss scaler, history) is in the checkpoint.
"""

import contextlib
import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, skip_first_batches
from accelerate.utils import (
    DistributedDataParallelKwargs,
    DistributedType,
    ProjectConfiguration,
    gather_object,
)
from numpy.typing import NDArray
from safetensors.torch import save
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

from pqpp_backbones.training.batches import LengthSortedBatches
from pqpp_backbones.training.divergence import Divergence
from pqpp_backbones.training.options import OptimisationOptions
from pqpp_backbones.training.publish import check_push
from pqpp_backbones.training.state import BEST, Checkpoints, Progress, alone_in
from pqpp_files.errors import MissingExtraError
from pqpp_files.extras import extra_of, install_command
from pqpp_files.foreign.arrays import load_tensors
from pqpp_files.options.option import RecipeError
from pqpp_files.write_beside import write_whole

_SHARDED = (DistributedType.FSDP, DistributedType.DEEPSPEED, DistributedType.MEGATRON_LM)


@dataclass(kw_only=True)
class Task:
    """What is to be learned.

    Attributes:
        model: Takes a batch by keywords; its output has a `loss`. After the training it is, in the
            main process, a whole model with the best epoch's weights.
        examples: The training examples, whatever `collate` takes. One with a method `set_epoch`
            is told each epoch's number before it begins, for what differs between epochs.
        lengths: The length of each example, for batches of like length; batches are random
            without.
        collate: Turns a list of examples into a batch of tensors.
        evaluate: Takes the model and the accelerator, in every process; returns the validation's
            metrics, `primary` among them, which decides when to stop.
        head: Name of the new part, which may have a learning rate of its own.
        head_learning_rate: That rate; the recipe's if left out.
        fresh_epoch: At its begin AdamW forgets its averages. What had no gradient before has an
            average square near 0, by which its first steps would be several times the rate.
        identity: Fingerprints of the data, which a resumed run must share.
        primary: Name of the metric, higher is better, by which the best epoch is chosen.
        shown: Names of the metrics to print after an epoch.
    """

    model: torch.nn.Module
    examples: Any
    lengths: Sequence[int] | None = None
    collate: Callable[[list[Any]], dict[str, torch.Tensor]]
    evaluate: Callable[[torch.nn.Module, Accelerator], dict[str, float]]
    head: str = ""
    head_learning_rate: float | None = None
    fresh_epoch: int = 0
    identity: dict[str, Any] = field(default_factory=dict)
    primary: str = "kendall"
    shown: tuple[str, ...] = ("pearson", "kendall")


def make_accelerator(recipe: OptimisationOptions) -> Accelerator:
    """Return the accelerator that a recipe asks for, with the random numbers seeded."""
    check_trackers(recipe.report_to)
    accelerator = Accelerator(
        mixed_precision=recipe.mixed_precision,
        gradient_accumulation_steps=recipe.gradient_accumulation_steps,
        log_with=recipe.report_to or None,
        # An encoder may hold parts that no output needs, like the pooler beside a mean of tokens.
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
        project_config=ProjectConfiguration(
            project_dir=recipe.output_dir, logging_dir=str(Path(recipe.output_dir) / "logs")
        ),
    )
    if accelerator.distributed_type == DistributedType.DEEPSPEED:
        # DeepSpeed asks for it, and a loader with batches of our own order does not tell it.
        config = accelerator.state.deepspeed_plugin.deepspeed_config
        if config.get("train_micro_batch_size_per_gpu", "auto") == "auto":
            config["train_micro_batch_size_per_gpu"] = recipe.batch_size
    torch.manual_seed(recipe.seed)
    return accelerator


def check_trackers(names: Sequence[str]) -> None:
    """Check that Accelerate will take every tracker; it leaves out silently what it cannot import.

    Raises:
        RecipeError: Accelerate knows no such tracker.
        MissingExtraError: A tracker's package is not installed.

    Example:
        >>> check_trackers(["all"])
        >>> check_trackers(["paper"])
        Traceback (most recent call last):
            ...
        pqpp_files.options.option.RecipeError: `report_to` names 'paper'; choose among all, ...
    """
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

    for name in sorted({*names} - {"all", *map(str, get_available_trackers())}):
        if name not in LOGGER_TYPE_TO_CLASS:
            known = ", ".join(["all", *sorted(LOGGER_TYPE_TO_CLASS)])
            raise RecipeError(f"`report_to` names {name!r}; choose among {known}")
        extra = extra_of(name)
        remedy = install_command(extra) if extra else f"install the package of {name}"
        raise MissingExtraError(
            f"`report_to` names {name!r}, which is not installed; {remedy}, or leave it out"
        )


def is_sharded(accelerator: Accelerator) -> bool:
    """Tell whether no process has all weights (FSDP, DeepSpeed).

    The processes of such a training must call the model's `forward`, all of them equally often; its
    other methods and its parts do not work by themselves.
    """
    return accelerator.distributed_type in _SHARDED


def train(
    task: Task,
    recipe: OptimisationOptions,
    accelerator: Accelerator,
    save: Callable[[Progress], Any],
) -> Progress:
    """Train a model, leave the weights of its best epoch in it, save it, and return how it went.

    The recipe's `output_dir` gets the checkpoints and the best weights. `save` is called in the
    main process, while the others wait.

    Raises:
        HubError: The predictor is to be pushed, and the Hub would refuse it.
        OSError: There is no room for the checkpoints.
        RecipeError: A loss or a weight is no finite number any more, of which nothing is kept; or
            another training writes to the folder.
    """
    run = _Run(task, recipe, accelerator)
    run.ask()
    with alone_in(run.folder) if accelerator.is_main_process else contextlib.nullcontext():
        run.start()
        with run.bar:  # what ends the training stands on a line of its own
            while run.progress.epoch < recipe.epochs and not run.is_stalled():
                run.train_epoch()
                run.end_epoch()
        run.finish()
    if accelerator.is_main_process:
        save(run.progress)
    accelerator.wait_for_everyone()
    return run.progress


class _Run:
    """One training: the objects that Accelerate prepared, and how far it has come."""

    def __init__(self, task: Task, recipe: OptimisationOptions, accelerator: Accelerator) -> None:
        self.task, self.recipe, self.accelerator = task, recipe, accelerator
        self.folder = Path(recipe.output_dir)
        identity = recipe.deciding() | task.identity
        identity["num_processes"] = accelerator.num_processes
        self.checkpoints = Checkpoints(self.folder / "checkpoints", identity)
        lengths = [1] * len(task.examples) if task.lengths is None else task.lengths
        self.batches = LengthSortedBatches(lengths, recipe.batch_size, recipe.seed)
        loader = DataLoader(
            task.examples,
            batch_sampler=self.batches,
            collate_fn=task.collate,
            num_workers=recipe.data_workers,
        )
        # A sharded model is taken apart in place; a whole one takes the best weights at the end.
        sharded = is_sharded(accelerator)
        self.whole = copy.deepcopy(task.model).cpu() if sharded else task.model
        optimizer = make_optimizer(task.model, recipe, task.head, task.head_learning_rate)
        self.model, self.optimizer, self.loader = accelerator.prepare(task.model, optimizer, loader)
        self.steps_an_epoch = -(-len(self.loader) // recipe.gradient_accumulation_steps)
        self.progress = Progress()
        self.divergence = Divergence()

    def ask(self) -> None:
        """Ask the Hub, if that is wanted, and the disk whether they will take what is made."""
        if self.accelerator.is_main_process:
            check_push(self.recipe)

    def start(self) -> None:
        """Open the trackers and go on from a checkpoint, if that is wanted."""
        if self.recipe.resume:
            self.progress = self.checkpoints.load(self.accelerator)
        if self.recipe.report_to:
            settings = self.recipe.to_dict().items()
            shown = {k: v if isinstance(v, (int, float)) else str(v) for k, v in settings}
            self.accelerator.init_trackers("pqpp", config=shown)
        self.bar = tqdm(
            total=self.steps_an_epoch * self.recipe.epochs,
            initial=self.progress.step,
            disable=not self.accelerator.is_local_main_process,
            desc="training",
            unit="step",
        )

    def is_stalled(self) -> bool:
        """Tell whether the validation has not got better for too long."""
        patience = self.recipe.early_stopping_patience
        return 0 < patience <= self.progress.stalled

    def train_epoch(self) -> None:
        """Go through the rest of an epoch, writing checkpoints as the recipe asks."""
        self.model.train()
        began = time.perf_counter()
        self.batches.epoch = self.progress.epoch
        loader, loss = skip_first_batches(self.loader, self.progress.batch), None
        # It tells the examples. Told otherwise, they would hear 0 again: it counts for itself, and
        # it is a new one in each epoch.
        loader.set_epoch(self.progress.epoch)
        if self.progress.epoch == self.task.fresh_epoch and not self.progress.batch:
            self.optimizer.state.clear()
        for batch in loader:
            with self.accelerator.accumulate(self.model):
                loss = self._learn_from(batch)
            self.progress.batch += 1
            if not self.accelerator.sync_gradients:
                continue
            self.progress.step += 1
            self._report(loss)
            every = self.recipe.checkpoint_steps
            if every and self.progress.step % every == 0:
                self.divergence.check(self.model)
                began = self._count_time(began)
                self.checkpoints.save(self.accelerator, self.progress)
        self.divergence.check(self.model)
        self._count_time(began)

    def _learn_from(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        # Each batch has random numbers of its own, so that a resumed run draws the same ones.
        at = [self.recipe.seed, self.progress.epoch, self.progress.batch]
        at.append(self.accelerator.process_index)
        torch.manual_seed(int(np.random.SeedSequence(at).generate_state(1, np.uint64)[0] >> 1))
        loss = self.model(**batch).loss
        self.accelerator.backward(loss)
        if self.accelerator.sync_gradients:
            self.accelerator.clip_grad_norm_(self.model.parameters(), self.recipe.max_grad_norm)
            factor = rate_factor(
                self.progress.step, self.steps_an_epoch * self.recipe.epochs, self.recipe
            )
            for group in self.optimizer.param_groups:
                group["lr"] = group["full_lr"] * factor
        self.optimizer.step()
        self.optimizer.zero_grad()
        rate = self.optimizer.param_groups[0]["lr"]
        self.divergence.note(self.progress.step + 1, rate, loss)
        return loss.detach()

    def _report(self, loss: torch.Tensor) -> None:
        self.bar.update()
        if self.progress.step % self.recipe.log_steps == 0:
            self.divergence.check()
            self.bar.set_postfix(loss=f"{loss.item():.4f}", epoch=self.progress.epoch)
            rate = self.optimizer.param_groups[0]["lr"]
            values = {"train/loss": loss.item(), "train/learning_rate": rate}
            self.accelerator.log(values, step=self.progress.step)

    def _count_time(self, began: float) -> float:
        now = time.perf_counter()
        self.progress.seconds += now - began
        return now

    def end_epoch(self) -> None:
        """Evaluate, keep the weights if they are the best so far, and write a checkpoint."""
        began, progress = time.perf_counter(), self.progress
        self.model.eval()
        metrics = self.task.evaluate(self.model, self.accelerator)
        best, primary = progress.best, self.task.primary
        progress.history.append(metrics)
        if best is None or math.isnan(best[primary]) or metrics[primary] > best[primary]:
            progress.best_epoch, progress.stalled = progress.epoch, 0
            self._keep_weights()
        else:
            progress.stalled += 1
        progress.epoch, progress.batch = progress.epoch + 1, 0
        self._count_time(began)
        self.accelerator.log(
            {f"validation/{name}": value for name, value in metrics.items()}, step=progress.step
        )
        if self.accelerator.is_main_process:
            shown = ", ".join(f"{name} {metrics[name]:.4f}" for name in self.task.shown)
            tqdm.write(f"epoch {progress.epoch}: validation {shown}")
        self.checkpoints.save(self.accelerator, progress)

    def _keep_weights(self) -> None:
        weights = self.accelerator.get_state_dict(self.model)
        if self.accelerator.is_main_process:
            # Cloned, since safetensors refuses tensors that share memory (tied weights).
            copies = {k: v.detach().cpu().clone().contiguous() for k, v in weights.items()}
            write_whole(self.folder / BEST, save(copies))

    def finish(self) -> None:
        """Put the best epoch's weights into the model and close the trackers."""
        for tracker in self.accelerator.trackers:
            tracker.finish()  # not `end_training`: the processes still have to meet
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            self.whole.load_state_dict(load_tensors(self.folder / BEST, framework="torch"))
        self.task.model = self.whole.eval()


def make_optimizer(
    model: torch.nn.Module, recipe: OptimisationOptions, head: str, head_learning_rate: float | None
) -> torch.optim.AdamW:
    """Return AdamW over the parameters that learn, the head at a rate of its own.

    Biases and norms (one dimension) are not decayed.
    """
    groups: dict[tuple[bool, bool], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            key = name.startswith(f"{head}."), parameter.ndim > 1
            groups.setdefault(key, []).append(parameter)
    described: list[dict[str, Any]] = []
    for (is_head, is_decayed), parameters in sorted(groups.items(), key=lambda item: item[0]):
        rate = head_learning_rate if is_head and head_learning_rate else recipe.learning_rate
        decay = recipe.weight_decay if is_decayed else 0.0
        described.append({"params": parameters, "lr": rate, "full_lr": rate, "weight_decay": decay})
    # One pass over the memory instead of ten: a third of a small model's step on a CPU.
    return torch.optim.AdamW(described, fused=True)


def rate_factor(step: int, total: int, recipe: OptimisationOptions) -> float:
    """Return the part of the learning rate that a step uses, from its number alone.

    Example:
        >>> rate_factor(50, 100, OptimisationOptions())
        0.5
    """
    warmup = recipe.warmup_steps or math.ceil(recipe.warmup_ratio * total)
    if step < warmup:
        return (step + 1) / warmup
    if recipe.schedule == "constant":
        return 1.0
    if recipe.schedule == "rsqrt":
        return math.sqrt(max(1, warmup) / max(1, step, warmup))
    done = (step - warmup) / max(1, total - warmup)
    return 1 - done if recipe.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done))


def predict_in_parts(
    accelerator: Accelerator,
    batches: Sequence[NDArray[np.int64]],
    predict: Callable[[NDArray[np.int64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Let each process predict some of the batches, and return all rows in every process.

    What a row is batched with changes the last digits of its score, and with them the order of near
    ties. So the batches are the same for any number of processes. Each has the same number of
    them, the first one serving again where it doesn't come out even. The processes of a sharded
    model call each other, so no one may do a batch more than another: there, each predicts all.

    Args:
        batches: Indices of rows, each row once, as `predict` itself would cut all rows, in order.
            All but the last are full.
        predict: Takes the indices of some batches in one array, returns `(indices, targets)`.
    """
    world, rank = accelerator.num_processes, accelerator.process_index
    mine = list(batches)
    if not is_sharded(accelerator):
        mine = mine[rank::world]
        if len(mine) < -(-len(batches) // world):
            mine.insert(0, batches[0])  # where `predict` would put it
    rows = np.concatenate(mine)
    predicted = [(rows, predict(rows))]
    parts = predicted if is_sharded(accelerator) else gather_object(predicted)
    scores = np.empty((sum(map(len, batches)), parts[0][1].shape[1]))
    for indices, values in parts:
        scores[indices] = values
    return scores
