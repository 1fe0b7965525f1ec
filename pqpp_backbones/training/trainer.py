"""Fine-tuning with `transformers.Trainer`.

`Trainer` keeps the weights of the best evaluation and stops early. Training that diverges stops
before anything is saved. Training that is killed resumes from its newest complete checkpoint, with
the same result.
"""

import contextlib
import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from safetensors.torch import save
from transformers import (
    EarlyStoppingCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_pt_utils import LengthGroupedSampler
from transformers.utils import SAFE_WEIGHTS_NAME

from pqpp_backbones.pretrained import has_finite_weights
from pqpp_backbones.training.options import OptimisationOptions, diverged_error
from pqpp_backbones.training.publish import check_push_access
from pqpp_files.atomic_write import write_file
from pqpp_files.errors import FileError, PqppError, reraise
from pqpp_files.foreign.json_values import parse_json

STATE = "trainer_state.json"
_TIMINGS = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_loss")


@dataclass(frozen=True)
class Outcome:
    """The progress and result of a training run.

    Attributes:
        epochs: Number of trained epochs.
        best_epoch: The epoch in which the saved weights were reached, from 1.
        steps: Number of optimizer steps.
        seconds: Duration since the last start or resume.
        processes: Number of training processes.
        validation: The metrics of the saved weights.
    """

    epochs: int
    best_epoch: int
    steps: int
    seconds: int
    processes: int
    validation: dict[str, float]


def to_training_arguments(recipe: OptimisationOptions) -> TrainingArguments:
    """Convert a recipe to `TrainingArguments`.

    Raises:
        PqppError: transformers refuses an option.
    """
    names = TrainingArguments.__dataclass_fields__.keys() & recipe.to_dict().keys()
    # pqpp pushes and resumes itself, with its own card and checks.
    names -= {"push_to_hub", "hub_model_id", "hub_private_repo", "resume_from_checkpoint"}
    options: dict[str, Any] = {name: getattr(recipe, name) for name in names}
    options |= {"report_to": recipe.report_to or "none", "eval_strategy": recipe.save_strategy}
    options |= {"eval_steps": recipe.save_steps, "load_best_model_at_end": True}
    options |= {"per_device_eval_batch_size": recipe.per_device_train_batch_size}
    options |= {"use_cpu": not torch.accelerator.is_available(), "logging_nan_inf_filter": False}
    # With a limit of 1, `Trainer` deletes the last checkpoint at the end, and resuming repeats it.
    options |= {"save_total_limit": 2, "remove_unused_columns": False, "label_names": ["labels"]}
    extra = recipe.training_arguments
    with reraise("transformers refuses the options", "change them", PqppError):
        return TrainingArguments(**options | {n: _parse_value(t) for n, t in extra.items()})


def find_checkpoint(folder: Path) -> Path | None:
    """Return the newest complete checkpoint in a folder; None if there is none."""
    checkpoints = [path.parent for path in folder.glob(f"checkpoint-*/{STATE}")]
    return max(checkpoints, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


class PerformanceTrainer(Trainer):
    """A `Trainer` that stops if training diverges.

    Args:
        model: The model; after `fit`, it has the best weights in the main process.
        arguments: The output of `to_training_arguments`.
        head: Name of the submodule with the new layers, which may have its own learning rate.
        lengths: Length of each training example, for batches of similar length.
        **options: Options of `Trainer`.

    Raises:
        PqppError: A tracker is unknown or not installed.
    """

    def __init__(
        self,
        recipe: OptimisationOptions,
        model: torch.nn.Module,
        arguments: TrainingArguments,
        *,
        head: str,
        lengths: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        options.setdefault("preprocess_logits_for_metrics", lambda outputs, _: outputs[0])
        with reraise("transformers refuses the training", "change the training options", PqppError):
            super().__init__(model, arguments, **options)
        self.recipe, self.head, self.lengths = recipe, head, lengths
        self.sampler: LengthGroupedSampler | None = None
        # A sharded model is split in place; the full model gets its weights at the end.
        is_sharded = self.is_fsdp_enabled or self.is_deepspeed_enabled
        self.full_model = copy.deepcopy(model).cpu() if is_sharded else model
        self.add_callback(_EpochCallback(self))

    def fit(self) -> Outcome:
        """Train, load the best weights, and return the outcome.

        Raises:
            HubError: The model is to be pushed, and the Hub would refuse it.
            PqppError: The training diverged, the checkpoint to resume from is incomplete, or
                another run trains in the folder, whose checkpoints would be mixed with its own.
        """
        lock = FileLock(Path(self.recipe.output_dir) / "training.lock", timeout=0)
        try:
            with lock if self.is_world_process_zero() else contextlib.nullcontext():
                return self._fit()
        except Timeout:
            fault = f"another run trains in {self.recipe.output_dir}"
            raise PqppError(
                f"{fault}; wait until it ends, or choose another `output_dir`"
            ) from None

    def _fit(self) -> Outcome:
        if self.args.eval_strategy == "no":
            raise PqppError("`eval_strategy` is no, but validation chooses the weights; remove it")
        folder, resume = Path(self.recipe.output_dir), self.recipe.resume_from_checkpoint
        if self.is_world_process_zero():
            check_push_access(self.recipe)
        start = find_checkpoint(folder) if resume == "last" else resume and Path(resume)
        if start and not (start / STATE).is_file():
            fault = f"`resume_from_checkpoint`: {start} is not a complete checkpoint"
            raise PqppError(f"{fault}; choose another checkpoint")
        previous = TrainerState()
        if start:
            with _explain_damage(start):
                previous = TrainerState.load_from_json(str(start / STATE))
        patience, best = self.recipe.early_stopping_patience, previous.best_global_step
        if patience:
            stopping = EarlyStoppingCallback(patience)
            worse = [log for log in list_evaluations(previous) if best and log["step"] > best]
            stopping.early_stopping_patience_counter = len(worse)
            self.add_callback(stopping)
            if len(worse) >= patience:
                self.args.num_train_epochs = previous.epoch  # training has already stopped
        result = self.train(resume_from_checkpoint=str(start) if start else None)
        weights = self.accelerator.get_state_dict(self.model_wrapped)
        if self.is_world_process_zero():
            self.full_model.load_state_dict(weights)
        self.model = self.full_model.eval()
        is_best = self.args.load_best_model_at_end and self.state.best_model_checkpoint
        step = self.state.best_global_step if is_best else self.state.global_step
        saved = next(log for log in list_evaluations(self.state) if log["step"] == step)
        names = [name for name in saved if name.startswith("eval_") and name not in _TIMINGS]
        return Outcome(
            epochs=math.ceil(self.state.epoch or 0),
            best_epoch=math.ceil(saved["epoch"]),
            steps=self.state.global_step,
            seconds=round(result.metrics["train_runtime"]),
            processes=self.args.world_size,
            validation={name.removeprefix("eval_"): saved[name] for name in names},
        )

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        with _explain_damage(resume_from_checkpoint):
            super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with _explain_damage(checkpoint):
            super()._load_optimizer_and_scheduler(checkpoint)

    def _load_best_model(self) -> None:
        with _explain_damage(self.state.best_model_checkpoint):
            super()._load_best_model()

    def _determine_best_metric(self, metrics: dict[str, float], trial: Any) -> bool:
        with reraise("transformers refuses the options", "change them", PqppError):
            return super()._determine_best_metric(metrics, trial)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Create the optimizer, with `head_learning_rate` for the head if it is set."""
        rate, is_new = getattr(self.recipe, "head_learning_rate", None), self.optimizer is None
        optimizer = super().create_optimizer(model)
        if rate and is_new:
            parameters = (self.model if model is None else model).named_parameters()
            head = {id(weights) for name, weights in parameters if name.startswith(f"{self.head}.")}
            for group in [*optimizer.param_groups]:
                head_weights = [weights for weights in group["params"] if id(weights) in head]
                others = [weights for weights in group["params"] if id(weights) not in head]
                group["params"] = others
                optimizer.add_param_group({**group, "params": head_weights, "lr": rate})
            optimizer.param_groups[:] = [one for one in optimizer.param_groups if one["params"]]
        return optimizer

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        if self.lengths is None:
            return super()._get_train_sampler(train_dataset)
        # The sampler of transformers has no seed, so a resumed epoch would differ.
        size = self.args.train_batch_size * self.args.gradient_accumulation_steps
        lengths, generator = [*self.lengths], torch.Generator()
        self.sampler = LengthGroupedSampler(size, lengths=lengths, generator=generator)
        return self.sampler

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        # `save_pretrained` renames some weights, and resuming would silently not load them.
        weights = (state_dict or self.model.state_dict()).items()
        # Cloned, since safetensors refuses tensors that share memory (tied weights).
        copies = {name: one.detach().cpu().clone().contiguous() for name, one in weights}
        write_file(Path(output_dir or self.args.output_dir) / SAFE_WEIGHTS_NAME, save(copies))

    def floating_point_ops(self, inputs: Any) -> int:
        """Return 0, since the estimate of transformers is only valid for text models."""
        return 0


class _EpochCallback(TrainerCallback):
    """A callback that sets the epoch of the data, and checks the loss and the weights."""

    def __init__(self, trainer: PerformanceTrainer) -> None:
        self.trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        state.stateful_callbacks.setdefault("EarlyStoppingCallback", {})
        best = Path(args.output_dir) / f"checkpoint-{state.best_global_step}"
        if best.is_dir():  # `Trainer` knows only the folder of the interrupted run
            state.best_model_checkpoint = str(best)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        epoch = int(state.epoch or 0)  # `Trainer` does not set it when an epoch is resumed
        if self.trainer.sampler is not None:
            self.trainer.sampler.generator.manual_seed(args.seed * 100_003 + epoch)
        if hasattr(self.trainer.train_dataset, "set_epoch"):
            self.trainer.train_dataset.set_epoch(epoch)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **options: Any) -> None:
        loss = (logs or {}).get("loss", 0.0)
        if not abs(loss) < float("inf"):
            raise diverged_error(f"the loss is {loss}", state.global_step, logs["learning_rate"])

    def on_step_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        # A checkpoint is saved only after an evaluation.
        if control.should_evaluate and not has_finite_weights(options["model"]):
            rate = options["optimizer"].param_groups[0]["lr"]
            raise diverged_error("a weight is NaN or infinite", state.global_step, rate)

    on_epoch_end = on_step_end


def list_evaluations(state: TrainerState) -> list[dict[str, float]]:
    """Return the logs of all evaluations."""
    return [log for log in state.log_history if any(name.startswith("eval_") for name in log)]


def _explain_damage(checkpoint: Path | str | None) -> contextlib.AbstractContextManager[None]:
    remedy = "delete it to resume from an older checkpoint, or to start again"
    return reraise(f"{checkpoint} is damaged", remedy, PqppError)


def _parse_value(text: str) -> Any:
    """Convert a number, true or false; return other text unchanged."""
    try:
        return parse_json(text)
    except FileError:
        return text
