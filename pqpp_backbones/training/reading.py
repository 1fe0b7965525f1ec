"""Errors in loading datasets."""

import contextlib
import errno
from collections.abc import Iterator

from pqpp_files.atomic_write import convert_write_errors, find_full_disk_errno
from pqpp_files.errors import PqppError, describe
from pqpp_hub.reasons import find_hub_reason


@contextlib.contextmanager
def explain_load_errors(dataset: str, remedy: str) -> Iterator[None]:
    """Convert errors in loading a dataset within a block to `PqppError`.

    Example:
        >>> with explain_load_errors("poems", "check `dataset`"):
        ...     raise FileNotFoundError("no data")
        Traceback (most recent call last):
            ...
        pqpp_files.errors.PqppError: poems cannot be loaded (no data); check ...
    """
    import datasets
    from datasets.exceptions import DatasetGenerationError, DatasetsError

    try:
        yield
    except PqppError:
        raise
    except Exception as error:
        if isinstance(error.__cause__, PqppError):
            raise error.__cause__ from None
        if find_full_disk_errno(error):
            with convert_write_errors(datasets.config.HF_DATASETS_CACHE):
                raise
        # Messages of the Hub's client may contain a token in request headers.
        if reason := find_hub_reason(error):
            raise PqppError(f"the dataset {dataset} {reason}") from None
        expected = (OSError, ValueError, KeyError, RuntimeError, DatasetsError)
        is_generated = isinstance(error, DatasetGenerationError)
        if (is_generated and dataset == "pqpp") or not isinstance(error, expected):
            raise  # a bug, which must be visible
        if isinstance(error, PermissionError) or getattr(error, "errno", 0) == errno.EROFS:
            remedy = "set HF_HOME to a folder that you may write to, or check your permissions"
        cause = (error.__cause__ if is_generated else None) or error
        reason = describe(cause, named=False).rstrip(".")
        raise PqppError(f"{dataset} cannot be loaded ({reason}); {remedy}") from None
