"""`pqpp datasets list`: name every configuration."""

from __future__ import annotations

from pqpp_cli.command import Command


class DatasetsList(Command):
    """Name every configuration, with its splits, size and licence."""

    def run(self) -> None:
        """Print them as a table."""
        from tabulate import tabulate

        from pqpp_datasets.benchmarks import BENCHMARKS, DEFAULT
        from pqpp_datasets.export.describe import size_of

        rows = [
            (
                b.name + (" (default)" if b.name == DEFAULT else ""),
                ", ".join(f"{split} {b.rows[split]:,}" if b.rows else split for split in b.splits),
                f"{size:,}" if (size := size_of(b)) is not None else "not known",
                b.licence,
            )
            for b in BENCHMARKS.values()
        ]
        header = ("configuration", "splits and rows", "bytes", "licence")
        print(tabulate(rows, header, tablefmt="simple", disable_numparse=True))
