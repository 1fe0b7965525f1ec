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
    key, url = LICENCES[benchmark.licence]
    details = {
        "options": ", ".join(["data_dir", *benchmark.options]) if benchmark.folders else "none",
        "licence": f"{benchmark.licence} ({key})" + (f", {url}" if url else ""),
        "home": benchmark.homepage or "this package",
        "images": benchmark.images or "none",
    }
    if benchmark.folders:
        files, size = _find_published_files(benchmark), get_download_size(benchmark)
        check = "verified by SHA-256"
        if not all(file.sha256 for file in files):
            check = "whose SHA-256 is pinned at the first download and verified from then on"
        summary = f"{len(files)}, {f'{size:,} bytes' if size else 'of unknown size'}, {check}"
        details["files"] = "\n  ".join([summary, *(file.url for file in files)])
        if not files:
            details["files"] = "none published; set data_dir= to a folder"
    return details


def _find_published_files(benchmark: Benchmark) -> list[PublishedFile]:
    release = get_release(benchmark.folders[0])
    paths = chain.from_iterable(benchmark.files(None, split) for split in benchmark.splits)
    return [file for path in sorted({*paths}) if (file := release.find_file(path))]
