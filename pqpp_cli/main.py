# PYTHON_ARGCOMPLETE_OK
"""The entry point of the `pqpp` command."""

import argparse
import errno
import importlib
import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from pqpp_cli.errors import CommandError
from pqpp_cli.output import check_outputs, quiet_libraries
from pqpp_files.names import did_you_mean
from pqpp_files.visible import visible

# Each is a module of this package with `add_parser(subparsers)`; only standard modules are imported
# until a command runs, so that `pqpp predict` answers at once.
_COMMANDS = (
    "predict",
    "bench",
    "demo",
    "fit",
    "collection",
    "datasets",
    "metrics",
    "models",
    "annotate",
    "build",
    "route",
    "rewrite",
    "generate",
    "index",
    "retrieve",
    "select",
    "assess",
    "feedback",
    "autoload",
)

_EPILOG = """examples:
  pqpp predict "a man riding a wave on a surfboard" --target mean_hbpp,mean_p10
  pqpp bench --split validation
  pqpp demo
  pqpp demo --serve

Tab completion: eval "$(register-python-argcomplete pqpp)"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: The words after `pqpp`; those of the process if left out.

    Returns:
        0 when all went well, 2 for bad input and 1 for a defect of ours (one line on standard
        error, no traceback; `PQPP_TRACEBACK=1` shows it), 130 when interrupted.

    Example:
        >>> main(["predict", "a red cat", "--predictor", "n_words", "--target", "mean_hbpp",
        ...       "--format", "json"])  # doctest: +SKIP
    """
    sys.stdout, sys.stderr = sys.stdout or _Closed(), sys.stderr or _Closed(is_silent=True)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without † must not end the command
            stream.reconfigure(errors="replace")
    quiet_libraries()
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
    try:
        options = parser.parse_args(arguments)
        _refuse_empty(options)
        check_outputs(options)
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` say, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("pqpp: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get("PQPP_TRACEBACK"):
            raise
        print(f"pqpp: error: {visible(_one_line(error))}", file=sys.stderr)
        return 2 if _is_for_the_user(error) else 1
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="pqpp",
        description="Predict and evaluate how well prompts do in image generation and retrieval.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="print the version and leave")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in _COMMANDS:
        importlib.import_module(f"pqpp_cli.{name}").add_parser(subparsers)
    return parser


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the choice that was probably meant."""

    _INVALID = r"argument ([^:]+): invalid choice: '([^']*)' \(choose from (.*)\)"

    def _parse_optional(self, arg_string):
        """Take `-.csv` and `-:column`, which are standard input, for values as `-` is."""
        if arg_string.startswith(("-.", "-:")):
            return None
        return super()._parse_optional(arg_string)

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Refuse what is left over, at the command whose options are known here."""
        found, left = super().parse_known_args(args, namespace)
        if left and "_ARGCOMPLETE" not in os.environ:
            known = [name for action in self._actions for name in action.option_strings]
            wrong = left[0].partition("=")[0]
            self.error(f"{wrong} is unknown; {did_you_mean(wrong, known)}")
        return found, left

    def format_help(self) -> str:
        """Wrap the description as the options are; what stands below them keeps its lines."""
        import textwrap

        told = self.description
        width = shutil.get_terminal_size().columns - 2
        try:
            self.description = told and textwrap.fill(told, max(width, 11))
            return super().format_help()
        finally:
            self.description = told

    def error(self, message: str) -> NoReturn:
        """Print the line and leave with 2."""
        import re

        if found := re.search(self._INVALID, message):
            argument, value, known = found.groups()
            names = [name.strip("'") for name in known.split(", ")]
            message = f"{argument} {value!r} is unknown; {did_you_mean(value, names)}"
        self.exit(2, f"{self.prog}: error: {visible(message)}; see {self.prog} --help\n")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: reading metadata takes time."""

    def __init__(self, option_strings, dest, **options):
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser, namespace, values, option_string=None):
        from importlib.metadata import version

        print(f"pqpp {version('pqpp')}", flush=True)
        parser.exit()


class _Closed(io.TextIOBase):
    """Standard output or standard error where it was closed before the command began."""

    def __init__(self, is_silent: bool = False) -> None:
        self._is_silent = is_silent

    def write(self, text: str) -> int:
        if not self._is_silent:
            raise OSError(errno.EBADF, "it is closed; name a file to write to", "standard output")
        return len(text)


def _refuse_empty(options: argparse.Namespace) -> None:
    """Refuse an option without a value, as an unset variable of a script leaves it."""
    empty = [name for name, value in vars(options).items() if value == ""]
    if empty:
        raise CommandError(f"--{empty[0].replace('_', '-')}: it is empty; give it a value")


def _is_for_the_user(error: Exception) -> bool:
    """Tell errors that describe bad input from errors of our own making."""
    from pqpp_files.errors import PqppError

    return isinstance(error, OSError | PqppError) or _lacking(error) is not None


def _lacking(error: Exception) -> str | None:
    """Return the optional package that an import did not find, None for any other error."""
    from pqpp_files.extras import extra_of

    package = (getattr(error, "name", None) or "").partition(".")[0]
    return package if isinstance(error, ImportError) and extra_of(package) else None


def _one_line(error: Exception) -> str:
    from pqpp_files.extras import extra_of, install_command

    package = _lacking(error)
    if package and (extra := extra_of(package)):
        return f"this command needs {package}; run: {install_command(extra)}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}, at standard output or a file that it does not name"
    said = " ".join(str(error).split())
    if _is_for_the_user(error):
        return said
    return (
        f"this should not happen ({type(error).__name__}: {said[:300]}); PQPP_TRACEBACK=1 shows "
        "where, please report it with the command"
    )


if __name__ == "__main__":
    sys.exit(main())
