"""Entry points of the training scripts."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pqpp_backbones.errors import ModelError
from pqpp_files.atomic_write import find_full_disk_errno
from pqpp_files.errors import PqppError
from pqpp_files.escape import escape_controls
from pqpp_files.options.flags import replace_option_names
from pqpp_files.options.option import Options
from pqpp_files.options.recipe import parse_recipe


def run_script(
    train: Callable[[Any], object],
    kind: type[Options],
    description: str | None,
    words: Sequence[str] | None = None,
    prog: str | None = None,
) -> None:
    """Parse the recipe of a training script from the command line, and train.

    Args:
        train: A function that trains a model with a recipe.
        kind: The class of the recipe.
        description: The docstring of the script, with its examples at the end.
        words: The arguments; default: those of the command line.
        prog: The name of the script in `--help`.

    Raises:
        ModelError: An option is invalid, or training failed.
    """
    what, _, examples = (description or "").partition("\n\nExamples::\n\n")
    try:
        recipe = parse_recipe(kind, what, examples, sys.argv[1:] if words is None else words, prog)
        with explain_crash():
            train(recipe)
    except PqppError as error:
        raise ModelError(replace_option_names(str(error), kind)) from error
    finally:
        torch = sys.modules.get("torch")
        if torch and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


@contextlib.contextmanager
def explain_crash() -> Iterator[None]:
    """Convert errors for full memory or disk in a block to an error that says how to continue.

    Raises:
        ModelError: The memory or the disk is full.

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
        if find_full_disk_errno(error):
            path, reason = getattr(error, "filename", None), getattr(error, "strerror", None) or ""
            fault = f"{path}: {reason.partition(';')[0]}"  # it continues with another remedy
            where = fault if path else "the disk of `output_dir` is full"
            raise ModelError(f"{where}; free space and resume from checkpoint `last`") from error
        raise  # a bug, which must be visible


def run_or_exit(main: Callable[[], Any]) -> None:
    """Call the main function of a script; print an error and exit with status 2.

    Example:
        >>> run_or_exit(lambda: 0)
    """
    try:
        main()
    except (PqppError, OSError) as error:
        print(f"error: {escape_controls(str(error))}", file=sys.stderr)
        sys.exit(2)
