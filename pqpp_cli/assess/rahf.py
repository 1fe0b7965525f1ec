"""`pqpp assess rahf`: scores, heatmaps and misaligned words by a RAHF model."""

from __future__ import annotations

import json
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
    --sort-by plausibility --json scores.json
  pqpp assess rahf --evidence verdicts.parquet --threshold 0.3 --output other.parquet
{EPILOG}"""
    json: str | None = option(
        None, "also write scores and words as JSON", metavar="FILE", path="output file"
    )
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
        """Write scores and words as JSON, and tinted images."""
        from pqpp_cli.output import emit
        from pqpp_feedback.assess.verdicts import read_verdicts
        from pqpp_feedback.rahf.overlays import judged, save_overlays

        if self.json:
            values = list(judged(read_verdicts(self.output), self.threshold))
            emit(json.dumps(values, indent=1, ensure_ascii=False), self.json)
        if self.overlays:
            places = Path(self.image_dir or ""), Path(self.overlays)
            save_overlays(read_verdicts(self.output), *places)

    def shown(self) -> dict[str, Any]:
        """Return the gallery's threshold, title and order."""
        from pqpp_feedback.assess.verdicts import read_verdicts
        from pqpp_feedback.rahf.overlays import judged

        shown: dict[str, Any] = {"threshold": self.threshold}
        if self.sort_by:
            values = judged(read_verdicts(self.output), self.threshold)
            scored = [row for row in values if row["scores"]]
            scored.sort(key=lambda row: row["scores"][self.sort_by])
            shown["order"] = [row["file_name"] for row in scored]
        return shown
