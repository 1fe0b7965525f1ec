"""The commands and their parser.

Each command is a module of this package with a class of the same name; subcommands are classes
whose names begin with it. Only what argparse needs is imported until a command is named.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from itertools import pairwise, takewhile
from pathlib import Path

TYPE_CHECKING = False  # as type checkers know it; importing typing would slow `pqpp --help`
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn

    from pqpp_cli.command import Command

COMMANDS = {
    "predict": "predict how well prompts will do",
    "bench": "compare predictors on a benchmark and with published results",
    "fit": "fit a predictor to your own scores in seconds",
    "train": "train a model from a recipe",
    "build": "build a benchmark from your own ratings",
    "annotate": "collect human ratings in the browser",
    "assess": "score generated images with automated evaluators",
    "generate": "generate images for prompts",
    "search": "index a collection of images and search it by text",
    "route": "send each prompt to the model that is worth its cost",
    "rewrite": "rank rewrites of a prompt",
    "datasets": "list, describe, export and publish benchmarks",
    "metrics": "list, describe, compute and publish metrics",
    "models": "list, describe, publish and submit predictors",
    "demo": "benchmark the shipped predictor in a minute, or serve a web page",
    "leaderboard": "show or verify the leaderboard of a benchmark",
}
"""The commands of `pqpp --help`, in its order."""
_EPILOG = """examples:
  pqpp predict "a man riding a wave on a surfboard" --target mean_hbpp,mean_p10
  pqpp bench --split validation
  pqpp demo --serve

Tab completion: eval "$(register-python-argcomplete pqpp)"
"""


def list_commands(path: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the commands, or the subcommands of one, each with its summary.

    Example:
        >>> list(list_commands())[:2], list_commands(("bench",))["conqa"]
        (['predict', 'bench'], "compare runs on ConQA's conceptual and descriptive queries")
    """
    if not path:
        return COMMANDS
    from pqpp_files.options.option import get_summary

    classes = [kind for words, kind in _find_classes(path[0]) if words[:-1] == path]
    return {get_command_words(kind)[-1]: get_summary(kind.__doc__) for kind in classes}


def iterate_command_classes() -> Iterator[type[Command]]:
    """Yield the class of every command.

    Example:
        >>> next(iterate_command_classes()).__name__
        'Predict'
    """
    for name in COMMANDS:
        yield from (k.fill_options() for _, k in _find_classes(name) if hasattr(k, "run"))


def _find_classes(name: str) -> list[tuple[tuple[str, ...], Any]]:
    """Return the classes of a command's module with the words that call them, sorted by words."""
    module = importlib.import_module(f"pqpp_cli.{name}")
    types = [cls for cls in vars(module).values() if isinstance(cls, type)]
    classes = {get_command_words(cls): cls for cls in types if cls.__module__ == f"pqpp_cli.{name}"}
    return sorted((words, cls) for words, cls in classes.items() if words[:1] == (name,))


def get_command_words(kind: type) -> tuple[str, ...]:
    """Return the words that call a command, such as `("bench", "conqa")` for `BenchConqa`."""
    return tuple(word.lower() for word in re.findall("[A-Z][a-z0-9]*", kind.__name__))


def parse_command(words: Sequence[str]) -> tuple[type[Command], dict[str, Any]]:
    """Return the class of the command in a command line, and the values of its options.

    Raises:
        SystemExit: The words are not a valid command line (2), or request help (0).

    Example:
        >>> kind, flags = parse_command(["fit", "votes", "--output", "mine", "--folds", "3"])
        >>> kind.__name__, flags
        ('Fit', {'dataset': 'votes', 'output': 'mine', 'folds': '3'})
    """
    parser = build_parser(words)
    flags = vars(parser.parse_args(words))
    if "_class" not in flags:
        parser.error("no command given")
    return flags.pop("_class"), flags


def build_parser(words: Sequence[str] | None = None) -> Parser:
    """Return the parser of the command line.

    Args:
        words: The arguments; only the command that they name gets its options. None for all.
    """
    parser = Parser(
        prog="pqpp",
        description="Predict and evaluate how well prompts do in image generation and retrieval.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--version", action="store_true", default=argparse.SUPPRESS, help="print the version"
    )
    _add_commands(parser, (), words)
    return parser


def _add_commands(
    parser: Parser, path: tuple[str, ...], words: Sequence[str] | None, is_optional: bool = False
) -> None:
    actions = parser.add_subparsers(
        dest=argparse.SUPPRESS,
        metavar="ACTION" if path else "COMMAND",
        required=bool(path) and not is_optional,  # so that unknown options are reported first
        parser_class=Parser,
    )
    for name, summary in list_commands(path).items():
        child = actions.add_parser(name, help=summary.replace("%", "%%"))
        # Options of the default subcommand may precede a subcommand, and are then refused.
        if words is None or name in (words if is_optional else words[:1]):
            _fill_parser(child, (*path, name), words and words[1:])


def _fill_parser(parser: Parser, path: tuple[str, ...], words: Sequence[str] | None) -> None:
    """Add the options of a command, or the names of its subcommands, to a parser."""
    from pqpp_files.options.flags import add_options

    module, classes = importlib.import_module(f"pqpp_cli.{path[0]}"), dict(_find_classes(path[0]))
    default = getattr(module, "DEFAULT_SUBCOMMAND", None) if len(path) == 1 else None
    group = classes.get(path[:1], module)
    command: Any = classes.get((*path, default) if default else path, group)
    parser.description = command.__doc__
    if hasattr(command, "run"):
        add_options(parser, command.fill_options(), strict=words is None or "--config" not in words)
        parser.set_defaults(_class=command)
    examples_text = getattr(command, "EPILOG", "") or getattr(group, "EPILOG", "")
    pattern = rf"^  pqpp {' '.join(path)}\b.*(?:\n   .*)*"  # of a group's examples
    examples = re.findall(pattern, examples_text, re.MULTILINE)
    group_epilog = "\n".join(["examples:", *examples]) if examples else ""
    parser.epilog = vars(command).get("EPILOG") or group_epilog
    if default or not hasattr(command, "run"):
        _add_commands(parser, path, words, is_optional=default is not None)


_DATA_FLAGS = ("--judgments", "--input", "--predictions", "--dataset", "--file")


class Parser(argparse.ArgumentParser):
    """A parser with one-line errors that suggest what was probably meant."""

    def __init__(self, **about: Any) -> None:
        about["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(**about, allow_abbrev=False)
        self.color = False  # `SafeStream` would show its codes (Python 3.14)

    def _parse_optional(self, arg_string):
        """Treat words like `-.csv` and `-:column`, which name standard input, as values."""
        if arg_string.startswith(("-.", "-:")):
            return None
        return super()._parse_optional(arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Exit with a suggestion if a command is unknown."""
        if action.choices is not None and value not in action.choices:
            hint = self._suggest(value, list(action.choices))
            self.error(f"unknown {str(action.metavar).lower()} {value!r}; {hint}", value)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message; unlike argparse, raise errors such as a full disk."""
        (file or sys.stderr).write(message)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse known words as argparse does, but exit with a suggestion if a word is unknown."""
        if any("_" in word for word in args or ()):  # imported where it is needed
            from pqpp_files.names import hyphenate_flags

            args = hyphenate_flags(args)
        self._words = list(args or ())
        first = self._words[0] if self._words and self.prog == "pqpp" else ""
        if first.startswith("-") and first not in self._option_string_actions:
            self.error(self._describe_unknown(first))  # before errors of the command
        try:
            parsed, unknown = super().parse_known_args(args, namespace)
        except ValueError as error:  # from an option's own check
            from pqpp_files.options.flags import replace_option_names

            self.error(replace_option_names(str(error), self.get_default("_class")))
        if unknown and "_ARGCOMPLETE" not in os.environ:
            self.error(self._describe_unknown(unknown[0]))
        return parsed, unknown

    def _describe_unknown(self, word: str) -> str:
        """Return the error for an unknown word, with the option that was probably meant."""
        name = word.partition("=")[0]
        choice = f",{name.lstrip('-')},"
        visible = [action for action in self._actions if action.help is not argparse.SUPPRESS]
        known = [name for action in visible for name in action.option_strings]
        matches = [a for a in visible if choice in re.sub("[{}]", ",", str(a.metavar))]
        hint = f"write {matches[0].option_strings[-1]} {choice[1:-1]}" if matches else ""
        for action in (action for action in visible if not action.option_strings):
            if action.dest.startswith(name.lstrip("-") or " "):
                hint = f"write {action.metavar or action.dest} without a flag"
            elif action.choices and set(known) <= {"-h", "--help"}:
                hint = f"name an {action.metavar} first: {', '.join(action.choices)}"
        return f"unknown argument {name}; {hint or self._suggest(name, known)}"

    def _suggest(self, word: str, known: list[str]) -> str:
        """Return a suggestion of up to three options or commands for an unknown word."""
        from pqpp_files.names import did_you_mean

        hints = [flag for flag in known if flag.startswith(f"-{word}")]  # -o
        for flag in filter(self._option_string_actions.get, _DATA_FLAGS):
            hints = [flag] if word in _DATA_FLAGS else hints
            hints = [f"{flag} {word}"] if Path(word).exists() else hints
        if hints:
            return f"did you mean {' or '.join(hints[:3])}?"
        return did_you_mean(word, known, "no option is similar" if known[0].startswith("-") else "")

    def format_help(self) -> str:
        """Return the help, with the description wrapped and the epilog unchanged."""
        wrapped = argparse.HelpFormatter(self.prog)
        wrapped.add_text(self.description)
        self.description = wrapped.format_help().strip()
        return super().format_help()

    def error(self, message: str, command: str | None = None) -> NoReturn:
        """Print the error, on an unknown `command` or another, on one line; exit with status 2."""
        from pqpp_files.escape import escape_controls

        words = [*takewhile("--".__ne__, self._words)]
        flags = [word.partition("=")[0] for word in words if re.match(r"--\S+$", word)]
        unknown = [flag for flag in flags if flag not in self._option_string_actions]
        if command is not None:
            unknown = [a for a, b in pairwise(words) if a in unknown and b == command]
        message = re.sub(r"(--[\w-]+)(/--[\w-]+)+", r"\1", message)  # without aliases
        if missing := message.partition("arguments are required: ")[2]:
            example = re.search(r"^  (pqpp.*?[^\\\n])(?:  +#.*)?$", self.epilog or "", re.MULTILINE)
            message = f"missing {missing}" + (f"; example: {example[1]}" if example else "")
        message = self._describe_unknown(unknown[0]) if unknown else message
        message = f"{message};".replace("?;", "?")
        self.exit(2, f"{self.prog}: error: {escape_controls(message)} see {self.prog} --help\n")
