"""What the builder must know of a benchmark: one record a configuration of `load_dataset`."""

import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pqpp_datasets.target_columns import Target, as_tuple, write_targets
from pqpp_files.foreign.json_values import read_json

# The licence of the data, as its publishers call it -> its identifier on the Hub, and its address
# (a benchmark's home where the licence has none).
LICENCES = read_json(Path(__file__).with_name("licences.json"))


def make_features(
    schema: pa.Schema, targets: Sequence[Target] = ()
) -> Callable[[Mapping[str, object]], object]:
    """Return a record's `features` for columns that do not depend on options, with targets."""

    def features(options: Mapping[str, object]):
        from datasets import Features

        return write_targets(Features.from_arrow_schema(schema), targets)

    return features


def make_file_finder(
    *patterns: str | tuple[str, ...],
) -> Callable[[Path | None, str], tuple[str, ...]]:
    """Return a record's `files` for files of known names, `{split}` in their place.

    Args:
        patterns: One per file; of several names for one file, the first that exists counts.

    Example:
        >>> make_file_finder("data/{split}.csv", ("as/published.csv", "flat.csv"))(None, "test")
        ('data/test.csv', 'as/published.csv')
    """

    def list_files(folder: Path | None, split: str) -> tuple[str, ...]:
        every = [(p,) if isinstance(p, str) else p for p in patterns]
        there = [[name for name in names if folder and (folder / name).exists()] for names in every]
        names = ((*found, *all_names)[0] for found, all_names in zip(there, every, strict=True))
        return tuple(name.format(split=split) for name in names)

    return list_files


def get_size_category(rows: int) -> str:
    """Return the Hub's key of a dataset's size.

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
        version: The release that it reads.
        description: A reader's description of a row.
        splits: The splits, in order.
        features: Gives the `datasets.Features`, for the options of this load.
        read: Reads one split of a folder into a table, or gives tables one after the other; called
            with folder, split and the options.
        licence: The data's licence, a key of `LICENCES`.
        year: Year of publication.
        citation: BibTeX.
        homepage: Homepage of the data.
        folders: The folders below `PQPP_DATA_DIR` that may contain it, the best first; the first
            one is also what is downloaded. Empty for a benchmark that needs no files.
        files: The published files that a split needs, as paths below its folder.
        optional_files: Published files that add to the rows if they exist.
        version_in: Returns the release in a folder, if `folders` contain several.
        options: The load options besides `data_dir`. Each has a function that checks its value and
            returns its text in the cache key.
        rows: Split to its published number of rows, if that is known.
        images: Address, size and layout of the images; empty if there are none.
        tasks: `task_categories` of its card, keys of the Hub.
        annotators: `annotations_creators` of its card, keys of the Hub.
    """

    name: str
    version: str
    description: str
    splits: tuple[str, ...]
    features: Callable[[Mapping[str, object]], Any]
    read: Callable[[Any, str, Mapping[str, Any]], pa.Table | Iterator[pa.Table]]
    licence: str = ""
    year: int = 0
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
        """What its configurations have in common: one folder of files, and one card."""
        return self.folders[0].split("/")[0] if self.folders else self.name

    def tables(self, folder: Path | None, split: str, **options: object) -> Iterator[pa.Table]:
        """Read a split, a table at a time."""
        found = self.read(folder, split, options)
        yield from [found] if isinstance(found, pa.Table) else found


def load_entry(name: str, **code: Any) -> Benchmark:
    """Return a benchmark with its entry in `benchmarks.toml`.

    Args:
        code: Further arguments of `Benchmark`: `features`, `read` and so on.

    Example:
        >>> load_entry("vistar", features=dict, read=dict).splits
        ('core', 'hard')
    """
    facts = dict(_read_facts()[name])
    facts = _read_facts().get(facts.pop("like", ""), {}) | facts
    facts.setdefault("splits", [*facts.get("rows", ())])
    entry = {key: as_tuple(value) for key, value in facts.items()}
    return Benchmark(name=name, **entry, **code)


@functools.cache
def _read_facts() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("benchmarks.toml").read_text("utf-8"))
