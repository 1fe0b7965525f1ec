"""Fine-tuning with `transformers.Trainer`.

The weights of the best epoch are saved. Training that diverges stops before anything is saved.
Training that is killed resumes from its newest complete checkpoint, with the same result.
"""

import contextlib
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from transformers import Trainer, TrainerCallback, TrainerState, TrainingArguments
from transformers.trainer_pt_utils import LengthGroupedSampler
from transformers.utils import SAFE_WEIGHTS_NAME

from pqpp_backbones.pretrained import has_finite_weights
from pqpp_backbones.training.options import OptimisationOptions, diverged_error
from pqpp_backbones.training.publish import check_push_access
from pqpp_files.atomic_write import write_file
from pqpp_files.errors import FileError, PqppError, reraise
from pqpp_files.foreign.arrays import load_tensors
from pqpp_files.foreign.json_values import parse_json

BEST, STATE = "best.safetensors", "trainer_state.json"
_TIMINGS = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_loss")


@dataclass(frozen=True)
class Outcome:
    """The progress and result of a training run.

    Attributes:
        epochs: Number of trained epochs.
        best_epoch: The epoch whose weights are saved, from 1.
        steps: Number of optimizer steps.
        seconds: Duration since the last start or resume.
        processes: Number of training processes.
        validation: The best epoch's metrics.
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
    options |= {"report_to": recipe.report_to or "none", "eval_strategy": "epoch"}
    options |= {"per_device_eval_batch_size": recipe.per_device_train_batch_size}
    options |= {"save_total_limit": 1, "remove_unused_columns": False}
    options |= {"logging_nan_inf_filter": False, "label_names": ["labels"]}
    extra = recipe.training_arguments
    options |= {"use_cpu": not torch.accelerator.is_available()}
    with reraise("transformers refuses the options", "change them", PqppError):
        return TrainingArguments(**options | {n: _parse_value(t) for n, t in extra.items()})


def find_checkpoint(folder: Path) -> Path | None:
    """Return the newest complete checkpoint in a folder; None if there is none."""
    checkpoints = [path.parent for path in folder.glob(f"checkpoint-*/{STATE}")]
    return max(checkpoints, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


class PerformanceTrainer(Trainer):
    """A `Trainer` that keeps the weights of the best epoch and stops if training diverges.

    Args:
        model: The model; after `fit`, it has the best epoch's weights in the main process.
        arguments: The output of `to_training_arguments`.
        head: Name of the submodule with the new layers, which may have its own learning rate.
        primary: Name of the metric that chooses the best epoch; higher is better.
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
        primary: str = "kendall",
        lengths: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        options.setdefault("preprocess_logits_for_metrics", lambda outputs, _: outputs[0])
        with reraise("transformers refuses the training", "change the training options", PqppError):
            super().__init__(model, arguments, **options)
        self.recipe, self.head, self.primary, self.lengths = recipe, head, primary, lengths
        self.sampler: LengthGroupedSampler | None = None
        # A sharded model is split in place; the full model loads the best weights at the end.
        is_sharded = self.is_fsdp_enabled or self.is_deepspeed_enabled
        self.full_model = copy.deepcopy(model).cpu() if is_sharded else model
        self.add_callback(_EpochCallback(self))

    def fit(self) -> Outcome:
        """Train, load the weights of the best epoch, and return the outcome.

        Raises:
            HubError: The model is to be pushed, and the Hub would refuse it.
            PqppError: The training diverged, or the checkpoint to resume from is incomplete.
        """
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
        if self.is_stalled(previous):
            self.state = previous
        else:
            self.train(resume_from_checkpoint=str(start) if start else None)
        self.accelerator.wait_for_everyone()
        if self.is_world_process_zero():
            self.full_model.load_state_dict(load_tensors(folder / BEST, framework="torch"))
        self.model = self.full_model.eval()
        history = self.list_evaluations(self.state)
        best = _find_best_epoch(history, self.primary)
        times = [log["train_runtime"] for log in self.state.log_history if "train_runtime" in log]
        return Outcome(
            epochs=len(history),
            best_epoch=best + 1,
            steps=self.state.global_step,
            seconds=round(times[-1]) if times else 0,
            processes=self.args.world_size,
            validation=history[best],
        )

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        with _explain_damage(resume_from_checkpoint):
            super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with _explain_damage(checkpoint):
            super()._load_optimizer_and_scheduler(checkpoint)

    def list_evaluations(self, state: TrainerState) -> list[dict[str, float]]:
        """Return the metrics of each evaluated epoch."""
        logs = [log for log in state.log_history if f"eval_{self.primary}" in log]
        names = [k for log in logs[:1] for k in log if k.startswith("eval_") and k not in _TIMINGS]
        return [{name.removeprefix("eval_"): log[name] for name in names} for log in logs]

    def is_stalled(self, state: TrainerState) -> bool:
        """Return whether the metric has not improved for `early_stopping_patience` epochs."""
        history, patience = self.list_evaluations(state), self.recipe.early_stopping_patience
        stalled = len(history) - 1 - _find_best_epoch(history, self.primary) if history else 0
        return 0 < patience <= stalled

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

    def check_weights(self) -> None:
        """Check that the training has not diverged.

        Raises:
            PqppError: A weight is NaN or infinite.
        """
        if not has_finite_weights(self.model):
            rate = self.optimizer.param_groups[0]["lr"] if self.optimizer else 0.0
            raise diverged_error("a weight is NaN or infinite", self.state.global_step, rate)

    def save_best_weights(self) -> None:
        """Write the weights as those of the best epoch; every process must call this."""
        weights = self.accelerator.get_state_dict(self.model_wrapped)
        if self.is_world_process_zero():
            _write_weights(Path(self.recipe.output_dir) / BEST, weights)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        # `save_pretrained` renames some weights, and resuming would silently not load them.
        folder = Path(output_dir or self.args.output_dir)
        _write_weights(folder / SAFE_WEIGHTS_NAME, state_dict or self.model.state_dict())

    def floating_point_ops(self, inputs: Any) -> int:
        """Return 0, since the estimate of transformers is only valid for text models."""
        return 0


class _EpochCallback(TrainerCallback):
    """A callback that sets the epoch of the data, checks the loss, and saves the best weights."""

    def __init__(self, trainer: PerformanceTrainer) -> None:
        self.trainer = trainer

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
        if state.epoch == int(state.epoch):  # the end of an epoch is saved with its evaluation
            control.should_save = False
        if control.should_save:
            self.trainer.check_weights()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        self.trainer.check_weights()
        control.should_save = True

    def on_evaluate(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        history = self.trainer.list_evaluations(state)
        if _find_best_epoch(history, self.trainer.primary) == len(history) - 1:
            self.trainer.save_best_weights()
        if self.trainer.is_stalled(state):
            control.should_training_stop = True


def _find_best_epoch(history: Sequence[dict[str, float]], primary: str) -> int:
    """Return the first epoch with the highest metric; NaN counts as the lowest."""
    values = [float("-inf") if log[primary] != log[primary] else log[primary] for log in history]
    return values.index(max(values))


def _explain_damage(checkpoint: Path | str | None) -> contextlib.AbstractContextManager[None]:
    remedy = "delete it to resume from an older checkpoint, or to start again"
    return reraise(f"{checkpoint} is damaged", remedy, PqppError)


def _write_weights(path: Path, weights: Mapping[str, torch.Tensor]) -> None:
    # Cloned, since safetensors refuses tensors that share memory (tied weights).
    copies = {name: one.detach().cpu().clone().contiguous() for name, one in weights.items()}
    write_file(path, save(copies))


def _parse_value(text: str) -> Any:
    """Convert a number, true or false; return other text unchanged."""
    try:
        return parse_json(text)
    except FileError:
        return text
