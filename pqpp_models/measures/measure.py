"""What a measure is: a line of a family's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pqpp_files.names import did_you_mean
from pqpp_models.errors import UnknownPredictorError


class Evidence(NamedTuple):
    """What measures look things up in, like the counts of a collection's terms.

    Attributes:
        what: it in words.
        variable: the environment variable that names one.
        named: returns the one that the variable names.
        state: returns its configuration and its arrays.
        load: returns it from a checkpoint's folder, configuration and arrays.
        told: returns what a card tells of it.
        licence: of what is saved.
    """

    what: str
    variable: str
    named: Callable[[], Any]
    state: Callable[[Any], tuple[dict[str, Any], dict[str, Any]]]
    load: Callable[[Path, Mapping[str, Any], dict[str, Any]], Any]
    told: Callable[[Any], str]
    licence: str = "apache-2.0"


class Measure(NamedTuple):
    """A measure, named by its key in the table.

    Attributes:
        compute: the function; its family says what it takes.
        higher: whether a higher value speaks for an ``"easier"`` or a ``"harder"`` prompt, or
            ``"unknown"``. Of prompts and captions PQPP decides: easier or harder is what at least
            two of its three mean targets say on the validation split of v1.0 (p < .01), and none
            the other way. Of result lists the source decides: PQPP has none.
        about: what it is, in a line.
        source: where it is defined.
        nltk: the data of NLTK that it reads.
        columns: what a row must hold beside the prompt.
        evidence: what it looks things up in, if anything.
        options: its options with what they are if nothing is said.
    """

    compute: Callable[..., Any]
    higher: str
    about: str
    source: str
    nltk: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    evidence: Evidence | None = None
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def needs(self) -> str:
        """What it needs beside the prompt, in words; empty for nothing."""
        found = [f"NLTK's {' '.join(self.nltk)}"] if self.nltk else []
        found += self.columns
        if self.evidence is not None:
            found.append(f"{self.evidence.what} ({self.evidence.variable})")
        return ", ".join(found)


def chosen(names: Iterable[str] | None, measures: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of measures that are asked for, all if none is said.

    Raises:
        UnknownPredictorError: a name is not in the table.
    """
    picked = tuple(measures) if names is None else tuple(names)
    for name in picked:
        if name not in measures:
            hint = did_you_mean(name, measures, "`pqpp models list` names all")
            raise UnknownPredictorError(f"no measure is called {name!r}; {hint}")
    return picked
