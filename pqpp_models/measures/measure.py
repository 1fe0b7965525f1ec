"""The definition of a measure: a function of a family, and its entry in `measures.json`."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pqpp_files.errors import PqppError
from pqpp_files.foreign.json_values import read_json
from pqpp_models.errors import MissingEvidenceError


class Evidence(NamedTuple):
    """What measures look things up in, like the counts of a collection's terms.

    Attributes:
        what: it in words.
        variable: the environment variable that names one.
        form: what the variable is set to, in words.
        open: returns the one of a path.
    """

    what: str
    variable: str
    form: str
    open: Callable[[str], Any]

    def load_named(self) -> Any:
        """Return the one that the variable names.

        Raises:
            MissingEvidenceError: the variable is not set, or what it names cannot be read.
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
    """A measure, named by its key in the table.

    Attributes:
        compute: the function of rows or prompts, the evidence and the options: a value a row.
        higher_is: whether a higher value speaks for an ``"easier"`` or a ``"harder"`` prompt, or
            ``"unknown"``. Of prompts and captions PQPP decides: easier or harder is what at least
            two of its three mean targets say on the validation split of v1.0 (p < .01), and none
            the other way. Of result lists the source decides: PQPP has none.
        about: what it is, in a line.
        source: the publication.
        nltk: the data of NLTK that it reads.
        columns: the columns that a row needs besides the prompt.
        evidence: what it looks things up in, if anything.
        options: its options with their defaults.
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
        """What it needs besides the prompt, in words; empty for nothing."""
        needed = [f"NLTK's {' '.join(self.nltk)}"] if self.nltk else []
        needed += self.columns
        if self.evidence is not None:
            needed.append(f"{self.evidence.what} ({self.evidence.variable})")
        return ", ".join(needed)


_TOLD = read_json(Path(__file__).with_name("measures.json"))


def to_measures(computes: Mapping[str, Callable[..., Any]], **shared: Any) -> dict[str, Measure]:
    """Return functions as measures, with the entries of `measures.json`.

    Args:
        computes: name to function.
        shared: what all of them have alike, fields of `Measure`.
    """
    lists = ("nltk", "columns")
    facts: dict[str, dict[str, Any]] = {
        name: {key: tuple(value) if key in lists else value for key, value in _TOLD[name].items()}
        for name in computes
    }
    return {name: Measure(compute, **facts[name], **shared) for name, compute in computes.items()}
