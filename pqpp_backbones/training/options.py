"""Options that training scripts share."""

import os
from dataclasses import dataclass

from pqpp_files.errors import PqppError
from pqpp_files.names import is_repository_id
from pqpp_files.options.option import Options, check_path, option, quote


@dataclass(kw_only=True)
class RunOptions(Options):
    """Results.

    Attributes:
        output_dir: Folder of the model and logs.
    """

    output_dir: str = option("runs/model", decides=False, path="output", also=("output",))
    overwrite: bool = option(False, "overwrite the finished model in output_dir", decides=False)
    seed: int = option(0, "random seed", ge=0)


@dataclass(kw_only=True)
class DataOptions(Options):
    """Data.

    Attributes:
        data_dir: Folder of the published files (default: download them).
        max_train_rows: Use only this many rows of the training split.
    """

    dataset: str = option("pqpp", "dataset: a folder, OWNER/NAME or a listed name", path="name")
    subset: str | None = option(None, "configuration, such as pqpp-v1.0")
    data_dir: str | None = option(None, decides=False)
    train_split: str = option("train", "split to train on")
    validation_split: str = option("validation", "split for early stopping")
    max_train_rows: int | None = option(None, gt=0)

    def __post_init__(self) -> None:
        """Replace the name of a PQPP benchmark by `pqpp` and its configuration."""
        super().__post_init__()
        from pqpp_datasets.benchmarks import BENCHMARKS

        if self.dataset != "pqpp" and self.dataset in BENCHMARKS:
            if self.subset not in (None, self.dataset):
                raise PqppError(
                    f"`dataset` is {self.dataset!r}, but `subset` is {self.subset!r}; remove one"
                )
            self.dataset, self.subset = "pqpp", self.dataset
        if self.data_dir is not None:
            self.data_dir = os.path.expanduser(self.data_dir)  # noqa: PTH111
            if self.dataset == "pqpp":  # other datasets read `subset` directly
                check_path("data_dir", "folder", self.data_dir)


@dataclass(kw_only=True)
class OptimisationOptions(RunOptions):
    """Training; the names are those of transformers' TrainingArguments.

    Attributes:
        model: Pretrained model: name or folder.
        lr_scheduler_type: Schedule of the learning rate: linear, cosine, constant_with_warmup,
            inverse_sqrt and others.
        warmup_steps: Warm-up steps; below 1, a share of all steps.
        metric_for_best_model: Metric on validation that chooses the saved weights.
        early_stopping_patience: Evaluations without improvement on validation before stopping; 0
            to never stop.
        save_strategy: When to evaluate and to write checkpoints.
        save_steps: Steps between evaluations and checkpoints, with --save-strategy steps.
        resume_from_checkpoint: Checkpoint to resume from, or `last` for the newest in output_dir.
        dataloader_num_workers: Processes that load batches, per training process.
        report_to: Trackers: tensorboard, trackio, wandb (pqpp[trackers]) and others.
        training_arguments: Any other field of transformers' TrainingArguments, such as
            optim=adafactor.
    """

    model: str = option("google-bert/bert-base-cased", path="name")
    num_train_epochs: int = option(15, "maximum number of passes over the data", gt=0)
    per_device_train_batch_size: int = option(256, "rows per step and process", gt=0)
    gradient_accumulation_steps: int = option(1, "batches per step", gt=0)
    learning_rate: float = option(5e-5, "highest learning rate", gt=0)
    weight_decay: float = option(0.01, "AdamW's weight decay, except on biases and norms", ge=0)
    lr_scheduler_type: str = "linear"
    warmup_steps: float = option(0.0, ge=0)
    max_grad_norm: float = option(1.0, "clip gradients to this norm", gt=0)
    bf16: bool = option(False, "compute in bfloat16")
    fp16: bool = option(False, "compute in float16, on a GPU")
    metric_for_best_model: str = "kendall"
    early_stopping_patience: int = option(3, ge=0)
    save_strategy: str = option("epoch", choices=("epoch", "steps"))
    save_steps: int = option(500, gt=0)
    resume_from_checkpoint: str | None = option(None, decides=False)
    dataloader_num_workers: int = option(0, ge=0, decides=False)
    logging_steps: int = option(20, "steps between logged losses", gt=0, decides=False)
    report_to: list[str] = option([], decides=False)
    training_arguments: dict[str, str] = option({})


@dataclass(kw_only=True)
class HubOptions(Options):
    """Publication of the model on the Hub."""

    push_to_hub: bool = option(False, "publish the model on the Hub", decides=False)
    hub_model_id: str | None = option(None, "OWNER/REPOSITORY to publish it as", decides=False)
    hub_private_repo: bool = option(False, "make the repository private", decides=False)

    def __post_init__(self) -> None:
        """Check that the repository has a valid name."""
        super().__post_init__()
        name = self.hub_model_id
        if self.push_to_hub and not name:
            raise PqppError("`push_to_hub` needs `hub_model_id`; set it to OWNER/REPOSITORY")
        if name is not None and not is_repository_id(name):
            raise PqppError(f"`hub_model_id` must be OWNER/REPOSITORY; got {quote(name)}")


def diverged_error(reason: str, step: int, rate: float, option: str = "learning_rate") -> PqppError:
    """Return the error for diverged training.

    Example:
        >>> str(diverged_error("the loss is nan", 3, 0.5)).partition(";")[0]
        'training diverged: the loss is nan at step 3 (learning rate 0.5)'
    """
    fault = f"training diverged: {reason} at step {step} (learning rate {rate:g})"
    return PqppError(f"{fault}; lower `{option}`, and choose another `output_dir`")
