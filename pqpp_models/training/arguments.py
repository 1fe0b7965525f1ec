"""Recipes: one validated dataclass a script, filled from a YAML file and from flags.

A flag wins over the file, the file over the default. Names are the same in all three.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pqpp_hub import is_repository_id
from pqpp_models.errors import PredictorError
from pqpp_models.targets import resolve_targets


class RecipeError(PredictorError):
    """A recipe names something unknown, or a value that is not allowed."""


def option(default: Any, help_text: str, choices: Sequence[str] | None = None) -> Any:
    """Declare a field of a recipe with its help, and the values that it may take."""
    metadata = {"help": help_text, "choices": choices}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(kw_only=True)
class Recipe:
    """What every training script can be told; a script's own recipe adds fields.

    Example:
        >>> Recipe(learning_rate=-1.0)
        Traceback (most recent call last):
            ...
        pqpp_models.training.arguments.RecipeError: `learning_rate` is -1.0; it must be above 0
    """

    dataset: str = option("pqpp", "name or folder of a dataset with a prompt and target columns")
    dataset_config: str | None = option(None, "its configuration, like pqpp-v1.0")
    data_dir: str | None = option(None, "folder of the benchmark's files, instead of a download")
    train_split: str = option("train", "the split to learn from")
    validation_split: str = option("validation", "the split that early stopping looks at")
    source: str | None = option(None, "use only prompts of this source, like mscoco or drawbench")
    max_train_rows: int | None = option(None, "use only the first rows of the training split")
    targets: list[str] = option([], "targets to predict at once, with commas; all if left out")
    model: str = option("google-bert/bert-base-cased", "pretrained model: name or folder")
    output_dir: str = option("runs/model", "folder for the predictor, checkpoints and logs")

    epochs: int = option(15, "passes over the data at most")
    batch_size: int = option(256, "rows a step and process")
    gradient_accumulation_steps: int = option(1, "batches that make one step")
    learning_rate: float = option(5e-5, "highest learning rate")
    head_learning_rate: float | None = option(None, "that of the new layers; the same if left out")
    weight_decay: float = option(0.01, "AdamW's weight decay; not on biases and norms")
    schedule: str = option(
        "linear", "how the rate falls", ("linear", "cosine", "constant", "rsqrt")
    )
    warmup_ratio: float = option(0.0, "part of the steps in which the rate rises")
    warmup_steps: int = option(0, "steps in which the rate rises; wins over warmup_ratio")
    max_grad_norm: float = option(1.0, "gradients longer than this are shortened")
    mixed_precision: str = option("no", "number format", ("no", "bf16", "fp16"))
    length_sorted: bool = option(True, "put prompts of like length in a batch, still shuffled")
    early_stopping_patience: int = option(3, "epochs without a better validation Kendall")
    seed: int = option(0, "of the first weights, the order and the dropout")

    checkpoint_steps: int = option(0, "steps between checkpoints; 0: at each epoch's end only")
    resume: bool = option(False, "go on from the newest checkpoint in output_dir, if there is one")
    data_workers: int = option(0, "processes that prepare batches, for each training process")
    log_steps: int = option(20, "steps between two values of the loss for the trackers")
    report_to: list[str] = option([], "trackers: tensorboard (pqpp[trackers]), trackio, wandb, ...")

    grid: bool = option(False, "search the grid of learning rates and weight decays")
    grid_learning_rates: list[float] = option([1e-5, 5e-5, 1e-4], "the grid's learning rates")
    grid_weight_decays: list[float] = option([0.0, 0.01, 0.1], "the grid's weight decays")

    push_to_hub: bool = option(False, "publish the predictor on the Hub when it is trained")
    hub_model_id: str | None = option(None, "OWNER/REPOSITORY to publish it as")
    hub_private: bool = option(False, "make that repository private")

    def __post_init__(self) -> None:
        """Check every value, so that a run does not fail after hours."""
        self.targets = list(resolve_targets(self.targets or None))
        for field in dataclasses.fields(self):
            choices = field.metadata.get("choices")
            value = getattr(self, field.name)
            if choices and value not in choices:
                raise RecipeError(
                    f"`{field.name}` is {value!r}; choose among {', '.join(map(str, choices))}"
                )
        for name in ("epochs", "batch_size", "gradient_accumulation_steps", "learning_rate"):
            self._require(name, getattr(self, name) > 0, "above 0")
        for name in ("head_learning_rate", "max_train_rows"):
            value = getattr(self, name)
            self._require(name, value is None or value > 0, "above 0")
        for name in (
            *("weight_decay", "checkpoint_steps", "early_stopping_patience", "seed"),
            *("warmup_steps", "data_workers"),
        ):
            self._require(name, getattr(self, name) >= 0, "0 or more")
        self._require("max_grad_norm", self.max_grad_norm > 0, "above 0")
        self._require("log_steps", self.log_steps > 0, "above 0")
        self._require("warmup_ratio", 0 <= self.warmup_ratio < 1, "from 0 up to, not including, 1")
        self._require("model", bool(self.model), "a name or a folder")
        if self.push_to_hub and not self.hub_model_id:
            raise RecipeError("`push_to_hub` needs `hub_model_id`; write OWNER/REPOSITORY")
        if self.hub_model_id is not None and not is_repository_id(self.hub_model_id):
            raise RecipeError(f"`hub_model_id` is {self.hub_model_id!r}; write OWNER/REPOSITORY")

    def _require(self, name: str, holds: bool, allowed: str) -> None:
        if not holds:
            raise RecipeError(f"`{name}` is {getattr(self, name)!r}; it must be {allowed}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return dataclasses.asdict(self)

    def deciding(self) -> dict[str, Any]:
        """Return the fields that decide the weights: a resumed run must agree in these."""
        silent = {"output_dir", "resume", "log_steps", "report_to", "checkpoint_steps", "data_dir"}
        silent |= {"data_workers"}
        fields = self.to_dict().items()
        beside = ("grid", "hub_", "push_")
        return {k: v for k, v in fields if k not in silent and not k.startswith(beside)}


AnyRecipe = TypeVar("AnyRecipe", bound=Recipe)


def parse_recipe(
    kind: type[AnyRecipe], description: str, examples: str, arguments: Sequence[str] | None = None
) -> AnyRecipe:
    """Read a recipe from `--config FILE.yaml` and flags.

    Args:
        kind: The script's recipe class.
        description: One line for `--help`.
        examples: Command lines for `--help`.
        arguments: The flags; those of the process if left out.

    Raises:
        RecipeError: The file is unreadable, or a name or a value is not allowed.

    Example:
        >>> parse_recipe(Recipe, "", "", ["--targets", "mean_rr"]).targets
        ['mean_rr']
    """
    parser = argparse.ArgumentParser(
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("--config", metavar="FILE", help="YAML recipe; flags win over it")
    shown = _defaults(kind)
    for field in dataclasses.fields(kind):
        _add_flag(parser, field, shown[field.name])
    flags = vars(parser.parse_args(arguments))
    path = flags.pop("config", None)
    given = {**(read_yaml(path) if path else {}), **flags}
    return build_recipe(kind, given)


def build_recipe(kind: type[AnyRecipe], given: Mapping[str, Any]) -> AnyRecipe:
    """Build a recipe from names and values, converted to the fields' types.

    Raises:
        RecipeError: A name is unknown, or a value has the wrong type.
    """
    hints = typing.get_type_hints(kind)
    for name in given:
        if name not in hints:
            close = difflib.get_close_matches(str(name), hints, n=1)
            hint = f"did you mean `{close[0]}`?" if close else "see --help"
            raise RecipeError(f"a recipe has no `{name}`; {hint}")
    return kind(**{name: _convert(name, value, hints[name]) for name, value in given.items()})


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a recipe's file: a mapping of names to values."""
    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path} cannot be read ({error.strerror}); check the path") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path} is no YAML ({type(error).__name__}); check its form") from None
    if not isinstance(content, dict):
        raise RecipeError(f"{path} holds no `name: value` lines; see training/recipes")
    return content


def require_names(recipe: Mapping[str, Any], names: Sequence[str], path: str | Path) -> None:
    """Check that a recipe's file has every name that a script needs.

    Args:
        recipe: What `read_yaml` returned.
        names: The names.
        path: The file, for the message.

    Raises:
        RecipeError: One is missing.

    Example:
        >>> require_names({"model": "x"}, ["model", "seed"], "my.yaml")
        Traceback (most recent call last):
            ...
        pqpp_models.training.arguments.RecipeError: my.yaml has no `seed`; see training/recipes
    """
    lacking = [name for name in names if name not in recipe]
    if lacking:
        raise RecipeError(f"{path} has no `{lacking[0]}`; see training/recipes")


def _defaults(kind: type[Recipe]) -> dict[str, Any]:
    def default_of(field: dataclasses.Field) -> Any:
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
        return field.default

    return {field.name: default_of(field) for field in dataclasses.fields(kind)}


def _add_flag(parser: argparse.ArgumentParser, field: dataclasses.Field, default: Any) -> None:
    shown = ",".join(map(str, default)) if isinstance(default, list) else default
    text = field.metadata.get("help", "").replace("%", "%%")
    if shown not in (None, "", False):
        text += f" (default: {shown})"
    flag = f"--{field.name}"
    if isinstance(default, bool):
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=text)
        return
    choices = field.metadata.get("choices")
    metavar = "{" + ",".join(choices) + "}" if choices else field.name.upper()
    parser.add_argument(flag, metavar=metavar, help=text)


def _convert(name: str, value: Any, hint: Any) -> Any:
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if types.NoneType in options and value in (None, "none"):
        return None
    (wanted,) = (one for one in options if one is not types.NoneType)
    try:
        if typing.get_origin(wanted) is list:
            (item,) = typing.get_args(wanted)
            parts = (
                [part for part in value.split(",") if part.strip()] if _is_text(value) else value
            )
            if not isinstance(parts, (list, tuple)):
                parts = [parts]
            return [_one(part.strip() if _is_text(part) else part, item) for part in parts]
        return _one(value, wanted)
    except (TypeError, ValueError):
        kind = getattr(wanted, "__name__", str(wanted))
        raise RecipeError(f"`{name}` is {value!r}; it must be a {kind}") from None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _one(value: Any, wanted: type) -> Any:
    if wanted is bool or isinstance(value, bool):
        if wanted is bool and isinstance(value, bool):
            return value
        raise TypeError
    if wanted is int and isinstance(value, float):
        if value != int(value):
            raise ValueError
        return int(value)
    if wanted is str and not _is_text(value):
        raise TypeError
    return wanted(value)  # YAML 1.1 reads 5e-5 as text
