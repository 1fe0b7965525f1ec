"""`pqpp assess check gimbrr`: let GIMBRR look at scenes of known truth."""

from __future__ import annotations

from pqpp_cli.assess.check.groups import Checking
from pqpp_cli.command import Command
from pqpp_feedback.assessors.gimbrr import GimbrrOptions


class AssessCheckGimbrr(Checking, GimbrrOptions, Command):
    """Let GIMBRR look at scenes of known truth, and print what it gets right."""
