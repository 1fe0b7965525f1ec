"""How concrete the words of a query are: their depth in WordNet's hierarchy of hypernyms."""

import functools
import io
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from pqpp_metrics.functional._containers import Floats
from pqpp_metrics.functional._inputs import as_texts


def wordnet_depth(queries: Iterable[str]) -> Floats:
    """Return the lowest, highest and mean depth in WordNet of the words of each query.

    ConQA (Rodriguez et al., ECIR 2024), section 4, Table 2. Words are separated by whitespace. The
    depth of a word is the mean over its synsets of the shortest path up to a synset without
    hypernyms, which itself counts 1; instance hypernyms are not followed. Words without a synset
    are left out. The paper does not state its rule; of those we tried, this one reproduces its
    numbers.

    Needs NLTK and its WordNet (`python -m nltk.downloader wordnet`).

    Args:
        queries: A sequence of strings.

    Returns:
        numpy float64 array (queries, 3): minimum, maximum and mean over the words, each at
        least 1; NaN for a query without a word in WordNet.

    Raises:
        MetricInputError: `queries` is a single string, empty, or contains other values.
        LookupError: WordNet is not installed.
    """
    queries = as_texts("queries", queries)
    depths = [[_get_word_depth(word) for word in query.split()] for query in queries]
    known = [[depth for depth in words if depth is not None] for words in depths]
    rows = [(min(d), max(d), sum(d) / len(d)) if d else (np.nan,) * 3 for d in known]
    return np.array(rows)


@functools.cache
def load_english_wordnet() -> Any:
    """Return NLTK's loaded WordNet reader, for English only.

    NLTK's own reader maps all meanings to those of other languages, and reads its tables line by
    line, which takes four times as long.

    Raises:
        LookupError: WordNet is not installed.
        OSError: A file cannot be read.
        ValueError: A file is damaged.
    """
    from nltk.corpus import LazyCorpusLoader
    from nltk.corpus.reader import WordNetCorpusReader

    class EnglishWordNet(WordNetCorpusReader):
        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the mapping of other languages."""

        def open(self, file: str) -> Any:
            """Read an index into memory, but open a data file for random access."""
            stream = super().open(file)
            if file.startswith("data."):
                return stream
            with stream:
                return io.StringIO(stream.read())

    reader = LazyCorpusLoader("wordnet", EnglishWordNet, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about other languages, which are missing
        reader.ensure_loaded()
    return reader


@functools.lru_cache(maxsize=100_000)
def _get_word_depth(word):
    """Return the mean depth of a word's synsets; None if it has none."""
    try:
        wordnet = load_english_wordnet()
    except (ImportError, LookupError):
        remedy = "run `pip install nltk` and `python -m nltk.downloader wordnet`, or set NLTK_DATA"
        raise LookupError(f"WordNet is missing; {remedy}") from None
    depths = [_get_synset_depth(synset) for synset in wordnet.synsets(word)]
    return sum(depths) / len(depths) if depths else None


@functools.lru_cache(maxsize=200_000)
def _get_synset_depth(synset):
    """Return the length of the shortest path to a root, both ends included."""
    hypernyms = synset.hypernyms()
    return 1 + (min(map(_get_synset_depth, hypernyms)) if hypernyms else 0)
