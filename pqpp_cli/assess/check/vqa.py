"""`pqpp assess check vqa`: let a model of images and text look at scenes of known truth."""

from __future__ import annotations

from pqpp_cli.assess.check.groups import Checking
from pqpp_cli.command import Command
from pqpp_feedback.assessors.vqa import VqaOptions


class AssessCheckVqa(Checking, VqaOptions, Command):
    """Let a model of images and text look at scenes of known truth; print what it gets right."""
