"""Term statistics of a collection of captions."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pqpp_files.paths import expand
from pqpp_models.errors import PredictorError
from pqpp_models.prompt_file import read_texts

_TERM = re.compile(r"\w+(?:'\w+)?")
_MAX_CHARACTERS = 2000


def split_terms(text: str) -> list[str]:
    """Split text into terms: lower-case words and numbers, without punctuation, in order.

    Text is normalised to NFKC, and typographic apostrophes become plain ones. Only the first 2,000
    characters are read.

    >>> split_terms("Two dogs: the BIG one’s brown!")
    ['two', 'dogs', 'the', 'big', "one's", 'brown']
    """
    text = text[:_MAX_CHARACTERS]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return _TERM.findall(text.lower())


@dataclass(frozen=True, eq=False)
class CaptionStatistics:
    """Term statistics of a collection of captions.

    Attributes:
        document_frequency: number of captions with each term (at least 1).
        collection_frequency: occurrences of each term in all captions.
        log_deviation: for each term, the standard deviation of its log count in the captions that
            contain it.
        n_documents: number of captions with at least one term.
        postings: two arrays: the position of each term's first caption in the second array, and at
            the end the length of the second array; and the indices of captions, grouped by term.

    >>> statistics = CaptionStatistics.from_texts(["a red cat", "A cat and a dog", ""])
    >>> statistics.n_documents, statistics.n_tokens
    (2, 8)
    >>> statistics.document_frequency[statistics.find_terms(["cat", "unseen"])].tolist()
    [2]
    """

    terms: Sequence[str]
    document_frequency: NDArray[np.int64]
    collection_frequency: NDArray[np.int64]
    log_deviation: NDArray[np.float64]
    n_documents: int
    postings: tuple[NDArray[np.int64], NDArray[np.int64]]

    @cached_property
    def n_tokens(self) -> int:
        """The total number of terms in all captions."""
        return int(self.collection_frequency.sum())

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Self:
        """Count the terms of captions in one pass.

        Args:
            texts: captions; one without any term does not count as a document.

        Raises:
            PredictorError: no caption has a term.
        """
        n_documents = 0
        # By term: the indices of its captions, and its counts in them.
        captions, times = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for text in texts:
            frequency = Counter(split_terms(text))
            for term, count in frequency.items():
                captions[term].append(n_documents)
                times[term].append(count)
            n_documents += bool(frequency)
        if not captions:
            raise PredictorError("the captions contain no words; use captions in English")
        terms = tuple(sorted(captions))
        n_captions = np.array([len(captions[term]) for term in terms], np.int64)
        ends = np.cumsum([0, *n_captions])
        starts = ends[:-1]
        indices, counts = (np.concatenate([d[term] for term in terms]) for d in (captions, times))
        # Relative to the first, so that equal counts have no rounding error.
        logs = np.log(counts) - np.repeat(np.log(counts[starts]), n_captions)
        deviation = np.array([group.std() for group in np.split(logs, starts[1:])])
        total = np.add.reduceat(counts, starts)
        return cls(terms, n_captions, total, deviation, n_documents, (ends, indices))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {term: index for index, term in enumerate(self.terms)}

    def find_terms(self, terms: Iterable[str]) -> NDArray[np.int64]:
        """Return the indices of the known terms, in order."""
        known = (self._index[term] for term in terms if term in self._index)
        return np.fromiter(known, dtype=np.int64)

    def list_documents(self, index: int) -> NDArray[np.int64]:
        """Return the indices of the captions that contain a term, in order."""
        starts, documents = self.postings
        return documents[starts[index] : starts[index + 1]]


@lru_cache(maxsize=4)
def open_statistics(path: str) -> CaptionStatistics:
    """Count the terms in a text file with one caption per line.

    Raises:
        FileError: the text cannot be read.
    """
    return CaptionStatistics.from_texts(read_texts(str(expand(path)), "caption"))
