"""What the builder must know of a benchmark: one record a configuration of `load_dataset`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa


@dataclass(frozen=True)
class Benchmark:
    """A configuration of `load_dataset("pqpp", <name>)`.

    Attributes:
        name: The configuration's name.
        version: The version of the release it reads.
        description: What one row is, for a reader.
        splits: The names of its splits, in order.
        features: Gives the `datasets.Features`, for the options of this load.
        read: Reads one split of a folder into a table; called with folder, split and the options.
            A benchmark in parts has `read_parts` instead.
        folders: The folders below `PQPP_DATA_DIR` that may hold it, the best first; the first one
            is also what is downloaded. Empty for a benchmark that needs no files.
        files: The published files that a split needs, as paths below its folder.
        optional_files: Published files that add to the rows where they are there.
        options: The load options that it takes beside `data_dir`. Each has a function of its value
            that refuses a bad one and returns what stands for it in the cache key.
        parts: Cuts a split into a list of parts that processes may share; called as `read` is.
        read_parts: Reads some parts of a split, in order, a table at a time; called with folder,
            split, the options and the list of parts.
        citation: BibTeX.
        licence: Of the data.
        homepage: Of the data.
    """

    name: str
    version: str
    description: str
    splits: tuple[str, ...]
    features: Callable[[Mapping[str, object]], object]
    read: Callable[[Path | None, str, Mapping[str, object]], pa.Table] | None = None
    folders: tuple[str, ...] = ()
    files: Callable[[Path | None, str], tuple[str, ...]] = field(default=lambda folder, split: ())
    optional_files: tuple[str, ...] = ()
    options: Mapping[str, Callable[[object], str]] = field(default_factory=dict)
    parts: Callable[[Path, str, Mapping[str, object]], list] | None = None
    read_parts: Callable[[Path, str, Mapping[str, object], list], Iterator[pa.Table]] | None = None
    citation: str = ""
    licence: str = ""
    homepage: str = ""

    @property
    def family(self) -> str:
        """What its configurations have in common: one folder of files, and one card."""
        return self.folders[0].split("/")[0] if self.folders else self.name
