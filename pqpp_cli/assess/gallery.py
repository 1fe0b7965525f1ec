"""`pqpp assess gallery`: show tables of verdicts as one HTML page."""

from __future__ import annotations

from pqpp_cli.assess.groups import Gallery
from pqpp_cli.command import Command
from pqpp_cli.outputs import PAGES
from pqpp_files.options.option import NEEDED, option


class AssessGallery(Gallery, Command):
    """Show images with verdicts, reasons, scores, and boxes or heatmaps drawn over them, filtered
    by task, model and verdict, those on which people differ first.
    """

    EPILOG = "examples:\n  pqpp assess gallery verdicts.parquet --image-dir images"
    file: tuple[str, ...] = option(
        NEEDED, "tables that pqpp assess wrote", metavar="FILE", path="file", word=True
    )
    image_dir: str = option(NEEDED, "the images")
    people: str | None = option(None, "people's answers: image (or prompt_id, model), matched")
    output: str = option(
        "gallery.html", "the page", metavar="FILE", path="output file", endings=PAGES
    )

    def run(self) -> None:
        """Write the page."""
        self.write_page(self.file, self.output)
