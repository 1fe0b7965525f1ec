"""Whether a rewritten prompt still asks for what the original asked for.

What an encoder does not see. Words may be moved, and what asks for an image ("please give me a
picture of") is no part of it. What may not be lost: each content word, or a word of WordNet that
means the same or something more special; each number; each negation; each word for a place that
turns what is seen round. Who does what to whom is not seen: name a model of entailment for that.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from pqpp_backbones.prompt.numbers import UNITS
from pqpp_backbones.prompt.word_lists import read_word_lists
from pqpp_models.measures.nltk_resources import stopwords, wordnet

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBERS = {word: number for number, word in enumerate((*UNITS, "twenty"))}
_NUMBERS |= {"pair": 2, "couple": 2, "trio": 3, "dozen": 12, "hundred": 100, "thousand": 1000}
_LISTS = read_word_lists(__file__, "meaning.txt")
_ASKING, _AROUND, _LIGHT = (_LISTS[name] for name in ("asking", "around", "light"))
_PLACE_OF = dict(pair.split("=") for pair in _LISTS["places"])
_ENDINGS = ("y", "en", "ly", "ish", "ing", "ed", "s", "es")
# Of a word for something special the more general one is so many steps away at most.
_STEPS_UP = 3


def meaning_lost(original: str, rewrite: str) -> str:
    """Say what of the original a rewrite has lost; empty where nothing was found missing.

    Args:
        original: What was asked for.
        rewrite: What shall be asked instead.

    Raises:
        PredictorError: NLTK's WordNet or stopwords are not installed.

    Example:
        >>> meaning_lost("two dogs on a couch", "on a red sofa, two dogs sleep")
        ''
        >>> meaning_lost("two dogs without a leash", "dogs without a leash")
        'numbers differ: 2 became none'
    """
    original, rewrite = without_request(original), without_request(rewrite)
    before, after = _words(original), _words(rewrite)
    numbers, numbers_after = _numbers(before), _numbers(after)
    if numbers != numbers_after:
        return f"numbers differ: {_told(numbers)} became {_told(numbers_after)}"
    negated, negated_after = (["negation"] * sum(map(_negates, words)) for words in (before, after))
    if negated != negated_after:
        return f"negations differ: {_told(negated)} became {_told(negated_after)}"
    places = {_PLACE_OF[word] for word in before if word in _PLACE_OF}
    lost = sorted(places - {_PLACE_OF[word] for word in after if word in _PLACE_OF})
    if lost:
        return f"the place is lost: {lost[0]}"
    lost = missing(original, rewrite)
    return f"a word is lost: {lost[0]}" if lost else ""


def missing(original: str, rewrite: str) -> list[str]:
    """Return the content words of a text for which another has none that means the same.

    Example:
        >>> missing("a snowy hill with a dog", "snow on a hill")
        ['dog']
    """
    words, wanted = _words(rewrite), words_to_keep(without_request(original))
    return [word for word in wanted if not any(_stands_for(other, word) for other in words)]


def without_request(text: str) -> str:
    """Return a prompt without the words that ask for an image, as "please give me a picture of".

    Example:
        >>> without_request("please give me an image of a dog")
        'dog'
        >>> without_request("a picture on a wall")
        'a picture on a wall'
    """
    asks, end = False, 0
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        if word not in _ASKING and word not in _AROUND:
            break
        asks, end = asks or word in _ASKING, match.end()
    else:
        return text
    head = text[:end].casefold().split()
    is_request = asks or head[-1:] in (["of"], ["where"], ["with"], ["showing"], ["which"])
    return text[end:].lstrip(" ,:;-") if is_request else text


def only_shorter(original: str, rewrite: str) -> bool:
    """Tell whether a rewrite is its original with words left out, requests and light ones apart.

    Example:
        >>> only_shorter("a dog on a couch", "dog couch"), only_shorter("dog on couch", "a dog")
        (True, False)
    """
    before, after = (
        [word for word in _words(without_request(text)) if word not in _LIGHT]
        for text in (original, rewrite)
    )
    left = iter(before)
    return len(after) < len(before) and all(word in left for word in after)


def words_to_keep(text: str) -> list[str]:
    """Return the words of a text that are more than grammar, numbers or places, each once.

    Example:
        >>> words_to_keep("Two dogs on a red couch.")
        ['dogs', 'red', 'couch']
    """
    return list(dict.fromkeys(word for word in _words(text) if _is_content(word)))


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


def _numbers(words: list[str]) -> list[int]:
    numbers = (_NUMBERS.get(word, int(word) if word.isdecimal() else None) for word in words)
    return sorted(number for number in numbers if number is not None)


def _told(counted: Sequence) -> str:
    return ", ".join(map(str, counted)) or "none"


def _is_content(word: str) -> bool:
    is_counted = word in _NUMBERS or word.isdecimal() or _negates(word)
    return not is_counted and not (word in _PLACE_OF or word in _LIGHT or word in stopwords())


def _negates(word: str) -> bool:
    return word in _LISTS["negations"] or word.endswith("n't")


@lru_cache(maxsize=100_000)
def _stands_for(other: str, word: str) -> bool:
    """Tell whether a word means the same as another one, or something more special."""
    if other == word or _lemmas(other) & _lemmas(word):
        return True
    short, long = sorted((other, word), key=len)
    if len(short) > 3 and long.startswith(short) and long[len(short) :] in _ENDINGS:
        return True  # forms of one stem: snow and snowy, wood and wooden
    meanings = _synsets(word)
    return any(synset in meanings or meanings & _above(synset) for synset in _synsets(other))


@cache
def _lemmas(word: str) -> frozenset[str]:
    lemmas = (wordnet().morphy(word, kind) for kind in ("n", "v", "a", "r"))
    return frozenset(lemma for lemma in lemmas if lemma)


@cache
def _synsets(word: str) -> frozenset:
    """Return the common meanings of a word, by WordNet's order: rare ones would excuse anything."""
    senses = wordnet()
    return frozenset(synset for kind in "nvar" for synset in senses.synsets(word, kind)[:3])


@cache
def _above(synset) -> frozenset:
    """Return the more general meanings a few steps up."""
    hypernyms, edge = set(), {synset}
    for _ in range(_STEPS_UP):
        edge = {above for sense in edge for above in sense.hypernyms()}
        hypernyms |= edge
    return frozenset(hypernyms)
