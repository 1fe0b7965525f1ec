"""Read lists of words in files next to a module."""

import re
from collections.abc import Iterable
from pathlib import Path


def read_lines(module: str, name: str) -> list[str]:
    """Read the lines of a file next to a module, without comments.

    >>> read_lines(__file__, "styles.txt")[:2]
    ['1920s', '1930s']
    """
    lines = Path(module).with_name(name).read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def read_word_lists(module: str, name: str) -> dict[str, frozenset[str]]:
    """Read word lists by name from lines ``name: words``, which indented lines continue.

    >>> sorted(read_word_lists(__file__, "grammar.txt")["article"])[:3]
    ['a', 'an', 'another']
    """
    lines = "\n".join(read_lines(module, name)).replace("\n ", " ").split("\n")
    return {
        name: frozenset(words.split()) for name, words in (line.split(": ", 1) for line in lines)
    }


def to_word_regex(words: Iterable[str]) -> str:
    r"""Return a regular expression that matches any of the words, preferring longer ones.

    >>> to_word_regex(["van", "van gogh"])
    'van\\s+gogh|van'
    """
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in longest_first)
