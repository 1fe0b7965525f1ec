"""The eight text features of the PQPP paper (sections 5.1 and 12), each a predictor of its own.

The definitions are those of the authors' published code, so that their table can be reproduced;
some differ from what their names suggest:

* *tokens* are NLTK's ``word_tokenize`` of the prompt, without those that are a substring of
  ``string.punctuation``; *ratios* are counts over the number of tokens, 0.0 without tokens;
* the mean word length is over words separated by whitespace, including their punctuation, not over
  tokens;
* numerals are separate runs of digits (``3``, ``1950``; dates count once), so that
  "three" is none;
* conjunctions and prepositions come from closed lists; acronyms are runs of at least two capitals;
  proper nouns are the tags NNP and NNPS of the tagger on the tokens.

The raw value is the prediction for every target; it is not fitted, scaled or negated.
"""

import re
import string
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from pqpp_models.measures import nltk_resources
from pqpp_models.measures.measure import make_measures

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


def _apply_to_each(feature: Callable[[str], float], prompts: Sequence[str], _: None) -> np.ndarray:
    return np.array([feature(prompt) for prompt in prompts], dtype=np.float64)


# The eight predictors are usually run one after the other on the same prompts.
@lru_cache(maxsize=8192)
def tokenize(prompt: str) -> tuple[str, ...]:
    """Split a prompt into NLTK's tokens, without punctuation.

    Raises:
        PredictorError: NLTK's tokeniser data is not installed.

    >>> tokenize("A dog, (and) it's here.")  # doctest: +SKIP
    ('A', 'dog', 'and', 'it', "'s", 'here')
    """
    split = nltk_resources.load_tokenizer()
    return tuple(token for token in split(prompt) if token not in string.punctuation)


@lru_cache(maxsize=1 << 16)
def count_synsets(word: str) -> int:
    """Return the number of WordNet synsets of a word."""
    return len(nltk_resources.load_wordnet().synsets(word))


def n_synsets(prompt: str) -> float:
    """Return the total number of WordNet synsets of all tokens that are not stopwords."""
    words, stopwords = tokenize(prompt), nltk_resources.load_stopwords()
    return float(sum(count_synsets(word) for word in words if word.lower() not in stopwords))


def mean_word_length(prompt: str) -> float:
    """Return the mean length of the words, which are separated by whitespace."""
    return _compute_mean([len(piece) for piece in prompt.split()])


def proper_noun_ratio(prompt: str) -> float:
    """Return the share of proper nouns among the tokens."""
    words = tokenize(prompt)
    tagged = nltk_resources.load_tagger().tag(words) if words else []
    return _compute_mean([tag in ("NNP", "NNPS") for _, tag in tagged])


def _compute_mean(counts: Sequence[int]) -> float:
    return sum(counts) / len(counts) if counts else 0.0


def _make_token_ratio(count: Callable[[str], int]) -> Callable[[str], float]:
    """Return a function that computes the mean count over a prompt's tokens."""
    return lambda prompt: _compute_mean([count(word) for word in tokenize(prompt)])


_FEATURES: dict[str, Callable[[str], float]] = {
    "n_synsets": n_synsets,
    "n_words": lambda prompt: len(tokenize(prompt)),
    "mean_word_length": mean_word_length,
    "proper_noun_ratio": proper_noun_ratio,
    "acronym_ratio": _make_token_ratio(lambda word: len(_ACRONYM.findall(word))),
    "numeral_ratio": _make_token_ratio(lambda word: len(_NUMERAL.findall(word))),
    "conjunction_ratio": _make_token_ratio(lambda word: word.lower() in CONJUNCTIONS),
    "preposition_ratio": _make_token_ratio(lambda word: word.lower() in PREPOSITIONS),
}
MEASURES = make_measures({k: partial(_apply_to_each, feature) for k, feature in _FEATURES.items()})
"""The features, raw values: counts from 0 on, a mean length in characters, or ratios (of
``numeral_ratio`` and ``acronym_ratio`` a token may count more than once, the others are at most 1).
All features of a prompt without words are 0.0. Only the data that a feature needs is loaded."""
