"""NLTK's tokeniser, stopwords, WordNet and tagger, each loaded once.

Only the tokeniser has a fallback if its data is missing.

Everything is loaded up front and under a lock: NLTK's own loaders replace themselves at first use,
which is not safe if two threads do it at once. Each function raises `PredictorError` if
its data is not installed or not readable.
"""

import contextlib
import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from pqpp_models.errors import PredictorError

DOWNLOAD = "python -m nltk.downloader punkt_tab wordnet stopwords averaged_perceptron_tagger_eng"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z])")
_UNSAFE_PATH = re.compile(r"(?:chmod go-w|will not read)\s+'([^']+)'")
_lock = threading.Lock()
_log = logging.getLogger(__name__)


@contextlib.contextmanager
def _guard_reading(resource: str) -> Iterator[None]:
    """Lock NLTK's readers in a block, and convert their errors to `PredictorError`."""
    import zipfile

    with _lock, warnings.catch_warnings():
        # NLTK also warns before it raises; the error below is enough.
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            yield
        except (LookupError, OSError, ValueError, zipfile.BadZipFile) as error:
            if match := _UNSAFE_PATH.search(str(error)):
                problem = f"NLTK refuses {resource!r} in {match[1]}, which others can write to"
                raise PredictorError(f"{problem}; run: chmod -R go-w '{match[1]}'") from None
            reason = f"cannot be read ({type(error).__name__}); delete {resource!r}"
            if isinstance(error, LookupError):
                reason = "is not in NLTK_DATA or NLTK's own folders"
            raise PredictorError(f"NLTK data {resource!r} {reason}; run: {DOWNLOAD}") from None


@cache
@_guard_reading("punkt_tab")
def load_tokenizer() -> Callable[[str], list[str]]:
    """Return ``nltk.word_tokenize``, or a simpler tokeniser if its data is missing.

    The data is needed to detect sentence ends. Without it, a sentence ends at ``.``, ``?`` or ``!``
    before whitespace and a capital.
    """
    from nltk.tokenize import NLTKWordTokenizer, word_tokenize

    try:
        word_tokenize("ready")
    except LookupError as error:
        if _UNSAFE_PATH.search(str(error)):
            raise
        problem = "NLTK's punkt_tab is missing, so a few counts of words are off by one or two"
        _log.warning(f"{problem}; run: {DOWNLOAD}")
        split = NLTKWordTokenizer().tokenize
        return lambda text: [
            word for sentence in _SENTENCE_END.split(text) for word in split(sentence)
        ]
    return word_tokenize


@cache
@_guard_reading("stopwords")
def load_stopwords() -> frozenset[str]:
    """Return NLTK's English stopwords."""
    from nltk.corpus import stopwords as corpus

    return frozenset(corpus.words("english"))


@cache
@_guard_reading("wordnet")
def load_wordnet() -> Any:
    """Return NLTK's WordNet reader for English, fully loaded."""
    from pqpp_metrics.wordnet_depth import load_english_wordnet

    reader = load_english_wordnet()
    reader.synsets("ready")
    return reader


@cache
@_guard_reading("averaged_perceptron_tagger_eng")
def load_tagger() -> Any:
    """Return NLTK's averaged perceptron tagger for English (Penn Treebank tags)."""
    from nltk.tag.perceptron import PerceptronTagger

    # One instance is kept: nltk.pos_tag would read its weights from disk at every call.
    return PerceptronTagger(lang="eng")
