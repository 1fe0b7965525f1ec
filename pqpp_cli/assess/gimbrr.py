"""`pqpp assess gimbrr`: whether images show the objects, and how many, that prompts name."""

from __future__ import annotations

from pqpp_cli.assess import EPILOG
from pqpp_cli.assess.groups import Assessing
from pqpp_cli.command import Command
from pqpp_feedback.assessors.gimbrr import GimbrrOptions


class AssessGimbrr(Assessing, GimbrrOptions, Command):
    """Whether images show the objects, and how many, that GIMBRR's prompts name."""

    EPILOG = f"""examples:
  pqpp assess gimbrr --image-dir images --dataset gimbrr --output verdicts.parquet
  pqpp assess gimbrr --image-dir images --file prompts.csv --detector google/owlv2-base-patch16
  pqpp assess gimbrr --evidence verdicts.parquet --people answers.csv

The prompts' table has task, representations (objects) and task_specific_label (counts, or what
shall be absent), as load_dataset("pqpp", "gimbrr"). A prompt whose task has no routine, or whose
object the detector has no class for, gets no verdict, and the reason. Models are folders or
OWNER/REPOSITORY[@REVISION]; detectors DETR, RT-DETR, D-FINE, OWLv2, GroundingDINO and their kin.
{EPILOG}"""
