"""What every assessor can be told, whoever opens it: a program or the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pqpp_backbones import DTYPES
from pqpp_files.options.option import Options, option

if TYPE_CHECKING:
    from pqpp_feedback.assess.assessor import Assessor


@dataclass(frozen=True, kw_only=True)
class AssessorOptions(Options):
    """Options of an assessor; a subclass has those of its own, and opens it.

    Its docstring says what is judged, in the first line, and what the images need.

    Attributes:
        agreement: How well the assessor agrees with people, in a sentence.
    """

    agreement: ClassVar[str] = ""

    evidence: str | None = option(None, "score what this earlier table kept, anew", path="file")
    device: str | None = option(None, "cpu, cuda, cuda:1, ...; a GPU if there is one")
    dtype: str = option("float32", "number format of the models", DTYPES)

    def open(self) -> Sequence[Assessor]:
        """Load the models, but for kept evidence, and return what assesses.

        Raises:
            AssessError: An option says what cannot be had.
        """
        raise NotImplementedError(f"{type(self).__name__} opens no assessor")
