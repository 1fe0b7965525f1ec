"""Starting trainers, alone or as several processes, with errors in one line."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pqpp_backbones.errors import ModelError
from pqpp_files.atomic_write import get_full_errno
from pqpp_files.errors import PqppError
from pqpp_files.escape import escape_controls
from pqpp_files.options.flags import to_flags
from pqpp_files.options.option import Options
from pqpp_files.options.recipe import parse_recipe


def run_script(
    train: Callable[[Any], object],
    kind: type[Options],
    description: str | None,
    words: Sequence[str] | None = None,
    prog: str | None = None,
) -> None:
    """Read a trainer's recipe from the command line, and train.

    Args:
        train: Trains a model with a recipe.
        kind: Class of the recipe.
        description: The script's docstring, examples last.
        words: The words after the script's name; default: those of the command line.
        prog: The script's name, for `--help`.

    Raises:
        ModelError: An option is invalid, or the training failed for a reason that the user can
            correct.
    """
    what, _, examples = (description or "").partition("\n\nExamples::\n\n")
    try:
        recipe = parse_recipe(kind, what, examples, sys.argv[1:] if words is None else words, prog)
        with explain_crash():
            train(recipe)
    except PqppError as error:
        raise ModelError(to_flags(str(error), kind)) from error
    finally:
        torch = sys.modules.get("torch")
        if torch and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


@contextlib.contextmanager
def explain_crash() -> Iterator[None]:
    """Explain a crash of a long run and how to resume it.

    Raises:
        ModelError: The memory or the disk was full.

    Example:
        >>> with explain_crash():
        ...     raise MemoryError
        Traceback (most recent call last):
            ...
        pqpp_backbones.errors.ModelError: out of memory; lower ...
    """
    try:
        yield
    except KeyboardInterrupt:
        print("note: resume with --resume-from-checkpoint last", file=sys.stderr)
        raise
    except PqppError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise ModelError(
                "out of memory; lower `per_device_train_batch_size` and raise "
                "`gradient_accumulation_steps`"
            ) from error
        if get_full_errno(error):
            named, said = getattr(error, "filename", None), getattr(error, "strerror", None)
            where = f"{named}: {said}" if named else "no space is left on output_dir's disk"
            line = f"{where}; resume with --resume-from-checkpoint last"
            raise ModelError(line) from error
        raise  # a bug, which must be visible


def run_main(main: Callable[[], Any]) -> None:
    """Call a script's main; an error is printed in one line, with exit code 2.

    Example:
        >>> run_main(lambda: 0)
    """
    try:
        main()
    except (PqppError, OSError) as error:
        print(f"error: {escape_controls(str(error))}", file=sys.stderr)
        sys.exit(2)
