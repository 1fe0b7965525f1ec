"""The eight text features of the PQPP paper (sections 5.1 and 12), each a predictor of its own.

The definitions are those of the authors' published code, so that their table can be reproduced;
two of them are not what their names suggest, and are kept for that reason:

* *tokens* are NLTK's ``word_tokenize`` of the prompt, without those that are a substring of
  ``string.punctuation``; *ratios* are counts over the number of tokens, 0.0 without tokens;
* the mean word length is over pieces between blanks, punctuation included, not over tokens;
* numerals are runs of digits that stand by themselves (``3``, ``1950``; dates count once), so that
  "three" is none;
* conjunctions and prepositions come from closed lists; acronyms are runs of at least two capitals;
  proper nouns are the tags NNP and NNPS of the tagger on the tokens.

The raw value is the prediction for every target: not fitted, not scaled, its sign not turned.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_models.checkpoint import Tensors
from pqpp_models.errors import UnknownPredictorError
from pqpp_models.measures import nltk_resources
from pqpp_models.predictor import Predictor

CONJUNCTIONS = frozenset(["for", "and", "nor", "but", "or", "yet", "so"])
_PREPOSITIONS = """
aboard about above across after against along amid among around as at before behind below beneath
beside between beyond by concerning considering despite down during except for from in inside into
like near of off on onto out outside over past regarding round since through to toward towards
under underneath unlike until up upon with within without
"""
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
_ACRONYM = re.compile(r"\b[A-Z]{2,}\b")
_NUMERAL = re.compile(r"\b(?:\d{4}-\d{2}-\d{2}|\d{2}/\d{2}/\d{4}|\d+)\b")


def linguistic_features(
    prompts: Iterable[str], names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """Compute the paper's text features of some prompts.

    Only what the named features need is done and loaded: no tagger runs for ``n_words``.

    Args:
        prompts: any strings; one without words has 0.0 everywhere.
        names: names of ``FEATURES``; all eight if left out.

    Returns:
        A float64 array of shape ``(prompts, names)`` of raw values: counts from 0 on, a mean
        length in characters, or ratios (of ``numeral_ratio`` and ``acronym_ratio`` a token may
        count more than once, the others are at most 1).

    Raises:
        UnknownPredictorError: a feature's name is not known.
        MissingResourceError: NLTK data that a feature needs is not installed.

    >>> linguistic_features(["a red cat", ""], ["mean_word_length"]).round(3).tolist()
    [[2.333], [0.0]]
    """
    chosen = tuple(FEATURES) if names is None else tuple(names)
    for name in chosen:
        if name not in FEATURES:
            raise UnknownPredictorError(
                f"no text feature is called {name!r}; available: {', '.join(FEATURES)}"
            )
    texts = list(prompts)
    values = [[FEATURES[name](text) for name in chosen] for text in texts]
    return np.array(values, dtype=np.float64).reshape(len(texts), len(chosen))


# The eight predictors are usually run one after the other over the same prompts.
@lru_cache(maxsize=8192)
def tokens(prompt: str) -> tuple[str, ...]:
    """Split a prompt into NLTK's tokens and drop those that are punctuation.

    Raises:
        MissingResourceError: NLTK's tokeniser data is not installed.

    >>> tokens("A dog, (and) it's here.")  # doctest: +SKIP
    ('A', 'dog', 'and', 'it', "'s", 'here')
    """
    split = nltk_resources.tokenizer()
    return tuple(token for token in split(prompt) if token not in string.punctuation)


@lru_cache(maxsize=1 << 16)
def _synsets_of(word: str) -> int:
    return len(nltk_resources.wordnet().synsets(word))


def _n_synsets(prompt: str) -> float:
    words, stopwords = tokens(prompt), nltk_resources.stopwords()
    return float(sum(_synsets_of(word) for word in words if word.lower() not in stopwords))


def _n_words(prompt: str) -> float:
    return float(len(tokens(prompt)))


def _mean_word_length(prompt: str) -> float:
    pieces = prompt.split()
    return sum(map(len, pieces)) / len(pieces) if pieces else 0.0


def _proper_noun_ratio(prompt: str) -> float:
    words = tokens(prompt)
    tagged = nltk_resources.tagger().tag(words) if words else []
    return _ratio([tag in ("NNP", "NNPS") for _, tag in tagged])


def _acronym_ratio(prompt: str) -> float:
    return _ratio([len(_ACRONYM.findall(word)) for word in tokens(prompt)])


def _numeral_ratio(prompt: str) -> float:
    return _ratio([len(_NUMERAL.findall(word)) for word in tokens(prompt)])


def _conjunction_ratio(prompt: str) -> float:
    return _ratio([word.lower() in CONJUNCTIONS for word in tokens(prompt)])


def _preposition_ratio(prompt: str) -> float:
    return _ratio([word.lower() in PREPOSITIONS for word in tokens(prompt)])


def _ratio(counts: Sequence[int]) -> float:
    return sum(counts) / len(counts) if counts else 0.0


FEATURES: dict[str, Callable[[str], float]] = {
    "n_synsets": _n_synsets,
    "n_words": _n_words,
    "mean_word_length": _mean_word_length,
    "proper_noun_ratio": _proper_noun_ratio,
    "acronym_ratio": _acronym_ratio,
    "numeral_ratio": _numeral_ratio,
    "conjunction_ratio": _conjunction_ratio,
    "preposition_ratio": _preposition_ratio,
}
"""The features by name; each takes a prompt."""


class LinguisticPredictor(Predictor):
    """One text feature as the prediction for every target.

    Args:
        name: one of ``FEATURES``.

    Raises:
        UnknownPredictorError: the name is not a feature's.

    >>> LinguisticPredictor("mean_word_length").predict(["a red"], "clip_rr,mean_hbpp").tolist()
    [[2.0, 2.0]]
    """

    supervised = False

    def __init__(self, name: str) -> None:
        if name not in FEATURES:
            raise UnknownPredictorError(
                f"no text feature is called {name!r}; available: {', '.join(FEATURES)}"
            )
        self.name = name

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        return np.repeat(linguistic_features(rows, [self.name]), len(targets), axis=1)

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        return {}, {}

    def _card(self) -> str:
        return (
            "---\nlicense: apache-2.0\ntags:\n- query-performance-prediction\n---\n"
            f"# {self.name}\n\n"
            "A text feature of the PQPP paper, without weights: the raw value is the prediction "
            "for every target. `Predictor.from_pretrained` of the package `pqpp` loads it.\n"
        )

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Return the predictor of one feature."""
        return cls(name)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor that a configuration names; it has no weights."""
        return cls(config["predictor_type"])
