"""`pqpp assess gimbrr`: objects, absences and counts by CLIP and a detector."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from pqpp_cli.output import OutputFile

HELP = "whether images show the objects, and how many, that GIMBRR's prompts name"
CLIP = "openai/clip-vit-large-patch14"
DETECTOR = "facebook/detr-resnet-50@no_timm"
EPILOG = """examples:
  pqpp assess gimbrr --image-dir images --dataset gimbrr --output verdicts.parquet
  pqpp assess gimbrr --image-dir images --file prompts.csv --detector google/owlv2-base-patch16
  pqpp assess gimbrr --evidence verdicts.parquet --people answers.csv --fit-calibration fitted.json
  pqpp assess gimbrr --evidence verdicts.parquet --routine calibrated --calibration fitted.json

The prompts' table has task, representations (objects) and task_specific_label (counts, or what
shall be absent), as load_dataset("pqpp", "gimbrr"). A prompt whose task has no routine, or whose
object the detector has no class for, gets no verdict, and the reason. Models are folders or
OWNER/REPOSITORY[@REVISION]; detectors DETR, RT-DETR, D-FINE, OWLv2, GroundingDINO and their kin.
"""

AGREEMENT = (
    "The authors' verdicts by the published routine agree with people on 3,860 images with kappa "
    ".58, from -.00 (simple arithmetic) to .51 (conditional generation) by task, and put another "
    "model first than people do (pqpp bench --dataset gimbrr);"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what only this assessor has."""
    parser.add_argument(
        "--routine",
        metavar="NAME",
        default="published",
        help="published, as the paper's, or calibrated, as fitted to people (default: %(default)s)",
    )
    parser.add_argument(
        "--clip", metavar="NAME_OR_PATH", default=CLIP, help="CLIP (default: %(default)s)"
    )
    parser.add_argument(
        "--detector",
        metavar="NAME_OR_PATH",
        default=DETECTOR,
        help="the detector (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        default=0,
        help="with --routine published: of the rivals, beside the image (default: %(default)s)",
    )
    parser.add_argument(
        "--calibration", metavar="FILE", help="with --routine calibrated: what was fitted"
    )
    parser.add_argument(
        "--fit-calibration",
        type=OutputFile,
        metavar="FILE",
        help="with --evidence and --people: fit to half of the answers, measure on the other half",
    )


def open_assessors(options: argparse.Namespace) -> list:
    """Load the models, and what was fitted."""
    from pqpp_feedback.assess.verdicts import read_verdicts
    from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
    from pqpp_feedback.gimbrr.calibration import check_models, read_fitted
    from pqpp_feedback.gimbrr.routines import open_routine
    from pqpp_files.extras import needing

    fitted = read_fitted(options.calibration) if options.calibration else None
    arguments = (fitted["tasks"],) if fitted else (options.seed,)
    routine = open_routine(options.routine, *arguments)
    if options.evidence:
        assessor = GimbrrAssessor(routine)
        models = first_models(read_verdicts(options.evidence))
    else:
        with needing("pqpp assess gimbrr", "assess"):
            from pqpp_feedback.assess.detector import DetectorEye
            from pqpp_feedback.gimbrr.eyes import ClipEye

        settings = (options.device, options.dtype)
        eyes = ClipEye(options.clip, *settings), DetectorEye(options.detector, *settings)
        assessor = GimbrrAssessor(routine, *eyes)
        models = {role: one.name for role, one in assessor.models.items()}
    if fitted:
        check_models(fitted, models)
    return [assessor]


def first_models(rows: Iterable[Mapping[str, Any]]) -> dict:
    """Return the models of the first row."""
    import json

    return next((json.loads(row["model"]) for row in rows), {})


def check(options: argparse.Namespace) -> None:
    """Refuse a calibration without what it is fitted to, or a routine without its calibration."""
    from pqpp_cli.errors import CommandError

    if (options.routine == "calibrated") != bool(options.calibration):
        raise CommandError(
            "--routine calibrated and --calibration FILE go together; fit one by --evidence, "
            "--people and --fit-calibration"
        )
    if options.fit_calibration and not (options.evidence and options.people):
        raise CommandError(
            "--fit-calibration: it is fitted to what was seen and to people's answers; add "
            "--evidence FILE and --people FILE"
        )


def finish(options: argparse.Namespace) -> None:
    """Fit a calibration to kept evidence and people's answers, and say how well it agrees."""
    from pqpp_cli.assess import note
    from pqpp_cli.output import emit
    from pqpp_feedback.assess.agreement import agreement_in_words
    from pqpp_feedback.assess.people import read_people
    from pqpp_feedback.assess.verdicts import read_verdicts
    from pqpp_feedback.gimbrr.calibration import calibrate, write_calibration

    if not options.fit_calibration:
        return
    fitted = calibrate(list(read_verdicts(options.output)), read_people(options.people))
    emit(write_calibration(fitted), options.fit_calibration)
    for row in fitted["agreement"]:
        said = agreement_in_words(row)
        note(f"gimbrr-calibrated, {row['task']}, on the half not fitted to: {said}")
