# PYTHON_ARGCOMPLETE_OK
"""The entry point of the `pqpp` command."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys

from pqpp_cli.interrupts import LINE_OF_INTERRUPT, STATUS_OF_INTERRUPT, InterruptGuard

TYPE_CHECKING = False  # as type checkers know it; importing typing would slow `pqpp --help`
if TYPE_CHECKING:
    from collections.abc import Sequence


MAX_BYTES = "PQPP_MAX_BYTES"
_FIRST = """\
pqpp predict "a dog on a beach"           how well a prompt will do, and why
pqpp demo --serve                         the same on a web page
pqpp bench --dataset sample --split test  compare predictors
pqpp fit scores.csv --output mine         a predictor for your own scores

pqpp help lists all commands"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: The words after `pqpp`; default: those of the process.

    Returns:
        0 when all went well, 2 for bad input and 1 for a defect of pqpp (one line on standard
        error, no traceback; `PQPP_TRACEBACK=1` shows it), 130 when interrupted.

    Example:
        >>> main(["predict", "a red cat", "--predictor", "n_words", "--target", "mean_hbpp",
        ...       "--format", "json"])  # doctest: +SKIP
    """
    streams = sys.stdout, sys.stderr
    bound = os.environ.get(MAX_BYTES)
    try:
        with InterruptGuard() as work:
            return _run(arguments, work)
    except KeyboardInterrupt:  # also one that comes while an error is told
        (sys.stderr or _Closed(is_silent=True)).write(LINE_OF_INTERRUPT)
        return STATUS_OF_INTERRUPT
    finally:
        sys.stdout, sys.stderr = streams
        os.environ.pop(MAX_BYTES, None)
        os.environ |= {} if bound is None else {MAX_BYTES: bound}


def _run(arguments: Sequence[str] | None, work: InterruptGuard) -> int:
    """Run the command line, and return its status unless it is interrupted."""
    kind: type | None = None
    try:  # which holds all imports of ours
        from pqpp_cli.commands import parse_command

        sys.stdout, sys.stderr = sys.stdout or _Closed(), sys.stderr or _Closed(is_silent=True)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal without † must not end the command
                stream.reconfigure(errors="replace")
        from pqpp_cli.door import Door

        sys.stdout, sys.stderr = Door(sys.stdout), Door(sys.stderr)
        words = list(sys.argv[1:] if arguments is None else arguments)
        if "_ARGCOMPLETE" in os.environ:
            import argcomplete

            from pqpp_cli.commands import build_parser

            # answers the shell, which asks how a word may go on; this ends the process
            argcomplete.autocomplete(build_parser(os.environ["COMP_LINE"].split()[1:]))
        if not words:
            print(_FIRST)
            return 0
        if words[0] in ("version", "--version"):
            from importlib.metadata import version

            print(f"pqpp {version('pqpp')}", flush=True)
            return 0
        words = [*words[1:], "--help"] if words[0] == "help" else words
        try:
            kind, flags = parse_command(words)
        except SystemExit as left:  # of the parser, which has said why
            sys.stdout.flush()  # a full disk is told of
            return int(left.code or 0)
        from pqpp_cli.output import quiet_libraries
        from pqpp_files.options.recipe import read_recipe

        quiet_libraries()
        command = read_recipe(kind, flags)
        if command.max_bytes:
            os.environ[MAX_BYTES] = str(command.max_bytes)
        command.run()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` say, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as left:  # when terminated
        return int(left.code or 0)
    except Exception as error:
        if work.is_interrupted:  # numpy's import makes another error of it
            raise KeyboardInterrupt from None
        if os.environ.get("PQPP_TRACEBACK"):
            raise
        error.__traceback__ = None  # whose frames hold what filled the memory
        from pqpp_files.visible import visible

        status, lines = _describe_error(error, kind)
        said = "".join(f"pqpp: error: {visible(line)}\n" for line in lines)
        for stream, text in ((sys.stdout, ""), (sys.stderr, said)):
            try:
                stream.write(text)
                stream.flush()
            except OSError:  # a stream that takes no more is given up
                with contextlib.suppress(OSError):  # of a closed one
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return status
    return 0


class _Closed(io.TextIOBase):
    """Standard output or standard error where it was closed before the command began."""

    def __init__(self, is_silent: bool = False) -> None:
        self._is_silent = is_silent

    def write(self, text: str) -> int:
        if not self._is_silent:
            raise OSError(errno.EBADF, "it is closed; name a file to write to", "standard output")
        return len(text)


def _describe_error(error: Exception, kind: type | None) -> tuple[int, list[str]]:
    """Return the exit status of an error (2 if the user can fix it), and its message."""
    from pqpp_files.errors import PqppError, to_line
    from pqpp_files.extras import find_extra, install_command
    from pqpp_files.options.flags import to_flags

    package = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ImportError) and (extra := find_extra(package)):
        return 2, [f"this command needs {package}; run: {install_command(extra)}"]
    if isinstance(error, OSError) and error.strerror:
        if error.filename:
            return 2, [f"{error.filename}: {error.strerror}"]
        return 2, [f"{error.strerror} (standard output, or a file without a name)"]
    if isinstance(error, OSError | PqppError):
        faults = str(error).split("\n") if isinstance(error, PqppError) else [str(error)]
        lines = [" ".join(fault.split()) for fault in faults]
        return 2, [to_flags(line, kind) if kind else line for line in lines]
    if isinstance(error, MemoryError):
        return 2, ["out of memory; free some, or give fewer rows at a time"]
    return 1, [
        f"internal error: {to_line(error)}; please report it with the command "
        "(PQPP_TRACEBACK=1 shows where)"
    ]


if __name__ == "__main__":
    sys.exit(main())
