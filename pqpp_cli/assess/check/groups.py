"""What the commands of `pqpp assess check` share."""

from __future__ import annotations

import sys

from pqpp_cli.errors import CommandError
from pqpp_cli.groups import FigureTables
from pqpp_feedback.assess.options import AssessorOptions
from pqpp_files.options.option import option


class Checking(FigureTables, AssessorOptions):
    """A check of an assessor, whose options stand beside these and open it."""

    photos: str | None = option(
        None, "photographs with a table of truth in place of drawn scenes", path="images"
    )
    scenes: int = option(200, "how many are drawn", metavar="N", least=1, below=100_000)
    batch_size: int = option(16, "images at once", metavar="N", least=1)

    def __post_init__(self) -> None:
        """Refuse kept evidence, which is of other images."""
        super().__post_init__()
        if self.evidence:
            raise CommandError("`evidence`: a check looks at scenes of its own; leave it out")

    def run(self) -> None:
        """Print the tables."""
        from pqpp_feedback.check.known_answers import check

        report = check(
            self.open(),
            self.photos,
            self.scenes,
            batch_size=self.batch_size,
            progress=sys.stderr.isatty(),
        )
        self.show("Known answers", [report.scores, report.models], report.notes)
