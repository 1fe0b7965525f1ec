"""Relevance: PQPP's four grades of an image; the true photo is mixed in, unmarked.

Source: PQPP, section 3.1: high relevance (over half of the prompt's concepts are there; 2), low
relevance (at least one; 1), no relevance (unrelated, yet realistic; 0), unrealistic (notable
artifacts, whatever else is there; -1).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pqpp_annotation.kinds.labels import LabelKind


class Relevance(LabelKind):
    """How well each image shows what the prompt says."""

    name = "relevance"
    scale = "pqpp"
    settings: ClassVar[Mapping[str, Any]] = {
        "question": "How well does this image show the prompt?"
    }


TASK_KIND = Relevance()
