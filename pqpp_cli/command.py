"""The base of commands: a frozen dataclass of typed options, checked on creation, with `run`."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, dataclass_transform, get_args, get_origin

from pqpp_files.errors import FileError, PqppError
from pqpp_files.options.option import NEEDED, PARAMETER, Options, get_fields, get_summary, option
from pqpp_files.paths import check_output, check_output_folder, expand, refuse_other_file_type

LIBRARY: Any = MISSING
"""The default of an option that the library declares; see `Group`."""
_OUTPUTS = ("output", "output file")
PAGES = (".html", ".htm")
PICTURES = (".png", ".pdf", ".svg")
_IMAGE_LIST = "metadata"  # the table that describes a folder's images
_FIELDS = "__dataclass_fields__"
_TYPES = {".parquet": "Parquet", ".png": "PNG", ".pdf": "PDF", ".xlsx": "ZIP"}
_METAVARS = {
    **{"file": "FILE", "output file": "FILE", "name": "NAME_OR_PATH"},
    **dict.fromkeys(("folder", "images", "output"), "DIR"),
    **{"int": "N", "float": "X", "dict[str, str]": "NAME=VALUE"},
}
"""The default text after a flag, by its path or its type; else its name."""


def _read_parameters(target: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the `option` arguments of each parameter of MODULE:NAME."""
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name)
    texts = dict(PARAMETER.findall(inspect.getdoc(function) or ""))
    defaults = {f.name: f.default_factory for f in getattr(function, _FIELDS, {}).values()}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        default = NEEDED if parameter.default is parameter.empty else parameter.default
        if defaults.get(parameter.name, MISSING) is not MISSING:
            default = defaults[parameter.name]()
        settings = {"default": default, "help_text": get_summary(texts.get(parameter.name))}
        if get_origin(parameter.annotation) is Literal:
            settings["choices"] = tuple(filter(None, get_args(parameter.annotation)))
        yield parameter.name, settings


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
class Group(Options):
    """A frozen dataclass of options that commands inherit.

    In `--help`, the options of a group with a `TITLE` are under that title. A command may name
    functions or classes of the library, MODULE:NAME: an option without a help text then has the
    default, help text and choices of their parameter of the same name. The library is imported only
    if the command is used.
    """

    TITLE: ClassVar[str]
    EPILOG: ClassVar[str] = ""
    FOOTNOTE: ClassVar[str] = ""
    _takes: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, takes: tuple[str, ...] = ()) -> None:
        """Make the class a dataclass, and move the examples of its docstring to the epilog."""
        super().__init_subclass__()
        text = inspect.cleandoc(cls.__doc__ or "").partition("\nAttributes:\n")[0]
        cls.__doc__, sign, examples = text.partition("\nexamples:\n")
        if sign:
            cls.EPILOG = f"examples:\n{examples}\n{cls.FOOTNOTE}"
        cls._takes = takes
        if not takes:
            cls._make_dataclass()

    def __new__(cls, **_: Any) -> Self:
        """Create an instance after `fill_options`, also if another process unpickles it."""
        return super().__new__(cls.fill_options())

    @classmethod
    def _make_dataclass(cls) -> None:
        # Groups get no `__init__`, since creating one costs time at every start.
        dataclass(init=hasattr(cls, "run"), frozen=True, kw_only=True, eq=False, repr=False)(cls)

    @classmethod
    def fill_options(cls) -> type[Self]:
        """Fill in the options' defaults and help texts from the library, and return the class."""
        if cls._takes:
            parameters = dict(item for target in cls._takes for item in _read_parameters(target))
            kinds: dict[str, Any] = {}
            known: dict[str, Any] = {}
            for base in reversed(cls.__mro__):
                kinds |= inspect.get_annotations(base)
                known |= getattr(base, _FIELDS, {}) | vars(base)
            for name, kind in kinds.items():
                settings = dict(getattr(known.get(name), "metadata", {}))
                parameter = parameters.get(settings.get("library", name))
                if parameter and "help" not in settings:
                    setattr(cls, name, option(**{**parameter, **settings}))
                    cls.__annotations__[name] = kind
            cls._takes = ()
            cls._make_dataclass()
        for field in get_fields(cls):
            kind = field.metadata.get("path") or str(field.type).removesuffix(" | None")
            metavar = None if field.metadata.get("word") is True else _METAVARS.get(kind)
            if "choices" not in field.metadata:
                settings = {"metavar": metavar or field.name.upper(), **field.metadata}
                field.metadata = MappingProxyType(settings)
        return cls

    def require_one_of(self, *names: str) -> None:
        """Require exactly one of several options.

        Raises:
            PqppError: None, or more than one, is set.
        """
        values = {name: getattr(self, name) for name in names}
        present = [f"`{n}`" for n, value in values.items() if value or isinstance(value, float)]
        if len(present) != 1:
            choices = ", ".join(f"`{name}`" for name in names)
            raise PqppError(f"give exactly one of {choices}; got {' and '.join(present) or 'none'}")

    def refuse(self, what: str, *names: str) -> None:
        """Refuse options that would be ignored because of something else.

        Raises:
            PqppError: One of the options does not have its default.
        """
        for field in get_fields(self):
            if field.name in names and getattr(self, field.name) not in (field.default, {}):
                raise PqppError(f"`{field.name}` does not apply with {what}; remove `{field.name}`")

    def get_output_type(self, name: str) -> str:
        """Return the type of the file that an option writes, as in `refuse_other_file_type`."""
        field = next(f for f in get_fields(self) if f.name == name)
        file_type = _TYPES.get(Path(getattr(self, name) or "").suffix.lower(), "text")
        return file_type if "endings" in field.metadata else field.metadata.get("holds", "text")

    def get_arguments(self, function: Callable) -> dict[str, Any]:
        """Return the keyword arguments of a library function that this command has options for."""
        fields = {f.metadata.get("library", f.name): f.name for f in get_fields(self)}
        parameters = inspect.signature(function).parameters
        return {name: getattr(self, fields[name]) for name in parameters if name in fields}

    def get_path_role(self, option: str) -> str | None:
        """Return the role of an option's path, or None; see `path` in `option`."""
        return next(f.metadata.get("path") for f in get_fields(self) if f.name == option)


class Command(Group):
    """A command with its options; its docstring is the text of `--help`.

    Example:
        >>> from pqpp_cli.predict import Predict
        >>> Predict(prompts=("a red cat",), predictor="n_words").run()
        prompt       score
        ---------  -------
        a red cat    3.000
        <BLANKLINE>
        a higher score means a harder prompt
    """

    max_bytes: int | None = option(
        None, "maximum size of piped or unpacked input (default: 1 GiB)", ge=1
    )

    def check_paths(self) -> None:
        """Expand `~` in paths, and check the outputs with `check_outputs`."""
        self.expand_paths()
        check_outputs(self)

    def run(self) -> Any:
        """Run the command and print the result."""
        raise NotImplementedError


def check_outputs(command: Any) -> None:
    """Refuse a command's outputs that cannot be written or would overwrite an input.

    Inputs are the files that other options name, also as FILE:COLUMN or NAME=FILE, and the files in
    PQPP_DATA_DIR and in folders that path options name. Exceptions are pages and tables of verdicts
    next to images, and files in the working folder and its parents. An existing file must have the
    type of the output.

    Raises:
        PqppError: An output has a wrong ending or type, is an input, or cannot be written.
    """
    roles = {field.name: command.get_path_role(field.name) for field in get_fields(command)}
    values = {name: value for name in roles if (value := getattr(command, name)) is not None}
    if not (outputs := {name: value for name, value in values.items() if roles[name] in _OUTPUTS}):
        return
    sources = {name: value for name, value in values.items() if roles[name] and name not in outputs}
    inputs = _find_paths([v for n, v in values.items() if n not in outputs], Path.is_file)
    images = _find_paths([v for n, v in sources.items() if roles[n] == "images"], Path.is_dir)
    named = [value for name, value in sources.items() if roles[name] != "images"]
    folders = _find_paths([*named, os.environ.get("PQPP_DATA_DIR")], Path.is_dir)
    for field in (field for field in get_fields(command) if field.name in outputs):
        name, path, endings = field.name, outputs[field.name], field.metadata.get("endings")
        is_folder = roles[name] == "output"
        if "://" in path and not path.startswith("file:"):
            raise PqppError(f"`{name}` is {path}, a URL; use a path on this machine")
        if endings and not is_folder and not path.lower().endswith(tuple(endings)):
            raise PqppError(f"`{name}` is {path}; it must end in {' or '.join(endings)}")
        try:
            if is_folder:
                check_output_folder(path, inputs=_find_paths([*sources.values()], Path.is_file))
                continue
            check_output(path, inputs)
            file_type = command.get_output_type(name)
            refuse_other_file_type(path, [file_type])
            is_listing = Path(path).stem.lower() == _IMAGE_LIST
            may_join_images = not is_listing and (endings == PAGES or file_type == "Parquet")
            _refuse_in_folders(path, folders if may_join_images else folders + images)
        except FileError as error:
            raise PqppError(f"`{name}`: {error}") from None
    targets = {f"`{name}`": expand(path).resolve() for name, path in outputs.items()}
    if same := [name for name in targets if list(targets.values()).count(targets[name]) > 1]:
        raise PqppError(f"{' and '.join(same)} are the same file; use different files")


def _refuse_in_folders(path: str, folders: Sequence[str]) -> None:
    """Refuse to overwrite a file in a folder that the command reads."""
    target, working_folder = expand(path).resolve(), Path.cwd()
    sources = {*target.parents} - {working_folder, *working_folder.parents}
    for name in folders if target.is_file() else ():
        if expand(name).resolve() in sources:
            raise FileError(f"{path} is in the input folder {name}; use another file")


def _find_paths(value: Any, exists: Callable[[Path], bool]) -> list[str]:
    """Return the paths in an option's value that pass a test, such as `Path.is_file`."""
    paths = []
    for text in sorted(set(_yield_paths(value)) - {""}):
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # too long, or with a zero
            if exists(expand(text)):
                paths.append(text)
    return paths


def _yield_paths(value: Any) -> Iterator[str]:
    """Yield each text in a value, with and without `NAME=`, and its start before each colon."""
    if isinstance(value, str):
        for text in (value, value.partition("=")[2] or value):
            yield from accumulate(text[:4096].split(":"), "{}:{}".format)
    elif isinstance(value, dict):
        yield from _yield_paths(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _yield_paths(item)
