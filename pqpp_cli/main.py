# PYTHON_ARGCOMPLETE_OK
"""The entry point of the `pqpp` command."""

from __future__ import annotations

import errno
import io
import os
import sys

from pqpp_cli.interrupts import INTERRUPT_LINE, INTERRUPT_STATUS, InterruptGuard

TYPE_CHECKING = False  # as type checkers know it; importing typing would slow `pqpp --help`
if TYPE_CHECKING:
    from collections.abc import Sequence


MAX_BYTES = "PQPP_MAX_BYTES"
_MODEL_LIBRARIES = ("torch", "transformers", "diffusers")
_WELCOME = """\
pqpp predict "a dog on a beach"           how well a prompt will do, and why
pqpp demo --serve                         the same on a web page
pqpp bench --dataset sample --split test  compare predictors
pqpp fit scores.csv --output mine         fit a predictor to your own scores

pqpp help lists all commands"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: The words after `pqpp`; default: those of the process.

    Returns:
        0 for success, 2 for invalid input, 1 for a bug in pqpp and 130 for an interrupt. Errors are
        printed on one line, unless `PQPP_TRACEBACK` is set, which lets exceptions pass.

    Example:
        >>> main(["predict", "a red cat", "--predictor", "n_words", "--target", "mean_hbpp",
        ...       "--format", "json"])  # doctest: +SKIP
    """
    streams = sys.stdout, sys.stderr
    max_bytes = os.environ.get(MAX_BYTES)
    try:
        with InterruptGuard() as work:
            return _run(arguments, work)
    except KeyboardInterrupt:  # also during the report of an error
        print(INTERRUPT_LINE, end="", file=sys.stderr)
        return INTERRUPT_STATUS
    finally:
        sys.stdout, sys.stderr = streams
        os.environ.pop(MAX_BYTES, None)
        os.environ |= {} if max_bytes is None else {MAX_BYTES: max_bytes}


def _run(arguments: Sequence[str] | None, work: InterruptGuard) -> int:
    """Run the command line and return its exit status; raise KeyboardInterrupt if interrupted."""
    kind: type | None = None
    try:  # imports are inside, since they can fail too
        from pqpp_cli.safe_stream import SafeStream

        if not (epoch := os.environ.get("SOURCE_DATE_EPOCH", "0")).isdecimal() or len(epoch) > 11:
            del os.environ["SOURCE_DATE_EPOCH"]  # which would end the import of numpy
        for stream in filter(None, (sys.stdout, sys.stderr)):
            if hasattr(stream, "reconfigure"):  # a terminal may lack characters such as †
                stream.reconfigure(errors="replace")
        sys.stdout = SafeStream(sys.stdout or _ClosedOutput())
        sys.stderr = SafeStream(sys.stderr or io.StringIO(), is_needed=False)
        from pqpp_cli.commands import parse_command

        words = list(sys.argv[1:] if arguments is None else arguments)
        if os.environ.keys() >= {"_ARGCOMPLETE", "COMP_LINE", "COMP_POINT"}:
            import argcomplete

            from pqpp_cli.commands import build_parser

            # prints completions for the shell and ends the process
            argcomplete.autocomplete(build_parser(os.environ["COMP_LINE"].split()[1:]))
        if not words or words[0] in ("version", "--version"):
            from importlib.metadata import version

            print(f"pqpp {version('pqpp')}" if words else _WELCOME, flush=True)
            return 0
        words = [*words[1:], "--help"] if words[0] == "help" else words
        try:
            kind, flags = parse_command(words)
        finally:
            sys.stdout.flush()  # reports a full disk
        from pqpp_cli.output import silence_libraries
        from pqpp_files.options.recipe import read_recipe

        silence_libraries()
        command = read_recipe(kind, flags)
        if command.max_bytes:
            os.environ[MAX_BYTES] = str(command.max_bytes)
        command.run()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has stopped
        sys.stdout.discard_output()
    except SystemExit as exit_request:  # from the parser, or on SIGTERM
        return int(exit_request.code or 0)
    except BaseException as error:  # Rust's panics, too
        if isinstance(error, KeyboardInterrupt) or work.status == INTERRUPT_STATUS:
            raise KeyboardInterrupt from None
        if work.status:  # numpy's import hides both signals
            return work.status
        if os.environ.get("PQPP_TRACEBACK"):
            raise
        return _report_error(error, kind)
    return 0


def _report_error(error: BaseException, kind: type | None) -> int:
    """Print an error of a command, and return its exit status."""
    from traceback import walk_tb

    from pqpp_files.escape import escape_controls

    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    locations = [(f.f_globals.get("__name__", ""), f.f_code.co_name) for f in frames]
    names = [name.partition(".")[0] for name, _ in locations]
    imported = ["pqpp", *(name for name, code in locations if code == "<module>")]
    owners = ["", *(n for n in names if n in _MODEL_LIBRARIES or n.startswith("pqpp"))]
    error.__traceback__ = None  # frees what filled the memory
    owner = "import" if not imported[-1].startswith("pqpp") else owners[-1]
    status, lines = _describe(error, kind, owner)
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout.discard_output()
    sys.stderr.write("".join(f"pqpp: error: {escape_controls(line)}\n" for line in lines))
    return status


class _ClosedOutput(io.TextIOBase):
    """A substitute for a closed standard output, whose `write` raises an error."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "closed; redirect it to a file", "standard output")


def _describe(error: BaseException, kind: type | None, owner: str) -> tuple[int, list[str]]:
    """Return the exit status of an error, and the lines to print."""
    from pqpp_files.atomic_write import find_full_disk_errno
    from pqpp_files.errors import PqppError, describe, is_out_of_memory

    if is_out_of_memory(error):
        return 2, ["out of memory; close other programs, or give fewer rows at a time"]
    from pqpp_files.extras import find_extra, install_command
    from pqpp_files.options.flags import replace_option_names

    package = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ImportError) and (extra := find_extra(package)):
        return 2, [f"this command needs {package}; run: {install_command(extra)}"]
    if isinstance(error, OSError) and error.strerror:
        if error.filename:
            is_cached = "/.cache" in str(error.filename)
            remedy = "; set HF_HOME to a folder that can be written to" if is_cached else ""
            return 2, [f"{error.filename}: {error.strerror}{remedy}"]
        if isinstance(error, FileNotFoundError):
            return 2, ["the working folder no longer exists; change to another one"]
        return 2, [f"standard output or an unnamed file: {error.strerror}"]
    if isinstance(error, OSError | PqppError):
        lines = [" ".join(fault.split()) for fault in str(error).split("\n")]
        return 2, [replace_option_names(line, kind) if kind else line for line in lines]
    if find_full_disk_errno(error):  # of a library's own files
        return 2, ["no space left for files of a library; free space, or set HF_HOME and TMPDIR"]
    line, hint = describe(error), "(PQPP_TRACEBACK=1 prints the traceback)"
    if owner == "import":
        return 2, [f"a library cannot start: {line}; check your environment variables {hint}"]
    if owner in _MODEL_LIBRARIES:
        return 2, [f"the model failed: {line}; download it again, or use another model {hint}"]
    return 1, [f"internal error: {line}; please report the error and the command {hint}"]


if __name__ == "__main__":
    sys.exit(main())
