"""The record of a benchmark: what the dataset builder needs for a configuration."""

import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pqpp_datasets.target_columns import Target, as_tuple, format_description
from pqpp_files.foreign.json_values import read_json

LICENCES = read_json(Path(__file__).with_name("licences.json"))
"""The Hub's key and the URL ("" for the homepage) of each licence, by the publisher's name."""


def make_features(
    schema: pa.Schema, targets: Sequence[Target] = ()
) -> Callable[[Mapping[str, object]], object]:
    """Return a function for `Benchmark.features` that returns the same features for all options."""

    def build_features(options: Mapping[str, object]):
        from datasets import Features

        features = Features.from_arrow_schema(schema)
        for target in targets:
            features[target.name].id = format_description(target)
        return features

    return build_features


def make_file_finder(
    *patterns: str | tuple[str, ...],
) -> Callable[[Path | None, str], tuple[str, ...]]:
    """Return a function for `Benchmark.files` that lists files by name patterns.

    Args:
        patterns: A name per file, or a tuple of alternative names: the first existing one is
            listed, or the first if none exists. `{split}` stands for the split.

    Example:
        >>> make_file_finder("data/{split}.csv", ("as/published.csv", "flat.csv"))(None, "test")
        ('data/test.csv', 'as/published.csv')
    """

    def list_files(folder: Path | None, split: str) -> tuple[str, ...]:
        paths = []
        for pattern in patterns:
            names = (pattern,) if isinstance(pattern, str) else pattern
            existing = [name for name in names if folder and (folder / name).exists()]
            paths.append((existing or names)[0].format(split=split))
        return tuple(paths)

    return list_files


def get_size_category(rows: int) -> str:
    """Return the Hub's size category for a number of rows.

    Example:
        >>> get_size_category(999), get_size_category(1000), get_size_category(10**12)
        ('n<1K', '1K<n<10K', 'n>1T')
    """
    if rows < 1000:
        return "n<1K"
    steps = ["1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T"]
    digits = len(str(rows)) - 4
    return f"{steps[digits]}<n<{steps[digits + 1]}" if digits + 1 < len(steps) else "n>1T"


@dataclass(frozen=True)
class Benchmark:
    """A configuration of `load_dataset("pqpp", <name>)`.

    Attributes:
        version: Version of the data release.
        description: Description of a row.
        features: Returns the `datasets.Features` for options of a load.
        read: Reads a split, given the folder, split and options; returns a table or an iterator of
            tables.
        licence: The data's licence, a key of `LICENCES`.
        citation: BibTeX entry.
        homepage: URL of the data.
        folders: Folders below `PQPP_DATA_DIR` that can contain the data, best first; the first one
            is downloaded if none exists. Empty for a benchmark without files.
        files: Returns the paths of a split's files in a folder (None if unknown).
        optional_files: Further files to read if they exist.
        version_in: Returns the version of the data in a folder, if there are several versions.
        options: Load options besides `data_dir`, by name: functions that check a value and return
            its key in the cache.
        rows: Published number of rows by split, if known.
        images: URL, size and layout of the images; "" without images.
        tasks: The card's `task_categories`, as the Hub defines them.
        annotators: The card's `annotations_creators`, as the Hub defines them.
    """

    name: str
    version: str
    description: str
    splits: tuple[str, ...]
    features: Callable[[Mapping[str, object]], Any]
    read: Callable[[Any, str, Mapping[str, Any]], pa.Table | Iterator[pa.Table]]
    licence: str = ""
    citation: str = ""
    homepage: str = ""
    folders: tuple[str, ...] = ()
    files: Callable[[Any, str], tuple[str, ...]] = field(default=lambda folder, split: ())
    optional_files: tuple[str, ...] = ()
    version_in: Callable[[Path], str] | None = None
    options: Mapping[str, Callable[[object], str]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    images: str = ""
    tasks: tuple[str, ...] = ("text-to-image",)
    annotators: tuple[str, ...] = ("crowdsourced",)

    @property
    def family(self) -> str:
        """Name shared by all configurations with the same files and card."""
        return self.folders[0].split("/")[0] if self.folders else self.name


def load_entry(name: str, **code: Any) -> Benchmark:
    """Create a benchmark from its entry in `benchmarks.toml`.

    Args:
        code: Further arguments of `Benchmark`: `features`, `read` and so on.

    Example:
        >>> load_entry("vistar", features=dict, read=dict).splits
        ('core', 'hard')
    """
    entry = dict(_read_entries()[name])
    entry = _read_entries().get(entry.pop("like", ""), {}) | entry
    entry.setdefault("splits", [*entry.get("rows", ())])
    fields = {key: as_tuple(value) for key, value in entry.items()}
    return Benchmark(name=name, **fields, **code)


@functools.cache
def _read_entries() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("benchmarks.toml").read_text("utf-8"))
