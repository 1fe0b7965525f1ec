"""Add declared options to an argparse parser as flags and positional arguments."""

import argparse
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any

from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, get_fields, split_items


def get_flag(name: str) -> str:
    """Return the flag of an option, such as `--image-dir` for `image_dir`."""
    return "--" + name.rstrip("_").replace("_", "-")


def add_options(parser: argparse.ArgumentParser, kind: type, strict: bool = False) -> None:
    """Add the options of a class, and `--config`, to a parser, under the titles of their groups.

    Args:
        strict: Whether argparse reports missing required options; false if a file can set them.
    """
    hints = typing.get_type_hints(kind)
    groups: dict[str, Any] = {}
    for field, title in _sort_fields(kind):
        hint = strip_none(hints[field.name])
        if dataclasses.is_dataclass(hint):
            continue  # only a file can set it
        group: Any = parser
        if title and field.metadata.get("word") is not True:
            group = groups.get(title) or groups.setdefault(title, parser.add_argument_group(title))
        _add_option(group, field, hint, strict)
    parser.add_argument(
        "--config", metavar="FILE", default=argparse.SUPPRESS, help="YAML file; flags override it"
    )


def _sort_fields(kind: type) -> Iterator[tuple[dataclasses.Field, str | None]]:
    """Return the options in the order of `--help`, each with its group's title or None."""
    positions: dict[str, int] = {}
    titles: dict[str, str] = {}
    for position, base in reversed([*enumerate(kind.__mro__)]):
        names = inspect.get_annotations(base)
        positions = dict.fromkeys(names, position) | positions
        titles |= dict.fromkeys(names, vars(base)["TITLE"]) if "TITLE" in vars(base) else {}

    def sort_key(field: dataclasses.Field) -> tuple[bool, int]:
        is_word, position = field.metadata.get("word") is True, positions[field.name]
        return not is_word, position if is_word or position else len(kind.__mro__)

    return ((field, titles.get(field.name)) for field in sorted(get_fields(kind), key=sort_key))


def strip_none(hint: Any) -> Any:
    """Return the first type of a union that is not None, or the type itself."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return next(option for option in options if option is not types.NoneType)


def _add_option(parser: Any, field: dataclasses.Field, hint: Any, strict: bool) -> None:
    metadata, default = field.metadata, field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    flags = [*dict.fromkeys(map(get_flag, (field.name, *metadata.get("also", ()))))]
    about: dict[str, Any] = {"dest": field.name, "action": _OptionAction, "field": field}
    about |= {"help": _format_help(metadata.get("help", ""), default), "default": argparse.SUPPRESS}
    if hint is bool:
        # Only the flag that changes the default is shown.
        opposites = [flag.replace("--", "--no-", 1) for flag in flags]
        for names, value in ((flags, True), (opposites, False)):
            text = argparse.SUPPRESS if value is default else about["help"]
            parser.add_argument(*names, **{**about, "help": text}, nargs=0, const=value)
        return
    shape = typing.get_origin(hint)
    choices = metadata.get("choices")
    metavar = "{" + ",".join(choices) + "}" if choices else field.name.upper()
    about |= {"metavar": metadata.get("metavar", metavar), "shape": shape}
    is_needed = strict and default is NEEDED
    if word := metadata.get("word"):
        positional = {name: value for name, value in about.items() if name != "dest"}
        if word == "too":
            positional["metavar"], positional["help"] = field.name.upper(), f"same as {flags[0]}"
        needed = is_needed and word is True
        nargs: Any = ("+" if needed else "*") if shape else (None if needed else "?")
        nargs = argparse.REMAINDER if metadata.get("rest") else nargs
        _add_completer(parser.add_argument(field.name, nargs=nargs, **positional), metadata)
    if word is not True:
        nargs = "+" if metadata.get("several") else None
        needed = is_needed and not word
        _add_completer(parser.add_argument(*flags, nargs=nargs, required=needed, **about), metadata)


def _format_help(text: str, default: Any) -> str:
    """Return a help text, with the default if it is informative."""
    if isinstance(default, dict):
        default = [f"{name}={value}" for name, value in default.items()]
    value = ",".join(map(str, default)) if isinstance(default, (list, tuple)) else default
    if not (isinstance(value, bool) or value in (None, "", NEEDED) or "default:" in text):
        text = f"{text} (default: {value})".strip()
    return text.replace("%", "%%")


def _add_completer(action: Any, metadata: Any) -> None:
    """Let tab completion suggest an option's known names, and files if it accepts a path."""
    if suggestions := metadata.get("known") or metadata.get("choices"):

        def complete(prefix: str, **_: Any) -> list[str]:
            from argcomplete.completers import FilesCompleter

            head = "".join(prefix.rpartition(",")[:2]) if action.shape else ""
            files = FilesCompleter()(prefix) if metadata.get("path") else ()
            names = resolve_name(suggestions) if isinstance(suggestions, str) else suggestions
            return [*(head + name for name in (names() if callable(names) else names)), *files]

        action.completer = complete


class _OptionAction(argparse.Action):
    """An action that stores a value as text; a repeated flag appends to a list, or is an error."""

    def __init__(self, option_strings, dest, field, shape=None, **options) -> None:
        super().__init__(option_strings, dest, **options)
        self.field, self.shape = field, shape

    def __call__(self, parser, namespace, values, option_string=None):
        previous = getattr(namespace, self.dest, None)
        words = values if isinstance(values, list) else [values]
        # argparse drops the value of `--flag=--`
        if option_string and self.nargs != 0 and (not words or "" in words):
            raise PqppError(f"`{self.dest}` is empty; give a value")
        if self.shape:
            parts = [part for word in words for part in split_items(word, self.field, self.shape)]
            setattr(namespace, self.dest, [*(previous or []), *parts])
            return
        value = self.const if self.nargs == 0 else words[0]
        if previous is not None:
            raise PqppError(f"`{self.dest}` is both {previous!r} and {value!r}; give it only once")
        setattr(namespace, self.dest, value)


def replace_option_names(text: str, kind: type) -> str:
    """Replace option names in backticks in a message with their flags.

    Example:
        >>> from pqpp_backbones.training.options import RunOptions
        >>> replace_option_names("`output_dir` is 'a', a file; use a folder", RunOptions)
        "--output-dir is 'a', a file; use a folder"
    """
    hints = typing.get_type_hints(kind)
    flags = [f for f in get_fields(kind) if not dataclasses.is_dataclass(strip_none(hints[f.name]))]
    fields = {f.metadata["library"]: f for f in flags if "library" in f.metadata}
    fields |= {n: f for f in flags for n in (f.name, *f.metadata.get("also", ()))}

    def to_flag(match: re.Match) -> str:
        name = match[1].replace("-", "_")
        if name not in fields:  # unchanged
            return match[1] if match[1].startswith("--") else match[0]
        metadata, name = fields[name].metadata, fields[name].name
        return metadata.get("metavar", name) if metadata.get("word") is True else get_flag(name)

    return re.sub(r"`([\w-]+)`", to_flag, text)
