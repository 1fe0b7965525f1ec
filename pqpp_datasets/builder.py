"""The `DatasetBuilder` of `load_dataset("pqpp", <configuration>)`."""

import logging
import re
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
from datasets.exceptions import DatasetGenerationError

from pqpp_datasets import location
from pqpp_datasets.benchmark import Benchmark
from pqpp_datasets.benchmarks import BENCHMARKS, DEFAULT
from pqpp_datasets.download import download_release
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.sources import get_release
from pqpp_datasets.tables import REMEDY
from pqpp_files.errors import PqppError, reraise

logger = logging.getLogger(__name__)


class _Configuration(datasets.BuilderConfig):
    """The configuration and options of one `load_dataset` call."""

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark of this configuration."""
        return BENCHMARKS[self.name]

    def collect_options(self) -> dict[str, object]:
        """Return the options that are set, and refuse options of other benchmarks."""
        set_options = {name: getattr(self, name) for name in OPTIONS if getattr(self, name)}
        if self.data_dir and not self.benchmark.folders:
            raise BenchmarkError(f"{self.name} does not accept data_dir=; remove data_dir=")
        if unknown := [name for name in set_options if name not in self.benchmark.options]:
            benchmarks = [b.name for b in BENCHMARKS.values() if unknown[0] in b.options]
            hint = f"remove {unknown[0]}= (an option of {' and '.join(benchmarks)})"
            raise BenchmarkError(f"{self.name} does not accept {unknown[0]}=; {hint}")
        return set_options

    def create_config_id(self, config_kwargs, custom_features=None) -> str:
        """Return the name of the cache folder, which depends on file contents and options."""
        kwargs = {k: v for k, v in config_kwargs.items() if k != "data_dir"}
        folder = location.find_local_folder(self.benchmark, self.data_dir)
        get_version = self.benchmark.version_in
        self.version = get_version(folder) if get_version and folder else self.benchmark.version
        if folder is not None:
            kwargs["data"] = location.hash_needed_files(self.benchmark, folder)
        for name, value in self.collect_options().items():
            kwargs[name] = self.benchmark.options[name](value)
        return super().create_config_id(kwargs, custom_features=custom_features)


# The options of all benchmarks are fields, None if not set.
OPTIONS = sorted({name for benchmark in BENCHMARKS.values() for name in benchmark.options})
_FIELDS = [(name, str | None, None) for name in OPTIONS]
PqppConfig = make_dataclass("PqppConfig", _FIELDS, bases=(_Configuration,))
PqppConfig.__module__ = __name__  # for pickling


class Pqpp(datasets.ArrowBasedBuilder):
    """The builder of all configurations: finds or downloads files and reads splits into Arrow."""

    BUILDER_CONFIG_CLASS = PqppConfig
    BUILDER_CONFIGS = [  # noqa: RUF012 (the library's own spelling)
        PqppConfig(name=b.name, version=b.version, description=b.description)
        for b in BENCHMARKS.values()
    ]
    DEFAULT_CONFIG_NAME = DEFAULT

    def _info(self) -> datasets.DatasetInfo:
        benchmark = self.config.benchmark
        return datasets.DatasetInfo(
            description=benchmark.description,
            features=benchmark.features(self.config.collect_options()),
            homepage=benchmark.homepage,
            citation=benchmark.citation,
            license=benchmark.licence,
        )

    def _split_generators(self, dl_manager):
        benchmark = self.config.benchmark
        folder, splits = None, list(benchmark.splits)
        if benchmark.folders:
            folder = location.find_local_folder(benchmark, self.config.data_dir)
            if folder is None:
                folder = _download(benchmark, dl_manager.download_config)
            else:
                location.compare_with_published(benchmark, folder)
            if not (splits := location.find_splits(benchmark, folder)):
                raise _make_missing_error(benchmark, folder, benchmark.splits[0])
        return [datasets.SplitGenerator(s, {"folder": folder, "split": s}) for s in splits]

    def _generate_tables(self, folder, split):
        with reraise(f"{folder}: the split {split} is damaged", REMEDY, BenchmarkError):
            tables = self.config.benchmark.read(folder, split, self.config.collect_options())
            for index, table in enumerate([tables] if isinstance(tables, pa.Table) else tables):
                yield (0, index), table

    def download_and_prepare(self, *args: Any, **kwargs: Any) -> None:
        """Prepare the data; raise a `PqppError` without the error that `datasets` adds."""
        try:
            return super().download_and_prepare(*args, **kwargs)
        except DatasetGenerationError as error:
            if isinstance(error.__cause__, PqppError):
                raise error.__cause__.with_traceback(None) from None
            raise

    def as_dataset(self, split: Any = None, **kwargs: Any) -> Any:
        """Return a split; raise a `BenchmarkError` if its files are not in the folder."""
        benchmark = self.config.benchmark
        missing_splits = set(benchmark.splits).difference(self.info.splits or benchmark.splits)
        for name in missing_splits.intersection(re.findall(r"\w+", str(split))):
            if folder := location.find_local_folder(benchmark, self.config.data_dir):
                raise _make_missing_error(benchmark, folder, name)
        return super().as_dataset(split, **kwargs)


def _make_missing_error(benchmark: Benchmark, folder: Path, split: str) -> BenchmarkError:
    missing = next(iter(location.find_missing_files(benchmark, folder, split)), folder)
    remedy = f"set data_dir= to the folder that contains the files of {benchmark.name}"
    return BenchmarkError(f"{missing} not found; {remedy}")


def _download(benchmark: Benchmark, config: datasets.DownloadConfig) -> Path:
    published = get_release(benchmark.folders[0])
    paths = sorted({p for s in benchmark.splits for p in benchmark.files(None, s)})
    if not published.files:
        remedy = f"set data_dir= to the folder that contains {', '.join(paths)}"
        raise BenchmarkError(f"the files of {benchmark.name} are not published; {remedy}")
    cache_dir = Path(config.cache_dir or datasets.config.DOWNLOADED_DATASETS_PATH)
    force = bool(config.force_download)
    folder = download_release(published, paths, cache_dir, force=force)
    try:
        download_release(published, benchmark.optional_files, cache_dir, force=force)
    except BenchmarkError as error:
        logger.warning("%s: optional files are missing (%s)", benchmark.name, error)
    return folder
