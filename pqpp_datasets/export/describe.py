"""What a benchmark holds, told from what the package knows and from the files that are here.

Nothing large is fetched: a preview needs the files here, or published files of a few megabytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet

from pqpp_datasets.benchmark import LICENCES, Benchmark
from pqpp_datasets.download import download_release
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.export.parquet_folder import CARD, card_data
from pqpp_datasets.location import find_missing_files, has_a_split, local_folder
from pqpp_datasets.sources import release
from pqpp_files.errors import explain
from pqpp_files.paths import join_inside

PREVIEW_ROWS = 3
_SMALL = 5_000_000


@dataclass(frozen=True)
class BenchmarkInfo:
    """What is said of a benchmark.

    Attributes:
        title: Its name, and what one row is.
        facts: Licence, images and so on, a line each.
        splits: (Configuration, split, rows) each; rows are None where no file tells.
        features: The columns of the default configuration, as `datasets.Features`.
        rows: The first rows of its first split.
        no_rows: Why there are none; empty where there are.
    """

    title: str
    facts: Mapping[str, str]
    splits: list[tuple[str, str, int | None]]
    features: Mapping[str, object]
    rows: list[dict] = field(default_factory=list)
    no_rows: str = ""


def get_size(benchmark: Benchmark) -> int | None:
    """Return the bytes of a benchmark's published files; None if unknown.

    Example:
        >>> from pqpp_datasets.benchmarks import BENCHMARKS
        >>> get_size(BENCHMARKS["conqa-candidates"])
        346236
    """
    if not benchmark.folders:
        return 0
    sizes = [source.bytes for source in _sources(benchmark, benchmark.splits)]
    return None if None in sizes or not sizes else sum(sizes)


def describe_benchmark(benchmark: Benchmark, data_dir: str | None = None) -> BenchmarkInfo:
    """Describe a configuration of `load_dataset("pqpp", ...)`.

    Args:
        benchmark: The configuration.
        data_dir: As for `load_dataset`, to show rows from.
    """
    key, address = LICENCES[benchmark.licence]
    facts = {
        "options": ", ".join(["data_dir", *benchmark.options]) if benchmark.folders else "none",
        "licence": f"{benchmark.licence} ({key})" + (f", {address}" if address else ""),
        "home": benchmark.homepage or "this package",
        "images": benchmark.images or "none",
    }
    if benchmark.folders:
        sources, size = _sources(benchmark, benchmark.splits), get_size(benchmark)
        pinned = "verified by SHA-256"
        if not all(source.sha256 for source in sources):
            pinned = "whose SHA-256 is pinned at the first download and verified from then on"
        weight = f"{size:,} bytes" if size else "of unknown size"
        files = [f"{len(sources)}, {weight}, {pinned}", *(source.url for source in sources)]
        nothing = "none is published; give a folder as data_dir="
        facts["files"] = "\n  ".join(files) if sources else nothing
    rows, why = [], ""
    try:
        folder, split = None, benchmark.splits[0]
        if benchmark.folders:
            folder = local_folder(benchmark, data_dir) or _find_download(benchmark)
            whole = [s for s in benchmark.splits if not find_missing_files(benchmark, folder, s)]
            if not whole:
                raise BenchmarkError(f"{folder}: no whole split of {benchmark.name} is here")
            split = whole[0]
        rows = next(benchmark.tables(folder, split))[:PREVIEW_ROWS].to_pylist()
    except BenchmarkError as error:
        why = str(error)
    return BenchmarkInfo(
        f"{benchmark.name} {benchmark.version}: {benchmark.description}",
        facts,
        [(benchmark.name, split, benchmark.rows.get(split)) for split in benchmark.splits],
        benchmark.features({}),
        rows,
        why,
    )


def _sources(benchmark: Benchmark, splits) -> list:
    published = release(benchmark.folders[0])
    wanted = sorted({path for split in splits for path in benchmark.files(None, split)})
    return [source for path in wanted if (source := published.file(path))]


def _find_download(benchmark: Benchmark) -> Path:
    """Return the folder of what was downloaded; what is small is downloaded now."""
    import datasets

    path, published = Path(datasets.config.DOWNLOADED_DATASETS_PATH), release(benchmark.folders[0])
    folder = path / published.folder / published.commit
    if has_a_split(benchmark, folder):
        return folder
    sources = _sources(benchmark, benchmark.splits[:1])
    sizes = [source.bytes for source in sources]
    if not sizes or None in sizes or sum(sizes) > _SMALL:
        raise BenchmarkError("its files are not here; load it, or give --data-dir")
    return download_release(published, [s.path for s in sources], path)


def describe_folder(folder: str | Path, subset: str | None = None) -> BenchmarkInfo:
    """Describe a folder that `export` or `write_benchmark` wrote, here or cloned from the Hub.

    Args:
        folder: The folder.
        subset: Whose columns and rows are shown; the default one if left out.

    Raises:
        BenchmarkError: If it has no card with the files of its splits.
        BenchmarkError: If a file is not as it must be, or there is no such subset.
    """
    from datasets import Features

    folder = Path(folder)
    about = card_data(folder)
    try:  # as we write them; other cards have other forms
        files = {
            (config["config_name"], entry["split"]): [
                join_inside(folder, path.relative_to(folder))
                for path in sorted(folder.glob(entry["path"]))
            ]
            for config in about["configs"]
            for entry in config["data_files"]
        }
    except (KeyError, TypeError, ValueError, NotImplementedError):
        remedy = "give a folder written by pqpp, or a name from `pqpp datasets list`"
        raise BenchmarkError(f"{folder}: no dataset is described here; {remedy}") from None
    names = list(dict.fromkeys(config for config, _ in files))
    if subset is not None and subset not in names:
        raise BenchmarkError(f"{folder}: no subset {subset!r}; there are {', '.join(names)}")
    if lacking := [f"{c} {s}" for (c, s), paths in files.items() if not paths]:
        raise BenchmarkError(f"{folder}: no file of {lacking[0]} is here, which {CARD} names")
    counts = []
    for key, own in files.items():
        with explain(f"{own[0]}: not Parquet, or damaged", "copy it again", BenchmarkError):
            rows = sum(pyarrow.parquet.read_metadata(path).num_rows for path in own)
        counts.append((*key, rows))
    paths = next(paths for (name, _), paths in files.items() if name == (subset or names[0]))
    size = sum(path.stat().st_size for own in files.values() for path in own)
    licence, name = about.get("license") or "none named", about.get("license_name")
    facts = {"licence": f"{name} ({licence})" if name else licence}
    facts["files"] = f"{sum(map(len, files.values()))}, {size:,} bytes"
    title = f"{about.get('pretty_name') or folder.name}: {', '.join(names)}"
    with explain(f"{paths[0]}: not Parquet, or damaged", "copy it again", BenchmarkError):
        file = pyarrow.parquet.ParquetFile(paths[0])
        features = Features.from_arrow_schema(file.schema_arrow)
        head = next(file.iter_batches(PREVIEW_ROWS)).to_pylist() if file.metadata.num_rows else []
    return BenchmarkInfo(title, facts, counts, features, head[:PREVIEW_ROWS])
