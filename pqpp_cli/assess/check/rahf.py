"""`pqpp assess check rahf`: let RAHF look at scenes of known truth."""

from __future__ import annotations

from pqpp_cli.assess.check.groups import Checking
from pqpp_cli.command import Command
from pqpp_feedback.assessors.rahf import RahfOptions


class AssessCheckRahf(Checking, RahfOptions, Command):
    """Let RAHF look at scenes of known truth, and print what it gets right."""
