"""Lists of words in files beside the code that reads prompts."""

from pathlib import Path


def read_word_lists(file: Path) -> dict[str, list[str]]:
    """Return lists of words by name.

    A line is ``name: word word ...``, and goes on in lines that begin with a blank; ``#`` begins a
    comment.

    >>> read_word_lists(Path(__file__).with_name("grammar.txt"))["particles"][:2]
    ['up', 'out']
    """
    lines = file.read_text("utf-8").replace("\n ", " ").splitlines()
    named = (line.partition(":") for line in lines if not line.startswith("#"))
    return {name: words.split() for name, _, words in named}
