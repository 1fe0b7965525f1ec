"""The figures that the paper and its authors' repository report, to print beside our own."""

import functools
from dataclasses import dataclass
from pathlib import Path

from pqpp_files.foreign.json_values import read_json

_TITLES = {
    "finetuned_bert": "fine-tuned BERT",
    "finetuned_clip": "fine-tuned CLIP",
    "correlation_cnn": "correlation CNN",
}


@dataclass(frozen=True)
class PublishedResult:
    """A published cell of the table.

    Attributes:
        predictor: The predictor's name, as the published table means it.
        target: The target.
        config: The release that it was measured on.
        split: The split that it was measured on.
        n: The number of prompts of that split.
        pearson: Pearson's r.
        kendall: Kendall's tau.
        source: Where the figure stands.
    """

    predictor: str
    target: str
    config: str
    split: str
    n: int
    pearson: float
    kendall: float
    source: str

    @property
    def label(self) -> str:
        """The heading of its column: its target."""
        return self.target

    @property
    def title(self) -> str:
        """The predictor as texts call it."""
        return _TITLES.get(self.predictor, self.predictor)


@functools.cache
def published_results() -> tuple[PublishedResult, ...]:
    """Return every published figure of PQPP's tables that is known, in the tables' order.

    Example:
        >>> first = published_results()[0]
        >>> first.predictor, first.target, first.pearson, first.split
        ('finetuned_bert', 'glide_hbpp', 0.566, 'test')
    """
    groups = read_json(Path(__file__).with_name("published.json"))["groups"]
    return tuple(
        PublishedResult(**row, **{name: value for name, value in group.items() if name != "rows"})
        for group in groups
        for row in group["rows"]
    )
