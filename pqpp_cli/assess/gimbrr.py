"""`pqpp assess gimbrr`: whether images show the objects, and how many, that prompts name."""

from __future__ import annotations

from typing import Any

from pqpp_cli.assess import EPILOG
from pqpp_cli.assess.groups import Assessing
from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.output import note
from pqpp_feedback.assessors.gimbrr import GimbrrOptions
from pqpp_files.options.option import option


class AssessGimbrr(Assessing, GimbrrOptions, Command):
    """Whether images show the objects, and how many, that GIMBRR's prompts name."""

    EPILOG = f"""examples:
  pqpp assess gimbrr --image-dir images --dataset gimbrr --output verdicts.parquet
  pqpp assess gimbrr --image-dir images --file prompts.csv --detector google/owlv2-base-patch16
  pqpp assess gimbrr --evidence verdicts.parquet --people answers.csv --fit-calibration fitted.json
  pqpp assess gimbrr --evidence verdicts.parquet --routine calibrated --calibration fitted.json

The prompts' table has task, representations (objects) and task_specific_label (counts, or what
shall be absent), as load_dataset("pqpp", "gimbrr"). A prompt whose task has no routine, or whose
object the detector has no class for, gets no verdict, and the reason. Models are folders or
OWNER/REPOSITORY[@REVISION]; detectors DETR, RT-DETR, D-FINE, OWLv2, GroundingDINO and their kin.
{EPILOG}"""
    fit_calibration: str | None = option(
        None,
        "with --evidence and --people: fit to half of the answers, measure on the other half",
        metavar="FILE",
        path="output file",
    )

    def __post_init__(self) -> None:
        """Refuse a calibration without what it is fitted to."""
        super().__post_init__()
        if self.fit_calibration and not (self.evidence and self.people):
            raise CommandError(
                "`fit_calibration`: it is fitted to what was seen and to people's answers; add "
                "`evidence` FILE and `people` FILE"
            )

    def run(self) -> None:
        """Assess; what no calibration can be fitted to is refused before anything is written."""
        if self.fit_calibration:
            self._calibration(self.evidence or "")
        super().run()

    def _calibration(self, table: str) -> dict[str, Any]:
        from pqpp_feedback.assess.people import read_people
        from pqpp_feedback.assess.verdicts import read_verdicts
        from pqpp_feedback.gimbrr.calibration import calibrate

        return calibrate(list(read_verdicts(table)), read_people(self.people or ""))

    def finish(self) -> None:
        """Fit a calibration to kept evidence and people's answers, and say how well it agrees."""
        from pqpp_cli.output import emit
        from pqpp_feedback.assess.agreement import agreement_in_words
        from pqpp_feedback.gimbrr.calibration import write_calibration

        if not self.fit_calibration:
            return
        fitted = self._calibration(self.output)
        emit(write_calibration(fitted), self.fit_calibration)
        for row in fitted["agreement"]:
            words = agreement_in_words(row)
            note(f"gimbrr-calibrated, {row['task']}, on the half not fitted to: {words}")
