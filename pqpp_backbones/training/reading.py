"""Why a dataset cannot be loaded, in one line."""

import contextlib
from collections.abc import Iterator

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.atomic_write import is_full, naming
from pqpp_files.errors import PqppError
from pqpp_hub.reasons import find_reason


@contextlib.contextmanager
def reading(dataset: str, remedy: str) -> Iterator[None]:
    """Say in one line why the block's dataset cannot be loaded; errors of ours pass as they are.

    Example:
        >>> with reading("poems", "check `dataset`"):
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
        if isinstance(error.__cause__, BenchmarkError):
            raise error.__cause__ from None
        if is_full(error):
            with naming(datasets.config.HF_DATASETS_CACHE):
                raise
        if dataset == "pqpp" and isinstance(error, DatasetGenerationError):
            raise  # a defect of our own reader, which must be seen
        # The texts of the Hub's client may hold request headers, and with them a token.
        refused = find_reason(error)
        if refused is not None:
            raise PqppError(f"the dataset {dataset} {refused}") from None
        if not isinstance(error, (OSError, ValueError, KeyError, RuntimeError, DatasetsError)):
            raise
        inner = error.__cause__ if isinstance(error, DatasetGenerationError) else error
        # A KeyError's text is its key in quotes.
        text = " ".join(str(inner.args[0] if isinstance(inner, KeyError) else inner).split())
        reason = text.rstrip(".")[:300] or type(inner).__name__
        raise PqppError(f"{dataset} cannot be loaded ({reason}); {remedy}") from None
