"""Candidates without a language model: the words of a query, and others that mean the same."""

import re
from itertools import zip_longest

from pqpp_engines.errors import RewriteError
from pqpp_engines.rewrite.meaning import words_to_keep
from pqpp_models.measures.nltk_resources import wordnet

_MOST_SENSES = 2


class Synonyms:
    """Expands and rewords a query by WordNet.

    Of each content word the synonyms in its two most usual senses are put beside it at the end of
    the query (expansion), or in its place. The words that come first in the query come first.

    Args:
        count: Candidates of each query, at most.

    Raises:
        RewriteError: The count is below 1.

    Example:
        >>> Synonyms(4)("a couch")
        ['a couch sofa', 'a sofa', 'a couch lounge', 'a lounge']
    """

    def __init__(self, count: int = 8) -> None:
        if count < 1:
            raise RewriteError(f"{count} rewrites: give 1 or more")
        self.count = count

    def __call__(self, prompt: str) -> list[str]:
        """Return the candidates of a prompt, each once; none where no word has a synonym."""
        stem = prompt.rstrip(" .")
        made: list[str] = []
        # The first synonym of every word, then the second of every word, and so on.
        rows = [_rewordings(stem, word) for word in words_to_keep(stem)]
        for row in zip_longest(*rows, fillvalue=()):
            made += [text for pair in row for text in pair]
        return [rewrite for rewrite in dict.fromkeys(made) if rewrite != stem][: self.count]


def _rewordings(stem: str, word: str) -> list[tuple[str, str]]:
    return [(f"{stem} {synonym}", _replaced(stem, word, synonym)) for synonym in _synonyms(word)]


def _replaced(text: str, word: str, other: str) -> str:
    """Put another word in place of one, which has no letters beside it."""
    pattern = rf"(?<![^\W_]){re.escape(word)}(?![^\W_])"
    return re.sub(pattern, lambda _: other, text, flags=re.IGNORECASE)


def _synonyms(word: str) -> list[str]:
    """Return the single words for a word's usual meanings, the most usual first; plurals have none.

    A plural's synonyms are of another number, and WordNet knows it as a form of a word only.
    """
    senses = [synset.lemma_names() for synset in wordnet().synsets(word)[:_MOST_SENSES]]
    names = dict.fromkeys(name for sense in senses if word in sense for name in sense)
    return [lemma for lemma in names if lemma.islower() and lemma.isalpha() and lemma != word]
