"""Word vectors, such as those of word2vec, fastText and GloVe."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_files.errors import reraise
from pqpp_files.paths import expand
from pqpp_models.errors import PredictorError

_BLOCK = 1 << 24
"""The number of similarities per block: 64 MB of float32."""

_MAX_WORD_LENGTH = 1000


class WordVectors:
    """Words with vectors of length one.

    Args:
        words: the words; of duplicates, the first is used.
        vectors: shape ``(words, dimensions)``; a vector of zeros is similar to nothing.

    Raises:
        ValueError: there are no words, the shapes do not match, or a value is not finite.

    >>> vectors = WordVectors(["cat", "dog", "car"], [[2.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    >>> [cosines.tolist() for _, cosines in vectors.iterate_blocks([0])]
    [[1.0, -1.0, 0.0]]
    """

    def __init__(self, words: Sequence[str], vectors: ArrayLike) -> None:
        array = np.asarray(vectors, dtype=np.float32)
        if array.ndim != 2 or len(array) != len(words) or array.size == 0:
            raise ValueError(f"{len(words)} words have vectors of shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError("a vector contains NaN or infinity")
        first = {word: index for index, word in reversed(list(enumerate(words)))}
        if len(first) < len(words):
            indices = sorted(first.values())
            words, array = [words[index] for index in indices], array[indices]
        self.words = tuple(words)
        self._index = {word: index for index, word in enumerate(self.words)}
        length = np.linalg.norm(array, axis=1, keepdims=True)
        self.array: NDArray[np.float32] = array / np.maximum(length, np.finfo(np.float32).tiny)

    def get_index(self, word: str) -> int | None:
        """Return the index of a word; None if it is unknown."""
        return self._index.get(word)

    def iterate_blocks(self, indices: Sequence[int]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each index with its cosines to all words, computed in blocks to save memory."""
        size = max(_BLOCK // len(self.words), 1)
        for start in range(0, len(indices), size):
            block = indices[start : start + size]
            yield from zip(block, self.array[list(block)] @ self.array.T, strict=True)


WordsAndRows = tuple[list[str], list[NDArray[np.float32]]]


def load_word_vectors(path: str | os.PathLike[str]) -> WordVectors:
    """Read word embeddings from a file.

    Args:
        path: a file ``.bin`` in word2vec's binary format, or a text file with a word and its
            numbers per line.

    Raises:
        PredictorError: the file cannot be read, or has another format.
    """
    file = expand(path)
    read = _read_binary if file.suffix.lower() == ".bin" else _read_text
    remedy = "use a word2vec file: .bin, or text in .vec or .txt"
    with reraise(f"{file}: word vectors cannot be read", remedy, PredictorError):
        return WordVectors(*read(file))


def _read_text(path: Path) -> WordsAndRows:
    words, rows = list[str](), list[NDArray[np.float32]]()
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file):
            fields = line.rstrip().split(" ")
            if number == 0 and len(fields) == 2 and all(map(str.isdigit, fields)):
                continue
            # A word may contain blanks, so the first row sets the number of dimensions.
            width = len(rows[0]) if rows else len(fields) - 1
            if width < 1 or len(fields) <= width:
                raise ValueError(f"line {number + 1}: expected a word and its numbers")
            words.append(" ".join(fields[:-width]))
            rows.append(np.array(fields[-width:], dtype=np.float32))
    return words, rows


def _read_binary(path: Path) -> WordsAndRows:
    with path.open("rb") as file:
        count, width = (int(field) for field in file.readline(100).split())
        if count < 0 or not 0 < width < 1 << 20:
            raise ValueError("invalid counts in the first line")
        words, rows = list[str](), list[NDArray[np.float32]]()
        for _ in range(count):
            characters = bytearray()
            while (character := file.read(1)) != b" ":
                characters += character
                if not character or len(characters) > _MAX_WORD_LENGTH:
                    raise ValueError("a word is not followed by a space")
            # Some writers end each vector with a line feed, which then begins the next word.
            words.append(characters.lstrip(b"\n").decode("utf-8", "surrogateescape"))
            rows.append(np.frombuffer(file.read(4 * width), "<f4", width))
    return words, rows
