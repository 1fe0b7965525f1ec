"""The options of GIMBRR's routines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqpp_feedback.assess.options import AssessorOptions
from pqpp_feedback.errors import AssessError
from pqpp_files.extras import needing
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_feedback.gimbrr.assessor import GimbrrAssessor


@dataclass(frozen=True, kw_only=True)
class GimbrrOptions(AssessorOptions):
    """Whether images show the objects, and how many, that GIMBRR's prompts name.

    The prompts' table has task, representations (objects) and task_specific_label (counts, or what
    shall be absent), as load_dataset("pqpp", "gimbrr"). A prompt whose task has no routine, or
    whose object the detector has no class for, gets no verdict, and the reason. Models are folders
    or OWNER/REPOSITORY[@REVISION]; detectors DETR, RT-DETR, D-FINE, OWLv2, GroundingDINO and kin.
    """

    agreement = (
        "The authors' verdicts by the published routine agree with people on 3,860 images with "
        "kappa .58, from -.00 (simple arithmetic) to .51 (conditional generation) by task, and put "
        "another model first than people do (pqpp bench gimbrr);"
    )

    routine: str = option("published", "published, as the paper's, or calibrated, fitted to people")
    clip: str = option("openai/clip-vit-large-patch14", "a CLIP-like model", path="name")
    detector: str = option("facebook/detr-resnet-50@no_timm", "a detector")
    seed: int = option(0, "of the published routine's rivals, beside the image")
    calibration: str | None = option(None, "of the routine calibrated: what was fit", path="file")

    def __post_init__(self) -> None:
        """Refuse a routine without its calibration."""
        super().__post_init__()
        if (self.routine == "calibrated") != bool(self.calibration):
            raise AssessError(
                "`routine` calibrated and a file of `calibration` go together; fit one to kept "
                "evidence and answers of people"
            )

    def open(self) -> Sequence[GimbrrAssessor]:
        """Load the models, and what was fitted."""
        from pqpp_feedback.assess.verdicts import read_verdicts
        from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
        from pqpp_feedback.gimbrr.calibration import check_models, read_fitted
        from pqpp_feedback.gimbrr.routines import open_routine

        fitted = read_fitted(self.calibration) if self.calibration else None
        routine = open_routine(self.routine, fitted["tasks"] if fitted else self.seed)
        if self.evidence:
            assessor = GimbrrAssessor(routine)
            first = next(read_verdicts(self.evidence), {"model": "{}"})
            models = parse_json(first["model"])
        else:
            with needing("pqpp assess gimbrr", "assess"):
                from pqpp_feedback.assess.detector import DetectorEye
                from pqpp_feedback.gimbrr.eyes import ClipEye

            place = self.device, self.dtype
            clip, detector = ClipEye(self.clip, *place), DetectorEye(self.detector, *place)
            assessor = GimbrrAssessor(routine, clip, detector)
            models = {role: model.name for role, model in assessor.models.items()}
        if fitted:
            check_models(fitted, models)
        return [assessor]
