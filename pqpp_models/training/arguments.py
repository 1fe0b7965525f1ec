"""Recipes from YAML files and flags: a flag wins over the file, the file over the default.

Names are the same in all three; a flag may be written with hyphens or underscores.
"""

from __future__ import annotations

import argparse
import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pqpp_files.names import comma_separated, did_you_mean
from pqpp_files.read_yaml import read_yaml
from pqpp_models.training.options import Options, RecipeError, shown

AnyRecipe = TypeVar("AnyRecipe", bound=Options)
_HELP = ("; see training/recipes", "; `subset` names the data")
_OTHER_NAMES = {"output": "output_dir", "benchmark": "dataset"}
_RETIRED = {
    **{"dataset_config": "subset", "recipe": "config", "out": "output"},
    # Of older recipe files.
    **{"config": "subset", "drawbench_dir": "sources_dir", "gimbrr_dir": "sources_dir"},
}


def parse_recipe(
    kind: type[AnyRecipe], description: str, examples: str, arguments: Sequence[str] | None = None
) -> AnyRecipe:
    """Read a recipe from `--config FILE.yaml` and flags.

    Args:
        description: One line for `--help`.
        examples: Command lines for `--help`.
        arguments: The flags; those of the process if left out.

    Raises:
        RecipeError: The file is unreadable, or a name or a value is not allowed.

    Example:
        >>> from pqpp_models.training.options import TargetOptions
        >>> parse_recipe(TargetOptions, "", "", ["--targets", "mean_rr"]).targets
        ['mean_rr']
    """
    parser = argparse.ArgumentParser(
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="YAML recipe; flags win over it")
    for field in dataclasses.fields(kind):
        if not _settings_of(kind, field.name):
            _add_flag(parser, field)
    known, unknown = parser.parse_known_args(arguments)
    for word in unknown:
        _name_of(kind, word.lstrip("-").partition("=")[0], word)
    flags = vars(known)
    path = flags.pop("config", None)
    written = read_yaml(path, "a recipe", *_HELP, error=RecipeError) if path else {}
    given = {_name_of(kind, key): value for key, value in written.items()}
    return build_recipe(kind, {**given, **flags})


def build_recipe(kind: type[AnyRecipe], given: Mapping[str, Any]) -> AnyRecipe:
    """Build a recipe from names and values, converted to the fields' types.

    A field that is a dataclass itself takes a mapping.

    Raises:
        RecipeError: A name is unknown, or a value has the wrong type or is not allowed.
    """
    return _build(kind, given, "")


def _build(kind: type, given: Mapping[str, Any], prefix: str) -> Any:
    hints, values = typing.get_type_hints(kind), {}
    for key, value in given.items():
        name = _name_of(kind, key)
        values[name] = _convert(f"{prefix}{name}", value, hints[name])
    try:
        return kind(**values)
    except TypeError as error:  # a field of a nested dataclass without a default
        raise RecipeError(f"`{prefix.rstrip('.')}` is incomplete ({error})") from None


def _name_of(kind: type, key: Any, word: str | None = None) -> str:
    """Return the field that a key or flag means."""
    names = [field.name for field in dataclasses.fields(kind)]
    name = str(key).replace("-", "_")
    name = name if name in names else _OTHER_NAMES.get(name, name)
    if name in names:
        return name
    said = shown(word or name).strip("'")
    retired = _RETIRED | getattr(kind, "RETIRED", {})
    if name in retired:
        dashes = "--" if said.startswith("--") else ""
        raise RecipeError(f"`{said}` is now `{dashes}{retired[name]}`")
    hint = did_you_mean(name, names, "see --help")
    raise RecipeError(f"a recipe has no `{said}`; {hint}")


def _settings_of(kind: type, name: str) -> bool:
    """Tell whether an option is a group of its own, which only a file can give."""
    hint = typing.get_type_hints(kind)[name]
    return any(dataclasses.is_dataclass(one) for one in (hint, *typing.get_args(hint)))


def _add_flag(parser: argparse.ArgumentParser, field: dataclasses.Field) -> None:
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    written = ",".join(map(str, default)) if isinstance(default, list) else default
    text = field.metadata["help"].replace("%", "%%")
    if written not in (None, "", False):
        text += f" (default: {written})"
    other = [name for name, meant in _OTHER_NAMES.items() if meant == field.name]
    flags = [f"--{name}" for name in (field.name, field.name.replace("_", "-"), *other)]
    flags = list(dict.fromkeys(flags))
    if isinstance(default, bool):
        action = argparse.BooleanOptionalAction
        parser.add_argument(*flags, dest=field.name, action=action, help=text)
        return
    choices = field.metadata.get("choices")
    metavar = "{" + ",".join(choices) + "}" if choices else field.name.upper()
    parser.add_argument(*flags, dest=field.name, metavar=metavar, help=text)


def _convert(name: str, value: Any, hint: Any) -> Any:
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if types.NoneType in options and value in (None, "none"):
        return None
    (wanted,) = (one for one in options if one is not types.NoneType)
    try:
        if isinstance(wanted, type) and dataclasses.is_dataclass(wanted):
            return _build(wanted, dict(value), f"{name}.")
        container, items = typing.get_origin(wanted), typing.get_args(wanted)
        if container is dict:
            return {str(key): _one(one, items[1]) for key, one in dict(value).items()}
        if container in (list, tuple):
            return container(_one(part, items[0]) for part in _parts(value))
        return _one(value, wanted)
    except RecipeError:
        raise
    except (TypeError, ValueError, OverflowError):
        settings = dataclasses.is_dataclass(wanted)
        word = "group of settings" if settings else getattr(wanted, "__name__", str(wanted))
        article = "an" if word[0] in "aeiou" else "a"
        raise RecipeError(f"`{name}` is {shown(value)}; it must be {article} {word}") from None


def _parts(value: Any) -> Sequence[Any]:
    if isinstance(value, str):
        return comma_separated(value)
    return value if isinstance(value, (list, tuple)) else [value]


def _one(value: Any, wanted: type) -> Any:
    if wanted is bool or isinstance(value, bool):
        if wanted is bool and isinstance(value, bool):
            return value
        raise TypeError
    if wanted is int and isinstance(value, float):
        if value != int(value):
            raise ValueError
        return int(value)
    if wanted is str and not isinstance(value, str):
        raise TypeError
    return wanted(value)  # YAML 1.1 reads 5e-5 as text
