"""`pqpp datasets show`: print rows, sizes, licence, columns and first rows of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pqpp_cli.command import Command
from pqpp_cli.groups import configurations
from pqpp_files.options.option import NEEDED, option

_CELL = 32
_PLAIN: dict[str, Any] = {"tablefmt": "simple", "disable_numparse": True}


class DatasetsShow(Command):
    """Print what a benchmark holds: rows, sizes, licence, columns, three rows, and where its images
    are. Nothing large is downloaded.
    """

    dataset: str = option(
        NEEDED,
        "the configuration, or a folder that export or build wrote",
        metavar="CONFIGURATION",
        path="name",
        word="too",
        known=configurations,
    )
    subset: str | None = option(None, "of a folder: its configuration", metavar="NAME")
    data_dir: str | None = option(
        None, "show rows of the published files here", metavar="DIR", path="folder"
    )

    def run(self) -> None:
        """Describe it and print that."""
        from tabulate import tabulate

        from pqpp_datasets.benchmarks import BENCHMARKS, benchmark_of
        from pqpp_datasets.export.describe import describe_benchmark, describe_folder
        from pqpp_files.visible import visible

        if self.dataset not in BENCHMARKS and Path(self.dataset).is_dir():
            described = describe_folder(self.dataset, self.subset)
        else:
            described = describe_benchmark(benchmark_of(self.dataset), self.data_dir)
        print(visible(described.title) + "\n")
        for name, fact in described.facts.items():
            print(f"{name}: {fact}" if name == "files" else visible(f"{name}: {fact}"))
        rows = [(c, s, "not known" if n is None else f"{n:,}") for c, s, n in described.splits]
        print("\n" + tabulate(rows, ("configuration", "split", "rows"), **_PLAIN))
        columns = [
            (
                visible(name),
                visible(_kind(feature)),
                *(_cell(row.get(name)) for row in described.rows),
            )
            for name, feature in described.features.items()
        ]
        header = ("column", "type", *(f"row {n}" for n in range(1, len(described.rows) + 1)))
        print("\n" + tabulate(columns, header, **_PLAIN))
        if described.no_rows:
            print("\n" + visible(f"no row to show: {described.no_rows}"))


def _cell(value: object) -> str:
    """Show a value in a few characters; an image by its size, a long list by its length."""
    from pqpp_files.visible import visible

    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes):
        return f"image, {len(value['bytes']):,} bytes"
    text = "" if value is None else visible(" ".join(str(value).split()))
    return text if len(text) <= _CELL else text[: _CELL - 3] + "..."


def _kind(feature: Any) -> str:
    """Say what a column holds, in a word or two."""
    if isinstance(feature, dict):
        return "{" + ", ".join(feature) + "}"
    inner = getattr(feature, "feature", None)
    if inner is not None:
        return f"list of {_kind(inner)}"
    return getattr(feature, "dtype", None) or type(feature).__name__.lower()
