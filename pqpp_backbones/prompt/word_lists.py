"""Lists of words, which are data and stand in files beside the code that reads them."""

from pathlib import Path


def read_word_lists(path: Path) -> dict[str, frozenset[str]]:
    """Return the lists of a file by name: lines as ``name: words``, which indented lines go on.

    >>> sorted(read_word_lists(Path(__file__).with_name("grammar.txt"))["article"])[:3]
    ['a', 'an', 'another']
    """
    lines = path.read_text("utf-8").replace("\n ", " ").splitlines()
    parts = (line.partition(":") for line in lines if not line.startswith("#"))
    return {name: frozenset(words.split()) for name, _, words in parts}
