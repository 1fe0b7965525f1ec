"""Makes `load_dataset("pqpp")` resolve to our builder; every other name is left alone.

`datasets` has no entry points: what is wrapped is `datasets.load.dataset_module_factory`, which the
library looks up at each call, so an earlier `from datasets import load_dataset` is fine.
"""

import functools
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from pqpp_autoload import call_when_imported

DATASET_NAME = "pqpp"
BUILDER_MODULE = "pqpp_datasets.builder"

# Modules of `datasets` that hold a copy of the function under the same name.
_COPIES = ("datasets.inspect", "datasets.commands.test")
_lock = threading.Lock()


def register() -> None:
    """Register the benchmarks with `datasets`, now or as soon as it is imported.

    Calling it again changes nothing. `datasets` itself is not imported.

    Example:
        >>> register()
    """
    call_when_imported("datasets.load", patch)


def patch(load_module: ModuleType) -> None:
    """Wrap `dataset_module_factory` of the imported module `datasets.load`; idempotent."""
    with _lock:
        original = load_module.dataset_module_factory
        if getattr(original, "_resolves_pqpp", False):
            return

    @functools.wraps(original)
    def dataset_module_factory(path, *args, **kwargs):
        if path != DATASET_NAME:
            return original(path, *args, **kwargs)
        for name in ("revision", "data_files"):  # without them something else would be loaded
            if kwargs.get(name) is not None:
                from pqpp_datasets.errors import BenchmarkError

                remedy = 'choose a configuration, like "pqpp-v1.0", or a folder by data_dir='
                raise BenchmarkError(f'load_dataset("pqpp") does not accept {name}=; {remedy}')
        named = {"dataset_name": DATASET_NAME}
        return load_module.DatasetModule(BUILDER_MODULE, get_data_version(), named)

    dataset_module_factory._resolves_pqpp = True  # type: ignore[attr-defined]
    module: Any
    for module in (load_module, *map(sys.modules.get, _COPIES)):
        if getattr(module, "dataset_module_factory", None) is original:
            module.dataset_module_factory = dataset_module_factory


@functools.cache
def get_data_version() -> str:
    """Return the cache key of everything that decides the rows: our code and the pinned sources.

    Of the code these are the parsers, what they read files by, and the functions of the metrics
    that they call, such as ConQA's vote rules. `datasets` keeps prepared data under this key, so
    that a new release of the data or a corrected parser never meets rows of an older one.

    Example:
        >>> len(get_data_version())
        64
    """
    from pqpp_files.hashes import hash_parts

    top = Path(__file__).parents[1]
    # Which of the functions a parser calls is not told apart: parsing again takes a second.
    folders = (top / "pqpp_datasets", top / "pqpp_files", top / "pqpp_metrics" / "functional")
    kinds = (".py", ".json", ".toml", ".lark")
    files = sorted(path for f in folders for path in f.rglob("*") if path.suffix in kinds)
    return hash_parts(
        part for f in files for part in (f"{f.parent.name}/{f.name}\0", f.read_bytes(), b"\0")
    )
