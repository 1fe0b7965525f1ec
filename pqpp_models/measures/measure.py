"""Measures, which combine a function with its entry in `measures.json`."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pqpp_files.errors import PqppError
from pqpp_files.foreign.json_values import read_json
from pqpp_models.errors import MissingEvidenceError


class Evidence(NamedTuple):
    """Data that measures need, like term statistics of a collection.

    Attributes:
        what: a description of the data.
        variable: the environment variable with the path of the data.
        form: a description of the file.
        open: a function that loads the data from a path.
    """

    what: str
    variable: str
    form: str
    open: Callable[[str], Any]

    def load_from_environment(self) -> Any:
        """Load the data at the path in the environment variable.

        Raises:
            MissingEvidenceError: the variable is not set, or its file cannot be read.
        """
        path = os.environ.get(self.variable)
        if not path:
            raise MissingEvidenceError(
                f"this predictor needs {self.what}; set {self.variable} to {self.form}"
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
            ``"unknown"``. For prompts and captions, at least two of PQPP's three mean targets must
            agree on the validation split of v1.0 (p < .01) without a contradiction. For result
            lists, the publication decides.
        about: a description in one line.
        nltk: the NLTK data that it reads.
        columns: required columns besides the prompt.
        evidence: the data that it needs, or None.
    """

    compute: Callable[..., Any]
    higher_is: str
    about: str
    source: str
    nltk: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    evidence: Evidence | None = None
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def needs(self) -> str:
        """A description of the input besides the prompt; empty if there is none."""
        needed = [f"NLTK's {' '.join(self.nltk)}"] if self.nltk else []
        needed += self.columns
        if self.evidence is not None:
            needed.append(f"{self.evidence.what} ({self.evidence.variable})")
        return ", ".join(needed)


_TOLD = read_json(Path(__file__).with_name("measures.json"))


def make_measures(functions: Mapping[str, Callable[..., Any]], **shared: Any) -> dict[str, Measure]:
    """Combine functions with their entries in `measures.json`.

    Args:
        shared: common fields of all `Measure` objects.
    """
    lists = ("nltk", "columns")
    facts: dict[str, dict[str, Any]] = {
        name: {key: tuple(value) if key in lists else value for key, value in _TOLD[name].items()}
        for name in functions
    }
    return {name: Measure(compute, **facts[name], **shared) for name, compute in functions.items()}
