"""Counts of terms over a collection of captions; no caption's text is kept."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import (
    CONFIG,
    WEIGHTS,
    Tensors,
    check_tensors,
    read_config,
    read_tensors,
)
from pqpp_backbones.errors import ModelError
from pqpp_files.paths import expand
from pqpp_models.errors import PredictorError
from pqpp_models.prompt_file import read_texts

_TERM = re.compile(r"\w+(?:'\w+)?")
_LONGEST_TEXT = 2000
_FREQUENCIES = ("document_frequency", "collection_frequency")


def split_terms(text: str) -> list[str]:
    """Split a text into its terms: lower-case words and numbers, without marks, in order.

    Compatibility forms are unified (Unicode NFKC), a typographic apostrophe is a plain one.
    Only the first 2,000 characters count.

    >>> split_terms("Two dogs: the BIG one’s brown!")
    ['two', 'dogs', 'the', 'big', "one's", 'brown']
    """
    text = text[:_LONGEST_TEXT]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return _TERM.findall(text.lower())


class CaptionStatistics:
    """What is known of the terms of a collection.

    Args:
        terms: distinct terms.
        document_frequency: for each, in how many captions it occurs (at least 1).
        collection_frequency: for each, how often it occurs in all captions together.
        log_deviation: for each, the population standard deviation of ``ln f`` over the captions
            that hold it, ``f`` being how often the caption does.
        n_documents: captions with at least one term.
        postings: two arrays, where each term's captions begin (one longer than the terms) and the
            captions' numbers; ``None`` where they were not kept. They say which caption holds
            which terms, so a bag of words of each caption can be had from them.

    >>> statistics = CaptionStatistics.from_texts(["a red cat", "A cat and a dog", ""])
    >>> statistics.n_documents, statistics.n_tokens
    (2, 8)
    >>> statistics.document_frequency[statistics.find(["cat", "unseen"])].tolist()
    [2]
    """

    def __init__(
        self,
        terms: Sequence[str],
        document_frequency: NDArray[np.int64],
        collection_frequency: NDArray[np.int64],
        log_deviation: NDArray[np.float64],
        n_documents: int,
        postings: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> None:
        self.terms = tuple(terms)
        self.document_frequency = document_frequency
        self.collection_frequency = collection_frequency
        self.log_deviation = log_deviation
        self.n_documents = n_documents
        self.n_tokens = int(collection_frequency.sum())
        self._postings = postings

    @classmethod
    def from_texts(cls, texts: Iterable[str], postings: bool = False) -> Self:
        """Count the terms of captions, in one pass over them.

        Args:
            texts: captions; one without any term does not count as a document.
            postings: keep which caption holds which terms, for ``query_scope`` and ``pmi``.

        Raises:
            PredictorError: no caption has a term.
        """
        n_documents = 0
        # How many captions have a term how often, and which.
        often: defaultdict[str, Counter[int]] = defaultdict(Counter)
        holders: defaultdict[str, list[int]] = defaultdict(list)
        for text in texts:
            counts = Counter(split_terms(text))
            for term, times in counts.items():
                often[term][times] += 1
                if postings:
                    holders[term].append(n_documents)
            n_documents += bool(counts)
        if not often:
            raise PredictorError("the captions have no terms; give captions with words")
        terms = sorted(often)
        document = np.array([often[term].total() for term in terms], np.int64)
        totals = (sum(times * n for times, n in often[term].items()) for term in terms)
        collection = np.array([*totals], np.int64)
        deviation = np.array([_log_deviation(often[term]) for term in terms], np.float64)
        held = None
        if postings:
            numbers = np.concatenate([holders[term] for term in terms]).astype(np.int64)
            held = (np.concatenate([[0], np.cumsum(document)]), numbers)
        return cls(terms, document, collection, deviation, n_documents, held)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {term: index for index, term in enumerate(self.terms)}

    def find(self, terms: Iterable[str]) -> NDArray[np.int64]:
        """Return the places of the known ones of some terms, in the order given."""
        known = (self._index[term] for term in terms if term in self._index)
        return np.fromiter(known, dtype=np.int64)

    def documents(self, index: int) -> NDArray[np.int64]:
        """Return the numbers of the captions that hold the term at a place, ascending.

        Raises:
            PredictorError: the postings were not kept.
        """
        if self._postings is None:
            raise PredictorError(
                "these statistics lack the captions' terms; give the captions, or a folder of "
                "avg_pmi or query_scope"
            )
        starts, documents = self._postings
        return documents[starts[index] : starts[index + 1]]

    def state(self, postings: bool = True) -> tuple[dict[str, Any], Tensors]:
        """Return what is saved: a configuration and arrays, with the postings where there are."""
        tensors: Tensors = {
            "terms": np.frombuffer("\n".join(self.terms).encode(), dtype=np.uint8),
            "document_frequency": self.document_frequency,
            "collection_frequency": self.collection_frequency,
            "log_deviation": self.log_deviation,
        }
        if postings and self._postings is not None:
            tensors["posting_starts"], tensors["posting_documents"] = self._postings
        return {"n_documents": self.n_documents, "n_terms": len(self.terms)}, tensors

    @classmethod
    def from_state(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the statistics that ``state`` described."""
        n, n_documents = config.get("n_terms"), config.get("n_documents")
        if not isinstance(n, int) or not isinstance(n_documents, int):
            raise ModelError(f"{folder / CONFIG} has no 'n_terms' or 'n_documents'; save it again")
        kinds = {**dict.fromkeys(_FREQUENCIES, "int64"), "log_deviation": "float64"}
        check_tensors(folder, tensors, {name: (kind, (n,)) for name, kind in kinds.items()})
        terms = bytes(tensors.get("terms", b"")).decode(errors="replace").split("\n")
        document, collection = (tensors[name] for name in _FREQUENCIES)
        fits = len(terms) == n and document.min() >= 1 and document.max() <= n_documents
        postings = None
        if "posting_starts" in tensors and "posting_documents" in tensors:
            postings = starts, numbers = tensors["posting_starts"], tensors["posting_documents"]
            ends = np.concatenate([[0], np.cumsum(document)])
            fits = fits and np.array_equal(starts, ends) and numbers.shape == (ends[-1],)
            fits = fits and numbers.min() >= 0 and numbers.max() < n_documents
        if not fits or (collection < document).any():
            raise ModelError(f"{folder / WEIGHTS}: the terms do not fit their counts; save again")
        return cls(terms, document, collection, tensors["log_deviation"], n_documents, postings)


def _log_deviation(captions: Counter[int]) -> float:
    """Return the deviation of the logarithm of how often captions have a term."""
    if len(captions) == 1:
        return 0.0
    times = sorted(captions, key=lambda often: often == 1)  # once, as most have it, comes last
    # Taken from one of them, so that equal ones leave no rounding behind.
    logs = np.log(np.array(times, dtype=np.float64))
    apart = logs - logs[0]
    share = np.array([captions[often] for often in times]) / captions.total()
    centre = float(np.sum(share * apart))
    return math.sqrt(float(np.sum(share * (apart - centre) ** 2)))


@lru_cache(maxsize=4)
def open_statistics(path: str) -> CaptionStatistics:
    """Return the statistics of a saved measure's folder, or of a text, one caption a line.

    Raises:
        ModelError: the folder holds none.
        FileError: the text cannot be read.
    """
    target = expand(path)
    if target.is_dir():
        config = read_config(target)
        return CaptionStatistics.from_state(target, config, read_tensors(target, config))
    return CaptionStatistics.from_texts(read_texts(str(target), "caption"), postings=True)
