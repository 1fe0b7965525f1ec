"""NLTK's tokeniser, stopwords, WordNet and tagger: loaded once, or a clear error.

Everything is loaded up front and under a lock: NLTK's own loaders replace themselves at first use,
which is not safe when two threads do it at once. Each function raises `MissingResourceError` where
its data is not installed or not readable.
"""

import re
import threading
import warnings
import zipfile
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from pqpp_models.errors import MissingResourceError

DOWNLOAD = "python -m nltk.downloader punkt_tab wordnet stopwords averaged_perceptron_tagger_eng"
_lock = threading.Lock()


def _resource(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Return what makes a loader of NLTK data one that loads once."""

    def loaded_once(load: Callable[[], Any]) -> Callable[[], Any]:
        @cache
        @wraps(load)
        def loaded() -> Any:
            with _lock, warnings.catch_warnings():
                # NLTK also warns about what it then refuses; the error below says it once.
                warnings.simplefilter("ignore", RuntimeWarning)
                try:
                    return load()
                except (LookupError, OSError, ValueError, zipfile.BadZipFile) as error:
                    raise MissingResourceError(_explained(name, error)) from None

        return loaded

    return loaded_once


@_resource("punkt_tab")
def tokenizer() -> Callable[[str], list[str]]:
    """Return ``nltk.word_tokenize``, with its sentence model loaded."""
    from nltk.tokenize import word_tokenize

    word_tokenize("ready")
    return word_tokenize


@_resource("stopwords")
def stopwords() -> frozenset[str]:
    """Return NLTK's English stopwords."""
    from nltk.corpus import stopwords as corpus

    return frozenset(corpus.words("english"))


@_resource("wordnet")
def wordnet() -> Any:
    """Return NLTK's WordNet reader, fully loaded, for English alone."""
    from pqpp_metrics.wordnet_depth import english_wordnet

    reader = english_wordnet()
    reader.synsets("ready")
    return reader


@_resource("averaged_perceptron_tagger_eng")
def tagger() -> Any:
    """Return NLTK's averaged perceptron tagger for English (Penn Treebank tags)."""
    from nltk.tag.perceptron import PerceptronTagger

    # One instance is kept: nltk.pos_tag would read its weights from disk at every call.
    return PerceptronTagger(lang="eng")


def _explained(resource: str, error: Exception) -> str:
    refused = re.search(r"(?:chmod go-w|will not read)\s+'([^']+)'", str(error))
    if refused:
        place = refused.group(1)
        return (
            f"NLTK refuses {resource!r} at {place}, since other accounts could change it; run: "
            f"chmod -R go-w '{place}'"
        )
    if isinstance(error, LookupError):
        return (
            f"NLTK data {resource!r} is not installed (searched the folders of NLTK_DATA and "
            f"NLTK's own); run: {DOWNLOAD}"
        )
    return (
        f"NLTK data {resource!r} cannot be read ({type(error).__name__}); delete it and run: "
        f"{DOWNLOAD}"
    )
