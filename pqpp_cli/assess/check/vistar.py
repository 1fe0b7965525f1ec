"""`pqpp assess check vistar`: let VISTAR look at scenes of known truth."""

from __future__ import annotations

from pqpp_cli.assess.check.groups import Checking
from pqpp_cli.command import Command
from pqpp_feedback.assessors.vistar import VistarOptions


class AssessCheckVistar(Checking, VistarOptions, Command):
    """Let VISTAR look at scenes of known truth, and print what it gets right."""
