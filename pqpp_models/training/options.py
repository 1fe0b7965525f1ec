"""The options of training scripts, in small dataclasses that a script's recipe composes."""

from __future__ import annotations

import copy
import dataclasses
import os
import reprlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pqpp_datasets.target_columns import targets_of
from pqpp_files.check_output import check_output_folder
from pqpp_files.errors import FileError
from pqpp_files.open_input import names_input
from pqpp_hub import is_repository_id
from pqpp_models.errors import PredictorError
from pqpp_models.targets import resolve_targets, sort_targets

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_LARGEST = 2**63 - 1  # what torch takes as a seed


class RecipeError(PredictorError):
    """A recipe names something unknown, or a value that is not allowed."""


def option(
    default: Any,
    help_text: str | None = None,
    choices: Sequence[str] | None = None,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    decides: bool | None = None,
    required: bool | None = None,
    path: str | None = None,
) -> Any:
    """Declare an option: its default, its line of `--help`, and what it may be.

    A subclass that declares it again inherits what it leaves out.

    Args:
        default: What is mutable is copied; None stands for "left out" and is always allowed.
        help_text: For `--help`.
        choices: The texts that it may be.
        above: A number, or each of a list, must be above this.
        least: It must be this or more.
        below: It must be less.
        decides: Whether the weights depend on it, as they do if nothing is said: then a resumed
            run must agree in it, and the card tells it.
        required: Whether a script cannot do without it.
        path: What it names: a `file` or a `folder` to read, a folder of the user's or a `name`
            elsewhere, or a folder for `output`. It is looked at when the recipe is made, before
            anything takes long; `~` is the user's own folder.
    """
    metadata = {
        "help": help_text,
        "choices": choices,
        "above": above,
        "least": least,
        "below": below,
        "decides": decides,
        "required": required,
        "path": path,
    }
    metadata = {name: value for name, value in metadata.items() if value is not None}
    if isinstance(default, (list, dict)) or dataclasses.is_dataclass(default):
        return dataclasses.field(default_factory=lambda: copy.deepcopy(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def shown(value: Any) -> str:
    """Return a value as an error message names it, however long it is.

    Example:
        >>> shown(2.0), len(shown("x" * 1000)) < 100
        ('2.0', True)
    """
    try:
        return _SHORT.repr(value)
    except ValueError:  # a whole number of thousands of digits
        return "a number of too many digits"


@dataclass(kw_only=True)
class Options:
    """Some options; every value is checked at once, so that a run does not fail after hours.

    Example:
        >>> OptimisationOptions(model="m", output_dir="o", learning_rate=-1.0)
        Traceback (most recent call last):
            ...
        pqpp_models.training.options.RecipeError: `learning_rate` is -1.0; it must be above 0
    """

    def __init_subclass__(cls) -> None:
        """Let options that are declared again inherit the rest of their declaration."""
        super().__init_subclass__()
        for name in cls.__annotations__:
            for base in cls.__mro__[1:]:
                above = getattr(base, "__dataclass_fields__", {}).get(name)
                if above is not None:
                    field = cls.__dict__[name]
                    field.metadata = MappingProxyType({**above.metadata, **field.metadata})
                    break

    def __post_init__(self) -> None:
        """Check each value by its declaration; what depends on others is checked by subclasses."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.metadata.get("required") and value is None:
                raise RecipeError(f"`{field.name}` is missing: {field.metadata['help']}")
            for one in value if isinstance(value, list) else [value]:
                _check(field, one)
        for field in dataclasses.fields(self):
            kind, value = field.metadata.get("path"), getattr(self, field.name)
            if kind and value is not None:
                value = os.path.expanduser(value)  # noqa: PTH111 -- a Path would lose `./`
                setattr(self, field.name, value)
                _check_path(field.name, kind, value)

    def to_dict(self) -> dict[str, Any]:
        """Return all options as plain values."""
        return dataclasses.asdict(self)

    def deciding(self) -> dict[str, Any]:
        """Return the options that decide the weights."""
        deciding = {f.name for f in dataclasses.fields(self) if f.metadata.get("decides", True)}
        return {name: value for name, value in self.to_dict().items() if name in deciding}


def _check(field: dataclasses.Field, value: Any) -> None:
    choices = field.metadata.get("choices")
    above, least, below = (field.metadata.get(name) for name in ("above", "least", "below"))
    if choices and value not in choices:
        raise RecipeError(f"`{field.name}` is {shown(value)}; choose among {', '.join(choices)}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return
    largest = _LARGEST if isinstance(value, int) else sys.float_info.max
    if not abs(value) <= largest:  # nor is NaN
        raise RecipeError(f"`{field.name}` is {shown(value)}; it must be a finite number")
    allowed = {
        f"above {above}": above is None or value > above,
        f"{least} or more": least is None or value >= least,
        f"below {below}": below is None or value < below,
    }
    if not all(allowed.values()):
        words = " and ".join(text for text in allowed if "None" not in text)
        raise RecipeError(f"`{field.name}` is {shown(value)}; it must be {words}")


def _check_path(name: str, kind: str, value: str) -> None:
    """Refuse what could not be read, or written to, after hours."""
    said = f"`{name}` is {shown(value)}"
    if kind == "output":
        try:
            return check_output_folder(value)
        except (FileError, ValueError) as error:
            raise RecipeError(f"{said}; {error}") from None
    is_there, is_folder = os.path.exists(value), os.path.isdir(value)  # noqa: PTH110, PTH112
    if kind == "name" and not is_there and ("/" not in value or is_repository_id(value)):
        return
    if kind == "file" and names_input(value) and not is_there:
        return  # standard input
    wanted = "file" if kind == "file" else "folder"
    if not is_there:
        raise RecipeError(f"{said}; there is no such {wanted}, check the path")
    if is_folder == (wanted == "file"):
        found = "folder" if is_folder else "file"
        raise RecipeError(f"{said}, a {found}; name a {wanted}")
    if not os.access(value, os.R_OK | os.X_OK if is_folder else os.R_OK):
        raise RecipeError(f"{said}; you may not read this {wanted}, check its permissions")


@dataclass(kw_only=True)
class RunOptions(Options):
    """Results."""

    output_dir: str = option(
        "runs/model", "folder for what is trained, with logs", decides=False, path="output"
    )
    overwrite: bool = option(False, "replace the finished model in output_dir", decides=False)
    seed: int = option(0, "of everything random", least=0)


@dataclass(kw_only=True)
class DataOptions(Options):
    """Data."""

    dataset: str = option("pqpp", "dataset: a folder, OWNER/NAME or a listed name", path="name")
    subset: str | None = option(None, "its configuration, like pqpp-v1.0")
    data_dir: str | None = option(
        None, "folder of the benchmark's files, instead of a download", decides=False
    )
    train_split: str = option("train", "the split to learn from")
    validation_split: str = option("validation", "the split that early stopping looks at")
    max_train_rows: int | None = option(
        None, "use only the first rows of the training split", above=0
    )

    def __post_init__(self) -> None:
        """Write a listed name as what `load_dataset` takes: pqpp and its configuration."""
        super().__post_init__()
        from pqpp_datasets.benchmarks import BENCHMARKS

        if self.dataset != "pqpp" and self.dataset in BENCHMARKS:
            if self.subset not in (None, self.dataset):
                raise RecipeError(
                    f"`dataset` is {self.dataset!r} and `subset` {self.subset!r}; name one of them"
                )
            self.dataset, self.subset = "pqpp", self.dataset
        if self.data_dir is not None:
            self.data_dir = os.path.expanduser(self.data_dir)  # noqa: PTH111
            if self.dataset == "pqpp":  # of others it is a part, and they are read at once
                _check_path("data_dir", "folder", self.data_dir)


@dataclass(kw_only=True)
class TargetOptions(Options):
    """What is predicted."""

    source: str | None = option(None, "use only prompts of this source, like mscoco or drawbench")
    targets: list[str] = option(
        [], "targets to predict at once, with commas; all that the data tells of if left out"
    )

    def __post_init__(self) -> None:
        """Put all targets of a listed benchmark in where none are named; others tell when read."""
        super().__post_init__()
        if self.targets:
            self.targets = list(resolve_targets(self.targets))
            return
        from pqpp_datasets.benchmarks import BENCHMARKS

        dataset = getattr(self, "dataset", "pqpp")
        listed = BENCHMARKS.get(getattr(self, "subset", None) or dataset)
        if listed is not None and (dataset == "pqpp" or dataset in BENCHMARKS):
            self.targets = list(sort_targets(targets_of(listed.features({}))))


@dataclass(kw_only=True)
class OptimisationOptions(RunOptions):
    """Training."""

    model: str = option(
        "google-bert/bert-base-cased", "pretrained model: name or folder", path="name"
    )
    epochs: int = option(15, "passes over the data at most", above=0)
    batch_size: int = option(256, "rows a step and process", above=0)
    gradient_accumulation_steps: int = option(1, "batches that make one step", above=0)
    learning_rate: float = option(5e-5, "highest learning rate", above=0)
    weight_decay: float = option(0.01, "AdamW's weight decay; not on biases and norms", least=0)
    schedule: str = option(
        "linear", "how the rate falls", ("linear", "cosine", "constant", "rsqrt")
    )
    warmup_ratio: float = option(0.0, "part of the steps in which the rate rises", least=0, below=1)
    warmup_steps: int = option(0, "steps in which the rate rises; wins over warmup_ratio", least=0)
    max_grad_norm: float = option(1.0, "gradients longer than this are shortened", above=0)
    mixed_precision: str = option("no", "number format", ("no", "bf16", "fp16"))
    early_stopping_patience: int = option(
        3, "epochs without a better validation; 0: never stop", least=0
    )
    checkpoint_steps: int = option(
        0, "steps between checkpoints; 0: at each epoch's end only", least=0, decides=False
    )
    resume: bool = option(
        False, "go on from the newest checkpoint in output_dir, if there is one", decides=False
    )
    data_workers: int = option(
        0, "processes that prepare batches, for each training process", least=0, decides=False
    )
    log_steps: int = option(
        20, "steps between two values of the loss for the trackers", above=0, decides=False
    )
    report_to: list[str] = option(
        [], "trackers: tensorboard (pqpp[trackers]), trackio, wandb, ...", decides=False
    )

    def __post_init__(self) -> None:
        """Check that there is a model."""
        super().__post_init__()
        if not self.model:
            raise RecipeError("`model` is ''; it must be a name or a folder")


@dataclass(kw_only=True)
class GridOptions(Options):
    """Grid search."""

    grid: bool = option(False, "search the grid of learning rates and weight decays", decides=False)
    grid_learning_rates: list[float] = option(
        [1e-5, 5e-5, 1e-4], "the grid's learning rates", above=0, decides=False
    )
    grid_weight_decays: list[float] = option(
        [0.0, 0.01, 0.1], "the grid's weight decays", least=0, decides=False
    )


@dataclass(kw_only=True)
class HubOptions(Options):
    """The Hub."""

    push_to_hub: bool = option(False, "publish on the Hub what was trained", decides=False)
    hub_model_id: str | None = option(None, "OWNER/REPOSITORY to publish it as", decides=False)
    hub_private: bool = option(False, "make that repository private", decides=False)

    def __post_init__(self) -> None:
        """Check that the repository has a name that the Hub can take."""
        super().__post_init__()
        name = self.hub_model_id
        if self.push_to_hub and not name:
            raise RecipeError("`push_to_hub` needs `hub_model_id`; write OWNER/REPOSITORY")
        if name is not None and not is_repository_id(name):
            raise RecipeError(f"`hub_model_id` is {shown(name)}; write OWNER/REPOSITORY")


@dataclass(kw_only=True)
class PredictorRecipe(DataOptions, TargetOptions, OptimisationOptions, GridOptions, HubOptions):
    """What the trainers of predictors have in common; each adds fields of its own."""

    head_learning_rate: float | None = option(
        None, "learning rate of the new layers; the same if left out", above=0
    )
