"""Detection of the language of a prompt."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from pqpp_backbones.prompt.quoted import QUOTED
from pqpp_backbones.prompt.word_lists import read_word_lists

_LISTS = read_word_lists(__file__, "languages.txt")
_LETTERS, _SCRIPTS, _CODES = (
    dict(pair.replace("_", " ").split("=") for pair in _LISTS.pop(name))
    for name in ("letters", "scripts", "codes")
)
_ENGLISH = _LISTS.pop("English")
_WORD = re.compile(r"[^\W\d_]+")
_MAX_LETTERS, _MAX_TEXTS, _ONE_IN = 300, 1000, 50
_HINT, _VOWEL, _MIN_POINTS = 0.5, 0.2, 1.5  # points of a typical letter and of a vowel ending


def detect_language(text: str, is_english: bool = False) -> str | None:
    """Detect the language of text; None for English or an unknown language.

    A language is detected from its script, or from its function words and letters if they outnumber
    those of English. Quoted text is ignored.

    Args:
        is_english: whether most words are English; if so, text in Latin script is not examined.

    >>> [detect_language(t) for t in ("ein Hund auf dem Sofa", "沙发上的狗", "a dog on the sofa")]
    ['German', 'Chinese', None]
    """
    unquoted = QUOTED.sub(" ", text).lower() or text.lower()
    if is_english and unquoted.isascii():
        return None
    letters = [letter for letter in unquoted[:_MAX_LETTERS] if letter.isalpha()]
    scripts = Counter(unicodedata.name(letter, "?").split()[0].split("-")[0] for letter in letters)
    foreign = {name: n for name, n in scripts.items() if name in _SCRIPTS}
    if 2 * sum(foreign.values()) > len(letters):
        # Japanese is written in Chinese characters too.
        kana = [name for name in ("HIRAGANA", "KATAKANA") if name in foreign]
        return _SCRIPTS[kana[0] if kana else max(foreign, key=lambda name: foreign[name])]
    if is_english:
        return None
    words = Counter(_WORD.findall(unquoted))
    hints = Counter(_LETTERS[letter] for letter in set(letters) & set(_LETTERS))
    points = {k: sum(words[w] for w in known) + _HINT * hints[k] for k, known in _LISTS.items()}
    # French shares function words with other Romance languages, whose nouns end in vowels.
    endings = sum(words[word] for word in words if len(word) > 3 and word[-1] in "ao")
    for name in ("Spanish", "Portuguese", "Italian"):
        points[name] += _VOWEL * endings if points[name] else 0
    best = max(points, key=lambda name: points[name])
    english = sum(words[word] for word in _ENGLISH)
    minimum = 1 if sum(words.values()) <= 4 else _MIN_POINTS
    return best if points[best] > english and points[best] >= minimum else None


def find_language_codes(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the ISO 639-1 codes of the languages of texts, the most common first.

    A language is listed if at least one in fifty sampled texts is in it. The result is empty if
    such a language has no known code.

    >>> find_language_codes(["a dog on the sofa", "ein Hund auf dem Sofa", "a cat", "red"])
    ('en', 'de')
    """
    sample = texts[:: -(-len(texts) // _MAX_TEXTS)] if texts else ()
    names = Counter(
        detect_language(text) or ("English" if _ENGLISH & {*_WORD.findall(text.lower())} else "")
        for text in sample
    )
    del names[""]
    common = [name for name, n in names.most_common() if n * _ONE_IN >= len(sample)]
    return tuple(_CODES[name] for name in common) if _CODES.keys() >= {*common} else ()
