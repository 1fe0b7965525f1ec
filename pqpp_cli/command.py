"""What a command is: a frozen dataclass of typed options, checked when it is made, that runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, dataclass_transform

from pqpp_files.errors import PqppError
from pqpp_files.options.option import Options, fields_of, option

_KINDS = {".parquet": "Parquet", ".png": "PNG", ".pdf": "PDF", ".gz": "gzip", ".zip": "ZIP"}


class CommandError(PqppError):
    """The command line was given something that it cannot use."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
class Group(Options):
    """Options that commands inherit; those of a group with a `TITLE` stand under it in `--help`.

    Every subclass becomes a frozen dataclass with keywords only.
    """

    TITLE: ClassVar[str]
    EPILOG: ClassVar[str] = ""
    FOOTNOTE: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Take the examples, and what follows them, from the docstring: they stand below."""
        super().__init_subclass__()
        description, sign, examples = inspect.cleandoc(cls.__doc__ or "").partition("\nexamples:\n")
        if sign:
            cls.__doc__ = description
            cls.EPILOG = f"examples:\n{examples}\n{cls.FOOTNOTE}"
        # What is not needed is not made: each start of the command pays for it.
        dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)

    def require_one_of(self, *names: str) -> None:
        """Refuse none, or several, of options that are ways to say the same.

        Raises:
            CommandError: One line that names those that came, or all.
        """
        given = [f"`{name}`" for name in names if getattr(self, name)]
        if len(given) != 1:
            ways = ", ".join(f"`{name}`" for name in names)
            came = " and ".join(given) or "none of them"
            raise CommandError(f"give one of {ways}; {came} came")

    def holds(self, name: str) -> tuple[str, ...]:
        """Return the kinds of file that an output may be, and so replace; see `file_kind`."""
        field = next(f for f in fields_of(self) if f.name == name)
        kinds = tuple(field.metadata.get("holds", ("text",)))
        of_ending = _KINDS.get(Path(getattr(self, name) or "").suffix.lower())
        return (of_ending,) if of_ending in kinds else kinds[:1]

    def arguments(self, function: Callable) -> dict[str, Any]:
        """Return the options that a function or class of the library takes, by its names."""
        own = {f.metadata.get("library", f.name): f.name for f in fields_of(self)}
        taken = inspect.signature(function).parameters
        return {name: getattr(self, own[name]) for name in taken if name in own}

    def role_of(self, name: str) -> str | None:
        """Return what the path of an option is; see `path` of `option`."""
        return next(f.metadata.get("path") for f in fields_of(self) if f.name == name)


class Command(Group):
    """A command: its docstring is the text of `--help`, where `FOOTNOTE` stands last.

    Example:
        >>> from pqpp_cli.predict import Predict
        >>> Predict(prompts=("a red cat",), predictor="n_words").run()
        prompt       score
        ---------  -------
        a red cat    3.000
        <BLANKLINE>
        a higher score means a harder prompt
    """

    def check_paths(self) -> None:
        """Spell `~` out, and refuse outputs that could not be written or are an input."""
        from pqpp_cli.outputs import check_outputs

        self.spell_paths_out()
        check_outputs(self)

    def run(self) -> Any:
        """Do it, and print the result."""
        raise NotImplementedError
