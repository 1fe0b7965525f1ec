"""Features of prompts for ridge regression, and the heads that compute scores from them."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from pqpp_models.text.arrays import Floats, Singles, normalise_rows, square_distances
from pqpp_models.text.reading.words import compute_difficulty

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pqpp_models.text.saved_encoder import SentenceEncoder

HALF = 1 << 15
"""The number of columns for hashed words and pairs, and of those for hashed pieces of words."""

_WORD = re.compile(r"\w+(?:'\w+)?")  # without punctuation except inner apostrophes
_LENGTHS = range(2, 6)


def hash_text(text: str) -> int:
    """Return the CRC-32 of text."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def count_pieces(prompts: Sequence[str]) -> csr_array:
    """Count the pieces of normalised prompts, hashed to columns.

    The first `HALF` columns are for words and pairs of adjacent words, the others for pieces of two
    to five characters of a word. A count n becomes 1 + log n, with a sign from the hash.

    Returns:
        A sparse float32 matrix of shape ``(prompts, 2 * HALF)``.

    >>> counts = count_pieces(["a cat", ""])
    >>> counts[:, :HALF].nnz, counts[:, HALF:].nnz  # a, cat, a cat; of " a " 3, of " cat " 10
    (3, 13)
    """
    from scipy.sparse import csr_array

    indices: list[int] = []
    counts: list[float] = []
    indptr = [0]
    for prompt in prompts:
        columns: Counter[int] = Counter()
        for text, is_word in _split_pieces(prompt):
            code = hash_text(text)
            columns[code % HALF + (0 if is_word else HALF)] += 1 if code >> 31 else -1
        indices.extend(columns)
        counts.extend(columns.values())
        indptr.append(len(indices))
    signed = np.array(counts, dtype=np.float32)
    data = np.sign(signed) * (1 + np.log(np.maximum(np.abs(signed), 1)))
    return csr_array((data, indices, indptr), shape=(len(prompts), 2 * HALF), dtype=np.float32)


def _split_pieces(prompt: str) -> Iterator[tuple[str, bool]]:
    words = _WORD.findall(prompt)
    for word in words:
        yield word, True
        padded = f" {word} "
        for length in _LENGTHS:
            for start in range(len(padded) - length + 1):
                yield padded[start : start + length], False
    for pair in pairwise(words):
        yield " ".join(pair), True


def compute_idf(counts: Any) -> Singles:
    """Return the inverse document frequency of each column, 0 for empty columns.

    It is ``log((1 + prompts) / (1 + prompts with a count in the column)) + 1``, as in scikit-learn.
    """
    n_prompts = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
    rarity = np.log((1 + counts.shape[0]) / (1 + n_prompts)) + 1
    return np.where(n_prompts > 0, rarity, 0.0).astype(np.float32)


def weigh_pieces(counts: csr_array, rarity: Singles) -> csr_array:
    """Return TF-IDF, with each prompt's words and pieces separately scaled to length one."""
    from scipy.sparse import csr_array, diags_array, hstack

    weighed = csr_array(counts @ diags_array(rarity))
    halves = []
    for half in (weighed[:, :HALF], weighed[:, HALF:]):
        length = np.sqrt((half * half).sum(axis=1))
        halves.append(diags_array(1 / np.where(length > 0, length, 1.0)) @ half)
    return csr_array(hstack(halves))


class SeenPieces:
    """A detector of prompts that have no piece in common with the training prompts.

    It is used instead of `KnownWords` if most training prompts are not plain English.
    """

    def __init__(self, rarity: Singles) -> None:
        self.rarity = rarity

    def rate_known(self, prompts: Sequence[str]) -> Any:
        """Return 1 for prompts with a piece of the training prompts, 0 for others."""
        return (abs(count_pieces(prompts)) @ self.rarity > 0).astype(float)

    def rate_garbled(self, prompts: Sequence[str]) -> Any:
        """Return 0 for each prompt, since garbled words are not detected."""
        return np.zeros(len(prompts))

    def explain_unread(self, prompt: str) -> str:
        """Return an empty string, since there is no explanation."""
        return ""


BUCKETS = 1024
"""The number of columns for hashed words and pairs of adjacent words."""


class Features(NamedTuple):
    """Features of prompts, one row per prompt.

    Attributes:
        points: the embeddings that `static` computes, as unit vectors.
        words: the output of `hash_words`.
        blocks: mean vectors of word pieces, the hidden layer, and the difficulty features.
        pieces: the output of `count_pieces`.
        sentence: the sentence encoder's embeddings, None without an encoder.
        base: predictions of `static` for the base target, None without a base.
    """

    points: Singles
    words: Floats
    blocks: tuple[Singles, ...]
    pieces: csr_array
    sentence: Singles | None
    base: Floats | None = None

    @property
    def embedding(self) -> Singles:
        """The first two blocks, each scaled to length one."""
        return np.hstack([normalise_rows(layer) for layer in self.blocks[:2]])

    def select_rows(self, rows: Any) -> Self:
        """Return the features of some rows."""
        parts: Any = self._replace(blocks=tuple(block[rows] for block in self.blocks))._asdict()
        arrays = {n: part[rows] for n, part in parts.items() if n != "blocks" and part is not None}
        return type(self)(**parts | arrays)


def compute_prompt_features(
    network: Any,
    sentence_encoder: SentenceEncoder | None,
    prompts: Sequence[str],
    base: str | None = None,
) -> Features:
    """Compute the features of normalised prompts.

    Args:
        network: the predictor `static`, whose network embeds the prompts.
        prompts: normalised prompts.
        base: the target of `static` whose predictions the fit starts from.
    """
    points, *layers = network.get_features(prompts)
    return Features(
        points,
        hash_words(prompts),
        (*layers, compute_difficulty(prompts, network.tables)),
        count_pieces(prompts),
        None if sentence_encoder is None else sentence_encoder.embed(prompts),
        None if base is None else network.predict(list(prompts), base)[:, 0],
    )


def hash_words(prompts: Sequence[str]) -> Floats:
    """Return unit vectors of hashed words and pairs of adjacent words.

    A prompt without words has zeros.

    >>> row = hash_words(["a cat"])[0]
    >>> int((row != 0).sum()), round(float(row @ row), 6)
    (3, 1.0)
    """
    rows = np.zeros((len(prompts), BUCKETS))
    for row, prompt in zip(rows, prompts, strict=True):
        words = _WORD.findall(prompt)
        for text in dict.fromkeys((*words, *map(" ".join, pairwise(words)))):
            code = hash_text(text)
            row[code % BUCKETS] += 1 if code >> 31 else -1
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


class TfidfHead(NamedTuple):
    """A linear head on TF-IDF features.

    Attributes:
        rarity: inverse document frequency of each column of `count_pieces`.
        weights: shape ``(columns, targets)``.
    """

    rarity: Singles
    weights: Singles

    def score(self, features: Features) -> Floats:
        """Return the head's contribution to the standardised scores."""
        return weigh_pieces(features.pieces, self.rarity) @ self.weights.astype(np.float64)


class KernelHead(NamedTuple):
    """A linear head on a Gaussian kernel.

    Attributes:
        landmarks: vectors of training prompts, one per row.
        width: divisor of squared distances, shape ``(1,)``.
        weights: shape ``(landmarks, targets)``.
    """

    landmarks: Singles
    width: Singles
    weights: Singles

    def score(self, vectors: Singles) -> Floats:
        """Return the head's contribution to the standardised scores of vectors."""
        squares = square_distances(vectors.astype(np.float64), self.landmarks.astype(np.float64))
        return np.exp(-squares / float(self.width[0])) @ self.weights
