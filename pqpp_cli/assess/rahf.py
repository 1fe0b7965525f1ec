"""`pqpp assess rahf`: scores, heatmaps and misaligned words by a RAHF model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pqpp_cli.assess import EPILOG
from pqpp_cli.assess.groups import Assessing
from pqpp_cli.command import Command
from pqpp_feedback.assessors.rahf import RahfOptions
from pqpp_files.options.option import option


class AssessRahf(Assessing, RahfOptions, Command):
    """Scores, heatmaps and misaligned words by a RAHF model."""

    EPILOG = f"""examples:
  pqpp assess rahf --image-dir generated --model OWNER/REPOSITORY --output verdicts.parquet
  pqpp assess rahf --image-dir images --file prompts.csv --model runs/rahf/model
  pqpp assess rahf --image-dir generated --model runs/rahf/model --gallery gallery.html --embed \\
    --sort-by plausibility
  pqpp assess rahf --evidence verdicts.parquet --threshold 0.3 --output other.parquet
{EPILOG}"""
    overlays: str | None = option(
        None,
        "also write each image tinted by each heatmap, as PNG",
        metavar="DIR",
        path="output",
        goes_with="image_dir",
    )
    sort_by: str | None = option(
        None, "of the gallery: lowest first, by this score", metavar="SCORE", goes_with="gallery"
    )

    def __post_init__(self) -> None:
        """Refuse before anything is read what would fail after the work."""
        super().__post_init__()
        if self.sort_by is not None:
            from pqpp_feedback.checks import check_choice
            from pqpp_feedback.rahf.outputs import SCORES

            check_choice("sort_by", self.sort_by, SCORES)

    def finish(self) -> None:
        """Write tinted images."""
        from pqpp_feedback.assess.verdicts import read_verdicts
        from pqpp_feedback.rahf.overlays import save_overlays

        if self.overlays:
            places = Path(self.image_dir or ""), Path(self.overlays)
            save_overlays(read_verdicts(self.output), *places)

    def shown(self) -> dict[str, Any]:
        """Return the gallery's threshold, title and order."""
        from pqpp_feedback.assess.verdicts import read_verdicts
        from pqpp_files.foreign.json_values import parse_json

        shown: dict[str, Any] = {"threshold": self.threshold}
        if self.sort_by:
            rows = [row for row in read_verdicts(self.output) if row["evidence"]]
            rows.sort(key=lambda row: parse_json(row["evidence"])["scores"][self.sort_by])
            shown["order"] = [row["image"] for row in rows]
        return shown
