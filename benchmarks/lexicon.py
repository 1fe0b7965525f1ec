"""Make `wordnet.bin` and `web.bin`, the lexicons that tell names from garbled words.

`python benchmarks/lexicon.py unigrams.txt`, the file being that of the package wordsegment.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from nltk.corpus import wordnet

import pqpp_backbones.prompt
from pqpp_models.text.reading import known_words

FOLDER = Path(known_words.__file__).parent
LISTS = Path(pqpp_backbones.prompt.__file__).parent.glob("*.txt")
WORD = re.compile(r"[a-z]{4,}")
MOST, USUAL, RARER = 250_000, 60_000, 50


def make_slips(word: str) -> Iterator[str]:
    """Yield a word with a letter dropped, doubled, or swapped with the next."""
    for at in range(1, len(word)):
        yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        yield word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]


def main() -> None:
    """Write both files beside the reader; the web's has no slips of much commoner words."""
    rows = (line.split("\t") for line in Path(sys.argv[1]).read_text("utf-8").splitlines())
    counts = {word: int(count) for word, count in rows}
    dictionary = set(filter(WORD.fullmatch, map(str.lower, wordnet.all_lemma_names())))
    web = set(filter(WORD.fullmatch, [*counts][:MOST]))
    for word in filter(WORD.fullmatch, [*counts][:USUAL]):
        rare = {slip for slip in make_slips(word) if counts.get(slip, 0) * RARER < counts[word]}
        web -= rare - dictionary - {word}
    web.update(*(WORD.findall(path.read_text("utf-8")) for path in LISTS))
    known_words.build_lexicon(dictionary, 1 << 21).tofile(FOLDER / "wordnet.bin")
    known_words.build_lexicon(web, 3_500_000).tofile(FOLDER / "web.bin")
    print(len(dictionary), len(web))


main()
