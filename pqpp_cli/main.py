# PYTHON_ARGCOMPLETE_OK
"""The entry point of the `pqpp` command."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

# Each is a module of this package with `add_parser(subparsers)`; only standard modules are imported
# until a command runs, so that `pqpp predict` answers at once.
_COMMANDS = (
    "predict",
    "bench",
    "demo",
    "collection",
    "datasets",
    "metrics",
    "models",
    "build",
    "select",
    "feedback",
    "autoload",
)

_EPILOG = """examples:
  pqpp predict "a man riding a wave on a surfboard" --target mean_hbpp,mean_p10
  pqpp bench --split validation
  pqpp demo

Tab completion: eval "$(register-python-argcomplete pqpp)"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: The words after `pqpp`; those of the process if left out.

    Returns:
        0 when all went well, 2 for bad input (one line on standard error, no traceback), 130 when
        interrupted.

    Example:
        >>> main(["predict", "a red cat", "--predictor", "n_words", "--target", "mean_hbpp",
        ...       "--format", "json"])  # doctest: +SKIP
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without † must not end the command
            stream.reconfigure(errors="replace")
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` say, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("pqpp: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        if not _is_for_the_user(error):
            raise
        print(f"pqpp: error: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
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


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: reading metadata takes time."""

    def __init__(self, option_strings, dest, **options):
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser, namespace, values, option_string=None):
        from importlib.metadata import version

        print(f"pqpp {version('pqpp')}")
        parser.exit()


def _is_for_the_user(error: Exception) -> bool:
    """Tell errors that describe bad input from errors of our own making."""
    from pqpp_files.errors import PqppError

    return isinstance(error, OSError | PqppError)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
