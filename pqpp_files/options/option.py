"""Dataclasses of options that are checked when they are created."""

import copy
import dataclasses
import inspect
import os
import re
import reprlib
import sys
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from pqpp_files.errors import FileError, PqppError
from pqpp_files.names import did_you_mean, is_repository_id, is_url, split_names
from pqpp_files.paths import check_output_folder, expand

_SHORT_REPR = reprlib.Repr()
_SHORT_REPR.maxstring = _SHORT_REPR.maxother = 80
NEEDED: Any = type("NEEDED", (), {"__repr__": lambda self: "NEEDED"})()
"""The default of a required option."""


PARAMETER = re.compile(r"^    (\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)
"""A parameter or an attribute, and its text, in a docstring that `inspect.cleandoc` gives."""

_SURROGATES = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which stand for bytes of the command line that are not UTF-8."""

_FORMS: dict[str, Callable] = {f"OWNER/{n}": is_repository_id for n in ("NAME", "DATASET")}
_FORMS |= {"OWNER/REPOSITORY": is_repository_id, "https://HOST[/PATH]": is_url}
"""The checks of texts whose `metavar` is their form."""


def option(
    default: Any,
    help_text: str | None = None,
    choices: Sequence[str] | None = None,
    *,
    gt: float | None = None,
    ge: float | None = None,
    lt: float | None = None,
    decides: bool | None = None,
    path: str | None = None,
    endings: Sequence[str] | None = None,
    holds: Sequence[str] | None = None,
    metavar: str | None = None,
    also: Sequence[str] | None = None,
    word: bool | str | None = None,
    commas: bool | str | None = None,
    several: bool | None = None,
    rest: bool | None = None,
    known: str | Callable[[], Sequence[str]] | Sequence[str] | None = None,
    goes_with: str | None = None,
    library: str | None = None,
) -> Any:
    """Return a dataclass field for an option.

    A subclass that declares the option again inherits the settings that it omits.

    Args:
        default: The default value, which is copied if it is mutable. None is always allowed;
            `NEEDED` makes the option required.
        help_text: The text of `--help`, which adds the default.
        choices: Allowed values of the option, or of each item of a list.
        gt: The number, or each number of a list, must be above this.
        ge: The number must be at least this.
        lt: The number must be below this.
        decides: Whether the trained weights depend on the option (default: true). If so, a resumed
            run must have the same value, and the model card contains it.
        path: The role of a path: a `file`, a `folder` or `images` (a folder of images) to read; a
            `name` (a local folder, or the name of a Hub repository or the like); an `output`
            folder to write, or an `output file`.
        endings: Allowed endings of an output file.
        holds: Types of existing files that an output may overwrite, as in
            `refuse_other_file_type`. If one matches the output's ending, only this one; else the
            first. Default: text.
        metavar: The text after the flag in `--help`; a form of `_FORMS` is checked.
        also: Aliases of the option.
        word: True for a positional argument; "too" for a positional argument and a flag.
        commas: Whether commas separate the items of a list or mapping, or "pairs" if only those
            before NAME= do; default: only in a list that is neither positional nor of paths.
        several: Whether all words after the flag are items.
        rest: Whether the option accepts all remaining words, including flags.
        known: Names for tab completion, a function that returns them, or "module:NAME" of either.
        goes_with: Another option, or NAME=VALUE, without which this one is refused.
        library: The name of the option in the library, which messages replace with the flag.
    """
    settings = {"help": help_text, **locals()}
    omitted = ("default", "help_text")
    metadata = {n: value for n, value in settings.items() if value is not None and n not in omitted}
    if isinstance(default, (list, dict)) or dataclasses.is_dataclass(default):
        return dataclasses.field(default_factory=lambda: copy.deepcopy(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def quote(value: Any) -> str:
    """Return the repr of a value for an error message, shortened to about 80 characters.

    Example:
        >>> quote(2.0), len(quote("x" * 1000)) < 100
        ('2.0', True)
    """
    return _SHORT_REPR.repr(value)


def get_summary(text: str | None) -> str:
    """Return the first sentence of a text, uncapitalised and without its full stop.

    Example:
        >>> get_summary("Where it runs;   a GPU if there is one. As of torch.")
        'where it runs; a GPU if there is one'
    """
    first = " ".join((text or "").split()).partition(". ")[0].removesuffix(".")
    is_plain = first.partition(" ")[0][1:].islower() or first[1:2] in ("", " ")
    return first[:1].lower() + first[1:] if is_plain else first


class Options:
    """Base class of keyword-only dataclasses whose options are checked on creation.

    The help text of an option may be in the docstring, under `Attributes`.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Steps(Options):
        ...     rate: float = option(1.0, "how far a step goes", gt=0)
        >>> Steps(rate=-1.0)
        Traceback (most recent call last):
            ...
        pqpp_files.errors.PqppError: `rate` is -1.0; it must be above 0
    """

    def __init_subclass__(cls) -> None:
        """Complete options with settings from base classes and help texts from the docstring."""
        _, _, attributes = inspect.cleandoc(cls.__doc__ or "").partition("\nAttributes:\n")
        hints = inspect.get_annotations(cls)
        for name, help_text in PARAMETER.findall(attributes):
            if "ClassVar" in str(hints.get(name, "ClassVar")):
                continue
            field = vars(cls).get(name, NEEDED)
            field = field if isinstance(field, dataclasses.Field) else option(field)
            field.metadata = MappingProxyType({"help": get_summary(help_text), **field.metadata})
            setattr(cls, name, field)
        super().__init_subclass__()
        inherited: dict[str, dataclasses.Field] = {}
        for base in reversed(cls.__mro__[1:]):
            inherited |= getattr(base, "__dataclass_fields__", {})
        for name, field in vars(cls).items():
            if name in inherited and isinstance(field, dataclasses.Field):
                field.metadata = MappingProxyType({**inherited[name].metadata, **field.metadata})

    def __post_init__(self) -> None:
        """Check each value against the option's declaration."""
        for field in get_fields(self):
            value = getattr(self, field.name)
            if value is NEEDED:
                raise PqppError(f"`{field.name}` is required: {field.metadata['help']}")
            for item in value if isinstance(value, (list, tuple)) else [value]:
                _check_value(field, item)
            other, _, needed = field.metadata.get("goes_with", "").partition("=")
            if other and value not in (field.default, {}):
                actual = getattr(self, other)
                if not actual or needed not in ("", actual):
                    text = f"`{other}` {needed}".rstrip()
                    raise PqppError(f"`{field.name}` applies only with {text}; add {text}")
        self.check_paths()

    def check_paths(self) -> None:
        """Expand `~` in paths, and refuse paths that do not exist or cannot be written to."""
        self.expand_paths()
        for field in get_fields(self):
            kind, value = field.metadata.get("path"), getattr(self, field.name)
            for path in value.values() if isinstance(value, dict) else [value]:
                if kind and path is not None:
                    check_path(field.name, kind, path)

    def expand_paths(self) -> None:
        """Expand `~` in paths.

        Raises:
            FileError: The user does not exist.
        """
        for field in get_fields(self):
            if field.metadata.get("path"):
                object.__setattr__(self, field.name, _expand_user(getattr(self, field.name)))

    def to_dict(self) -> dict[str, Any]:
        """Return all options as plain values."""
        return dataclasses.asdict(self)  # type: ignore[call-overload]

    def get_training_options(self) -> dict[str, Any]:
        """Return the options that the weights of a training depend on."""
        names = {f.name for f in get_fields(self) if f.metadata.get("decides", True)}
        return {name: value for name, value in self.to_dict().items() if name in names}


def _expand_user(path: Any) -> Any:
    if isinstance(path, (list, tuple)):
        return type(path)(map(_expand_user, path))
    # Other paths are unchanged, since a Path would lose `./`.
    return str(expand(path)) if isinstance(path, str) and path.startswith("~") else path


get_fields: Callable[[Any], tuple[dataclasses.Field, ...]] = dataclasses.fields
"""Return the declared options of a class or an object."""


def find_option(kind: type, key: Any, word: str | None = None) -> str:
    """Return the declared name of an option, given a name or alias with hyphens or underscores.

    Args:
        word: The text to quote in the error; default: the name.

    Raises:
        PqppError: The class has no such option.
    """
    name = str(key).replace("-", "_")
    fields = get_fields(kind)
    known = {other: f.name for f in fields for other in (f.name, *f.metadata.get("also", ()))}
    if name in known:
        return known[name]
    text = quote(word or name).strip("'")
    hint = did_you_mean(name, dict.fromkeys(known.values()), "see --help")
    raise PqppError(f"unknown option `{text}`; {hint}")


def split_items(text: str, field: dataclasses.Field, container: Any) -> list[str]:
    """Split a word at commas if the option is declared so, and return the items."""
    metadata = field.metadata
    commas = container is not dict and not metadata.get("path") and metadata.get("word") is not True
    if metadata.get("commas") == "pairs":
        return re.split(r",\s*(?=[\w.]+=)", text)
    return split_names(text) if metadata.get("commas", commas) else [text]


def _check_value(field: dataclasses.Field, value: Any) -> None:
    if value is None:
        return
    metadata = field.metadata
    is_text_option = not (metadata.get("path") or metadata.get("word"))
    if is_text_option and isinstance(value, str) and _SURROGATES.search(value):
        raise PqppError(f"`{field.name}` is {quote(value)}; it must be UTF-8")
    choices = metadata.get("choices")
    form = metadata.get("metavar", "")
    if form in _FORMS and not _FORMS[form](value):
        raise PqppError(f"`{field.name}` is {quote(value)}; it must have the form {form}")
    gt, ge, lt = map(metadata.get, ("gt", "ge", "lt"))
    if choices and value not in choices:
        raise PqppError(f"`{field.name}` is {quote(value)}; {did_you_mean(str(value), choices)}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return
    # torch accepts no larger seed.
    limit = 2**63 - 1 if isinstance(value, int) else sys.float_info.max
    if not abs(value) <= limit:  # nor is NaN
        finite = "a 64-bit integer" if isinstance(value, int) else "a finite number"
        raise PqppError(f"`{field.name}` is {quote(value)}; it must be {finite}")
    conditions = {
        f"above {gt}": gt is None or value > gt,
        f"{ge} or more": ge is None or value >= ge,
        f"below {lt}": lt is None or value < lt,
    }
    if not all(conditions.values()):
        bounds = " and ".join(text for text in conditions if "None" not in text)
        raise PqppError(f"`{field.name}` is {quote(value)}; it must be {bounds}")


def check_path(name: str, kind: str, value: str) -> None:
    """Refuse a path that is missing, has the wrong type or cannot be written to.

    Args:
        name: The option's name.
        kind: As `path` in `option`.
        value: The path.
    """
    from pqpp_files.open_input import is_input, is_sharded

    if kind == "output":
        try:
            return check_output_folder(value)
        except FileError as error:
            raise PqppError(f"`{name}`: {error}") from None
    exists, is_folder = os.path.exists(value), os.path.isdir(value)  # noqa: PTH110, PTH112
    if kind == "name" and not exists and ("/" not in value or is_repository_id(value)):
        return
    if kind == "file" and is_input(value) and not exists:
        return  # standard input
    expected = "file" if kind == "file" else "folder"
    if not exists:
        raise PqppError(f"`{name}`: no such {expected} {quote(value)}; check the path")
    if is_folder == (expected == "file") and not is_sharded(value):
        other = "folder" if is_folder else "file"
        raise PqppError(f"`{name}` is {quote(value)}, a {other}; use a {expected}")
