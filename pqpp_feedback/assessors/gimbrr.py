"""The options of GIMBRR's routine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqpp_feedback.assess.options import AssessorOptions
from pqpp_files.extras import needing
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_feedback.assess.assessor import Assessor


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

    clip: str = option("openai/clip-vit-large-patch14", "a CLIP-like model", path="name")
    detector: str = option("facebook/detr-resnet-50@no_timm", "a detector")
    seed: int = option(0, "seed of the rival texts, beside the image")

    def open(self) -> Sequence[Assessor]:
        """Load the models, but for kept evidence."""
        from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
        from pqpp_feedback.gimbrr.published import Published

        routine = Published(self.seed)
        if self.evidence:
            return [GimbrrAssessor(routine)]
        with needing("pqpp assess gimbrr", "assess"):
            from pqpp_feedback.assess.detector import DetectorEye
            from pqpp_feedback.gimbrr.eyes import ClipEye

        place = self.device, self.dtype
        eyes = ClipEye(self.clip, *place), DetectorEye(self.detector, *place)
        return [GimbrrAssessor(routine, *eyes)]
