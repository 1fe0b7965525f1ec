"""Registration of pqpp's builder for `load_dataset("pqpp")`.

`datasets` has no entry points, so `datasets.load.dataset_module_factory` is wrapped. `load_dataset`
looks it up at each call, so earlier imports of `load_dataset` also work.
"""

import functools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from pqpp_autoload import call_when_imported

DATASET_NAME = "pqpp"
BUILDER_MODULE = "pqpp_datasets.builder"

# Modules of `datasets` that hold a copy of the function under the same name.
_MODULES_WITH_COPIES = ("datasets.inspect", "datasets.commands.test")


def register() -> None:
    """Register the benchmarks with `datasets`, now or when it is imported; idempotent.

    Example:
        >>> register()
    """
    call_when_imported("datasets.load", patch_library)


def patch_library(load_module: ModuleType) -> None:
    """Wrap `dataset_module_factory` of the module `datasets.load`; idempotent."""
    original = load_module.dataset_module_factory
    if getattr(original, "_resolves_pqpp", False):
        return

    @functools.wraps(original)
    def dataset_module_factory(path, *args, **kwargs):
        if path != DATASET_NAME:
            return original(path, *args, **kwargs)
        for name in ("revision", "data_files"):  # would otherwise be ignored
            if kwargs.get(name) is not None:
                from pqpp_datasets.errors import BenchmarkError

                remedy = 'choose a configuration, such as "pqpp-v1.0", or set data_dir= to a folder'
                raise BenchmarkError(f'load_dataset("pqpp") does not accept {name}=; {remedy}')
        builder_kwargs = {"dataset_name": DATASET_NAME}
        return load_module.DatasetModule(BUILDER_MODULE, get_data_version(), builder_kwargs)

    dataset_module_factory._resolves_pqpp = True  # type: ignore[attr-defined]
    module: Any
    for module in (load_module, *map(sys.modules.get, _MODULES_WITH_COPIES)):
        if getattr(module, "dataset_module_factory", None) is original:
            module.dataset_module_factory = dataset_module_factory


@functools.cache
def get_data_version() -> str:
    """Return a hash of the code and pinned sources that determine the rows.

    It includes the parsers, their data files and the metric functions that they call. `datasets`
    caches prepared data under this key, so a new parser or release never uses older rows.

    Example:
        >>> len(get_data_version())
        64
    """
    from pqpp_files.hashes import hash_parts

    root = Path(__file__).parents[1]
    # All metric functions are hashed, as parsing again takes only a second.
    folders = (root / "pqpp_datasets", root / "pqpp_files", root / "pqpp_metrics" / "functional")
    suffixes = (".py", ".json", ".toml", ".lark")
    files = sorted(path for f in folders for path in f.rglob("*") if path.suffix in suffixes)
    return hash_parts(
        part for f in files for part in (f"{f.parent.name}/{f.name}\0", f.read_bytes(), b"\0")
    )
