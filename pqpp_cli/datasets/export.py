"""`pqpp datasets export`: write Parquet files with a card."""

from __future__ import annotations

from typing import ClassVar

from pqpp_cli.command import Command
from pqpp_cli.groups import configurations
from pqpp_files.options.option import NEEDED, option


class DatasetsExport(Command):
    """Write configurations of one benchmark as a folder of Parquet files with a card. The first one
    named becomes the default. The folder loads by load_dataset("FOLDER"), with or without this
    package.
    """

    RETIRED: ClassVar = {"out": "output", "option": "load_option"}
    subset: tuple[str, ...] = option(
        NEEDED,
        "configurations",
        metavar="NAME[,NAME...]",
        word="too",
        commas=True,
        known=configurations,
    )
    output: str = option(NEEDED, "the folder to write", metavar="DIR", path="output")
    data_dir: str | None = option(
        None,
        "read the published files here instead of downloading",
        metavar="DIR",
        path="folder",
    )
    load_option: dict[str, str] | None = option(
        None, "an option of the load, like relevance_rule=majority", metavar="NAME=VALUE"
    )

    def run(self) -> None:
        """Export, and say how many rows went where."""
        from pqpp_datasets.export.export import export
        from pqpp_files.visible import visible

        rows = export(list(self.subset), self.output, self.data_dir, self.load_option or {})
        for (config, split), count in rows.items():
            print(f"{config} {split}: {count} rows")
        print(f"written: {visible(self.output)}")
