"""Create options from a YAML file and flags; a flag overrides the file."""

import argparse
import dataclasses
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, TypeVar

from pqpp_files.errors import PqppError
from pqpp_files.names import hyphenate_flags
from pqpp_files.options.flags import add_options, strip_none
from pqpp_files.options.option import Options, find_option, get_fields, quote, split_items
from pqpp_files.paths import check_output

AnyRecipe = TypeVar("AnyRecipe", bound=Options)
_TYPES = {int: "a whole number", float: "a number", str: "a quoted string", bool: "true or false"}


def parse_recipe(
    kind: type[AnyRecipe],
    description: str,
    examples: str,
    arguments: Sequence[str],
    prog: str | None = None,
) -> AnyRecipe:
    """Return the options in command-line arguments, which can include `--config FILE.yaml`.

    Args:
        kind: The class of the options.
        description: The description in `--help`.
        examples: The command lines in `--help`.
        prog: The command in `--help`; default: the script's name.

    Raises:
        PqppError: The file is unreadable, or a name or a value is not allowed.

    Example:
        >>> from pqpp_models.training.recipe import TargetOptions
        >>> parse_recipe(TargetOptions, "", "", ["--targets", "mean_rr"]).targets
        ['mean_rr']
    """
    settings: Any = {"description": description, "epilog": f"examples:\n{examples}"}
    settings["formatter_class"] = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog, **settings, allow_abbrev=False)
    parser.color = False  # type: ignore[attr-defined]  # the epilog would contain raw codes
    add_options(parser, kind)
    flags, unknown = parser.parse_known_args(hyphenate_flags(arguments))
    for word in unknown:
        find_option(kind, word.lstrip("-").partition("=")[0], word)
    return read_recipe(kind, vars(flags))


def read_recipe(kind: type[AnyRecipe], flags: dict[str, Any]) -> AnyRecipe:
    """Return the options in flags, with the values in the YAML file `config` as defaults.

    `config` is a path, or the name of a file in the folder `recipes` next to the class. No output
    may replace it.
    """
    from pqpp_files.foreign.yaml_values import read_yaml

    flags = dict(flags)
    path = flags.pop("config", None)
    module = getattr(sys.modules.get(kind.__module__), "__file__", None)
    recipes = {p.stem: p for p in Path(module).parent.glob("recipes/*.yaml")} if module else {}
    hint = f"; included recipes: {', '.join(sorted(recipes))}" if recipes else ""
    hint += "; `subset` names the data"
    settings = read_yaml(recipes.get(path, path), hint, PqppError) if path else {}
    recipe = build_recipe(kind, {find_option(kind, key): settings[key] for key in settings} | flags)
    for field in get_fields(kind) if path else ():
        if field.metadata.get("path") == "output file" and getattr(recipe, field.name):
            check_output(getattr(recipe, field.name), [path])
    return recipe


def build_recipe(kind: type[AnyRecipe], given: Mapping[str, Any], prefix: str = "") -> AnyRecipe:
    """Return options from names and values, which are converted to the types of the fields.

    A mapping sets the fields of a nested dataclass.

    Args:
        prefix: The text before the names in errors.

    Raises:
        PqppError: A name is unknown or missing, or a value has the wrong type or is not allowed.
    """
    hints, values = typing.get_type_hints(kind), {}
    fields = {field.name: field for field in get_fields(kind)}
    for key, value in given.items():
        name = find_option(kind, key)
        values[name] = _convert_value(f"{prefix}{name}", value, hints[name], fields[name])
    for name, field in fields.items():
        if name not in values and field.default is field.default_factory:  # neither is set
            raise PqppError(f"`{prefix}{name}` is missing; add this setting")
    return kind(**values)


def _convert_value(name: str, value: Any, hint: Any, field: dataclasses.Field) -> Any:
    is_word = field.metadata.get("path") or "none" in field.metadata.get("choices", ())
    is_none = value is None or (value == "none" and not is_word)
    if is_none and types.NoneType in typing.get_args(hint):
        return None
    target_type = strip_none(hint)
    container, items = typing.get_origin(target_type), typing.get_args(target_type)
    is_group = dataclasses.is_dataclass(target_type)
    try:
        if is_group:
            return build_recipe(target_type, dict(value), f"{name}.")
        if isinstance(value, str) and container in (dict, list, tuple):
            value = split_items(value, field, container)
        if container is dict:
            return {key: _cast(item, items[1]) for key, item in _parse_pairs(name, value, field)}
        if container in (list, tuple):
            value = value if isinstance(value, (list, tuple)) else [value]
            return container(_cast(item, items[0]) for item in value)
        return _cast(value, target_type)
    except PqppError:
        raise
    except (TypeError, ValueError, OverflowError):
        expected = "a group of settings" if is_group else _TYPES.get(target_type, "a mapping")
        expected = f"a list of {_TYPES[items[0]][2:]}s" if container in (list, tuple) else expected
        raise PqppError(f"`{name}` is {quote(value)}; it must be {expected}") from None


def _parse_pairs(name: str, value: Any, field: dataclasses.Field) -> list[tuple[str, Any]]:
    """Return the pairs of a mapping, or of texts like `prompt=caption`."""
    # If the name is optional, as in `[NAME=]FILE`, it defaults to the file's name without suffixes.
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    pairs: dict[str, str] = {}
    form = field.metadata.get("metavar", "NAME=VALUE")
    for text in value:
        key, sign, item = _cast(text, str).partition("=")
        if not sign and form.startswith("["):
            key, item = PurePath(text).name.partition(".")[0], text
        if not (key and item):
            raise PqppError(f"`{name}` is {quote(text)}; write {form}")
        if pairs.setdefault(key, item) != item:
            raise PqppError(f"`{name}` gives {quote(key)} two values; remove one")
    return list(pairs.items())


def _cast(value: Any, target_type: type) -> Any:
    if target_type in (bool, str) or isinstance(value, bool):
        if type(value) is not target_type:
            raise TypeError
        return value
    if target_type is int and isinstance(value, float) and value != int(value):
        raise ValueError
    return target_type(value)  # YAML 1.1 reads 5e-5 as text
