"""Loading a benchmark by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets


def load_benchmark(name: str = "pqpp", **options: Any) -> datasets.DatasetDict | datasets.Dataset:
    """Load a benchmark: `datasets.load_dataset("pqpp", name, ...)`.

    Args:
        name: One of `list_benchmarks()`.
        options: What `load_dataset` takes: `split`, `data_dir`, `streaming` and so on.

    Raises:
        OptionError: No benchmark is called so.

    Example:
        >>> load_benchmark("sample", split="test").column_names[:3]
        ['prompt_id', 'source', 'prompt']
    """
    import datasets

    from pqpp_datasets.errors import OptionError
    from pqpp_datasets.registration import register
    from pqpp_files.names import did_you_mean

    if name not in (names := list_benchmarks()):
        raise OptionError(f"no benchmark is called {name!r}; {did_you_mean(name, names)}")
    register()  # also where the start-up files are switched off
    return datasets.load_dataset("pqpp", name, **options)


def list_benchmarks() -> list[str]:
    """Return the names that `load_benchmark` takes, the default one first.

    Example:
        >>> list_benchmarks()[0]
        'pqpp'
    """
    from pqpp_datasets.benchmarks import BENCHMARKS

    return list(BENCHMARKS)
