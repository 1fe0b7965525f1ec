"""Descriptions of benchmarks, without reading their files."""

from collections.abc import Mapping
from itertools import chain

from pqpp_datasets.benchmark import LICENCES, Benchmark
from pqpp_datasets.sources import PublishedFile, get_release


def get_download_size(benchmark: Benchmark) -> int | None:
    """Return the size of a benchmark's published files in bytes; None if unknown.

    Example:
        >>> from pqpp_datasets.benchmarks import BENCHMARKS
        >>> get_download_size(BENCHMARKS["conqa-candidates"])
        346236
    """
    if not benchmark.folders:
        return 0
    sizes = [file.bytes for file in _find_published_files(benchmark)]
    return None if None in sizes or not sizes else sum(filter(None, sizes))


def describe_benchmark(benchmark: Benchmark) -> Mapping[str, str]:
    """Return a benchmark's load options, licence, home page, images and files, in words.

    Example:
        >>> from pqpp_datasets.benchmarks import BENCHMARKS
        >>> describe_benchmark(BENCHMARKS["conqa"])["options"]
        'data_dir, relevance_rule'
    """
    key, address = LICENCES[benchmark.licence]
    facts = {
        "options": ", ".join(["data_dir", *benchmark.options]) if benchmark.folders else "none",
        "licence": f"{benchmark.licence} ({key})" + (f", {address}" if address else ""),
        "home": benchmark.homepage or "this package",
        "images": benchmark.images or "none",
    }
    if benchmark.folders:
        files, size = _find_published_files(benchmark), get_download_size(benchmark)
        pinned = "verified by SHA-256"
        if not all(file.sha256 for file in files):
            pinned = "whose SHA-256 is pinned at the first download and verified from then on"
        about = f"{len(files)}, {f'{size:,} bytes' if size else 'of unknown size'}, {pinned}"
        none = "none published; set data_dir= to a folder"
        facts["files"] = "\n  ".join([about, *(file.url for file in files)]) if files else none
    return facts


def _find_published_files(benchmark: Benchmark) -> list[PublishedFile]:
    published = get_release(benchmark.folders[0])
    paths = chain.from_iterable(benchmark.files(None, split) for split in benchmark.splits)
    return [file for path in sorted({*paths}) if (file := published.find_file(path))]
