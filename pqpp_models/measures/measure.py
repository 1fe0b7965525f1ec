"""Measures, which combine a function with its entry in `measures.json`."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pqpp_files.errors import PqppError
from pqpp_files.foreign.json_values import read_json
from pqpp_models.errors import MissingEvidenceError


class Evidence(NamedTuple):
    """Data that measures need, like term statistics of a collection.

    Attributes:
        data: a description of the data, for messages.
        variable: the environment variable with the path of the data.
        file_format: a description of the file format, for messages.
        open: a function that loads the data from a path.
    """

    data: str
    variable: str
    file_format: str
    open: Callable[[str], Any]

    def load_from_environment(self) -> Any:
        """Load the data at the path in the environment variable.

        Raises:
            MissingEvidenceError: the variable is not set, or its file cannot be read.
        """
        path = os.environ.get(self.variable)
        if not path:
            raise MissingEvidenceError(
                f"this predictor needs {self.data}; set {self.variable} to {self.file_format}"
            )
        try:
            return self.open(path)
        except PqppError as error:
            raise MissingEvidenceError(f"{self.variable}: {error}") from None


class Measure(NamedTuple):
    """A measure of prompts.

    Attributes:
        compute: a function of rows, evidence and options that returns one value per row.
        higher_is: whether higher values mean ``"easier"`` or ``"harder"`` prompts, or
            ``"unknown"``. For measures of prompts and captions, the sign of the correlation must be
            significant (p < .01) and the same for at least two of PQPP's three mean targets on the
            validation split of v1.0, and not opposite for the third. For measures of result lists,
            the direction is that of the publication.
        about: a one-line description.
        nltk: names of the NLTK data that the measure reads.
        columns: required columns besides the prompt.
        evidence: the data that the measure needs, or None.
    """

    compute: Callable[..., Any]
    higher_is: str
    about: str
    source: str
    nltk: Sequence[str] = ()
    columns: Sequence[str] = ()
    evidence: Evidence | None = None
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def needs(self) -> str:
        """A description of the input that is needed besides the prompt; empty if there is none."""
        needed = [f"NLTK's {' '.join(self.nltk)}"] if self.nltk else []
        needed += self.columns
        if self.evidence is not None:
            needed.append(f"{self.evidence.data} ({self.evidence.variable})")
        return ", ".join(needed)


_FACTS = read_json(Path(__file__).with_name("measures.json"))


def make_measures(functions: Mapping[str, Callable[..., Any]], **shared: Any) -> dict[str, Measure]:
    """Combine functions with their entries in `measures.json`.

    Args:
        shared: common fields of all `Measure` objects.
    """
    return {name: Measure(compute, **_FACTS[name], **shared) for name, compute in functions.items()}
