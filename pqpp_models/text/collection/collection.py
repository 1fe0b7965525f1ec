"""Collections of captions, and the features of prompts from them.

Retrieval is easier for queries that resemble more captions of the collection. A collection contains
one unit vector per caption and layer of a text encoder, and hashes of the captions' words, but no
text. The first captions are the training prompts, which may have labels.

Query scope is the number of captions that contain words of a query (He and Ounis, 2004). Coherence
is the similarity among the captions that are nearest to a query (He et al., 2008).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pqpp_models.text.arrays import Arrays, Singles, add_prefix, iterate_chunks, normalise_rows
from pqpp_models.text.calibration import SAME
from pqpp_models.text.reading.words import (
    WordTables,
    compute_difficulty,
    find_content_words,
    to_words,
)

SCOPE_SHARES = (0.8, 0.6, 0.4)
SCOPE_RANKS = (1, 5, 10, 20, 50)
NEIGHBOURS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)
THRESHOLDS = (0.3, 0.36, 0.42, 0.48, 0.54, 0.6, 0.66, 0.72, 0.78)
WIDTHS = (0.03, 0.06, 0.12)
COHERENCE_NEIGHBOURS = (5, 10, 20, 50, 100)
LABEL_NEIGHBOURS = (3, 10, 30)
LABEL_WIDTH = 0.08
COUNTED = 1000
"""The number of nearest captions in a density."""

_CENTRE_NEIGHBOURS = 20
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(eq=False)
class Postings:
    """An inverted index from hashed words to captions.

    Attributes:
        words: the distinct hashes of content words, sorted.
        starts: the position of each word's first caption in ``captions``, and at the end the length
            of ``captions``.
        captions: the indices of captions, grouped by word.
        keys: a hash of each caption, to find the caption that equals a prompt.

    >>> postings = Postings.build(["a red cat", "two cats on a mat", "a dog"])
    >>> np.expm1(postings.measure_scope(["A cat on a red mat"])[0, :3]).round().tolist()
    [0.0, 2.0, 2.0]
    """

    words: NDArray[np.uint32]
    starts: NDArray[np.int64]
    captions: NDArray[np.uint32]
    keys: NDArray[np.uint32]

    def __post_init__(self) -> None:
        if len(self.starts) != len(self.words) + 1 or self.starts[-1] != len(self.captions):
            raise ValueError("the arrays of the postings have inconsistent lengths")
        if len(self.captions) and self.captions.max() >= len(self.keys):
            raise ValueError("the postings refer to a caption that does not exist")

    @classmethod
    def build(cls, captions: Sequence[str]) -> Postings:
        """Index the content words of captions."""
        word_lists = [to_words(caption) for caption in captions]
        pairs = {
            (zlib.crc32(word.encode()), number)
            for number, words in enumerate(word_lists)
            for word in find_content_words(words)
        }
        keys = np.array([_hash_words(words) for words in word_lists], dtype=np.uint32)
        hashes, numbers = np.array(sorted(pairs), dtype=np.uint32).reshape(-1, 2).T
        words, counts = np.unique(hashes, return_counts=True)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(words, starts, numbers.copy(), keys)

    def measure_scope(self, prompts: Sequence[str]) -> Singles:
        """Return features of prompts from the numbers of captions with the same content words.

        They are the log counts of captions with all content words, with all but one, with all but
        two, and with more than each of `SCOPE_SHARES` of the words' summed inverse document
        frequency; the shares of that sum in the captions at `SCOPE_RANKS`; the sum itself; and its
        mean per word. A caption that equals the prompt is excluded.
        """
        rows = []
        for prompt in prompts:
            words = to_words(prompt)
            content = find_content_words(words)
            same = np.flatnonzero(self.keys == _hash_words(words))
            hits = np.zeros(len(self.keys), dtype=np.int16)
            rarity_sums = np.zeros(len(self.keys))
            total = 0.0
            hashes = np.array([zlib.crc32(word.encode()) for word in content], dtype=np.uint32)
            starts, ends = (self.starts[np.searchsorted(self.words, hashes, s)] for s in _SIDES)
            for start, end in zip(starts, ends, strict=True):
                matching = self.captions[start:end]
                n_same = np.isin(same, matching).sum() if len(same) else 0
                rarity = np.log((len(self.keys) - len(same) + 1) / (len(matching) - n_same + 1))
                hits[matching] += 1
                rarity_sums[matching] += rarity
                total += rarity
            hits[same], rarity_sums[same] = -1, 0
            share = rarity_sums / max(total, 1e-6)
            n_top = min(max(SCOPE_RANKS), len(share))
            top_shares = np.zeros(max(SCOPE_RANKS))
            top_shares[:n_top] = np.sort(np.partition(share, -n_top)[-n_top:])[::-1] if n_top else 0
            required = [max(len(content) - n_missing, 1) for n_missing in range(3)]
            rows.append(
                [
                    *(np.log1p((hits >= minimum).sum()) for minimum in required),
                    *(np.log1p((share > minimum).sum()) for minimum in SCOPE_SHARES),
                    *(top_shares[rank - 1] for rank in SCOPE_RANKS),
                    *(total, total / max(len(content), 1)),
                ]
            )
        width = len(SCOPE_SHARES) + len(SCOPE_RANKS) + 5
        return np.array(rows, dtype=np.float32).reshape(len(prompts), width)


def _hash_words(words: Sequence[str]) -> int:
    return zlib.crc32(" ".join(words).encode())


@dataclass(eq=False)
class Collection:
    """A collection of captions as unit vectors in several layers, with word counts.

    Attributes:
        vectors: by layer, an array of shape ``(captions, size)``.
        means: by layer, the mean subtracted from the encoder's output before scaling to length one.
        labelled: the number of labelled captions, which come first.
        tables: word counts of the captions.
        postings: the index of words; without it, there are no scope and coherence features.
    """

    vectors: Mapping[int, NDArray[Any]]
    means: Mapping[int, NDArray[Any]]
    labelled: int
    tables: WordTables
    postings: Postings | None = None

    def __post_init__(self) -> None:
        self.vectors = {layer: np.asarray(rows, np.float32) for layer, rows in self.vectors.items()}
        self.means = {layer: np.asarray(mean, np.float32) for layer, mean in self.means.items()}

    @classmethod
    def build(
        cls,
        encoded: Mapping[int, NDArray[Any]],
        labelled: int,
        tables: WordTables,
        postings: Postings | None = None,
    ) -> Collection:
        """Build a collection from an encoder's outputs by layer.

        The mean over the captions is subtracted from every layer but the last.

        >>> encoded = {6: np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])}
        >>> collection = Collection.build(encoded, 1, WordTables.build(["a", "b", "c"]))
        >>> collection.vectors[6].round(2).tolist()[0]
        [1.0, 0.0]
        """
        states = {layer: np.asarray(rows, np.float32) for layer, rows in encoded.items()}
        means = {layer: rows.mean(0) for layer, rows in states.items()}
        means[max(means)] = np.zeros_like(means[max(means)])
        collection = cls({}, means, labelled, tables, postings)
        collection.vectors = collection.centre_and_normalise(states)
        return collection

    @property
    def last_layer(self) -> int:
        """The number of the last layer, whose vectors are used for distances."""
        return max(self.vectors)

    @property
    def references(self) -> Singles:
        """The vectors of the labelled captions in the last layer, one per column."""
        return np.ascontiguousarray(self.vectors[self.last_layer][: self.labelled].T)

    def centre_and_normalise(self, encoded: Mapping[int, Singles]) -> dict[int, Singles]:
        """Subtract the means from an encoder's outputs by layer, and scale them to length one."""
        return {layer: normalise_rows(rows - self.means[layer]) for layer, rows in encoded.items()}

    def compute_features(
        self,
        prompts: Sequence[str],
        vectors: Mapping[int, Singles],
        labels: Singles,
        layers: Sequence[int],
        exclude_self: bool = False,
    ) -> Singles:
        """Return the features of prompts from the collection.

        These are the density of captions around the prompt in each layer, the labels of the nearest
        labelled captions in some layers, difficulty, scope and coherence. The prompt's own caption
        is excluded.

        Args:
            vectors: the output of `centre_and_normalise`.
            labels: labels of the labelled captions, shape ``(labelled, targets)``.
            layers: layers in which the nearest labelled captions are searched.
            exclude_self: whether the prompts are captions of the collection, and so are left out of
                the word counts.
        """
        blocks = [self.measure_density(vectors)]
        for layer in layers:
            known = self.vectors[layer][: self.labelled]
            blocks.append(average_labels(vectors[layer], known, labels))
        blocks.append(compute_difficulty(prompts, self.tables, exclude_self))
        if self.postings is not None:
            blocks.append(self.postings.measure_scope(prompts))
            last = vectors[self.last_layer], self.vectors[self.last_layer]
            blocks.append(measure_coherence(*last))
        return np.concatenate(blocks, axis=1)

    def measure_density(self, vectors: Mapping[int, Singles]) -> Singles:
        """Return the features of `summarise_density` for each layer."""
        blocks = []
        for layer, known in self.vectors.items():
            parts = []
            for part in iterate_chunks(vectors[layer]):
                similarity = compute_similarities(part, known)
                labelled = [similarity[:, : self.labelled]] if self.labelled else []
                groups = [*labelled, similarity]
                parts.append(np.concatenate([summarise_density(group) for group in groups], axis=1))
            blocks.append(np.concatenate(parts))
        return np.concatenate(blocks, axis=1)

    def to_tensors(self) -> Arrays:
        """Return the arrays of the collection, with 16-bit vectors."""
        arrays = {"words.counts": self.tables.counts, "words.pairs": self.tables.pairs}
        arrays |= add_prefix("postings.", vars(self.postings)) if self.postings is not None else {}
        for layer, vectors in self.vectors.items():
            arrays[f"collection.{layer}"] = vectors.astype(np.float16)
            arrays[f"collection.{layer}.mean"] = self.means[layer]
        return arrays


def read_word_tables(arrays: Arrays, captions: int) -> tuple[WordTables, Postings]:
    """Restore the word counts and postings from the output of `Collection.to_tensors`.

    Raises:
        KeyError, ValueError: an array is missing, or the arrays do not match.
    """
    tables = WordTables(arrays["words.counts"], arrays["words.pairs"], captions)
    return tables, Postings(*(arrays[f"postings.{field.name}"] for field in fields(Postings)))


def compute_similarities(rows: Singles, references: Singles) -> Singles:
    """Return the cosines between unit vectors and references; -1 if they are (nearly) equal."""
    similarity = rows @ references.T
    similarity[similarity >= SAME] = -1
    return similarity


def summarise_density(similarity: Singles) -> Singles:
    """Return features of prompts from their similarities to captions.

    The features are the mean similarity of the `NEIGHBOURS` nearest, log counts above `THRESHOLDS`,
    and log sums of ``exp((similarity - 0.5) / width)`` for `WIDTHS`.

    >>> summarise_density(np.array([[1.0, 0.5, -1.0]], np.float32))[0, :3].tolist()
    [1.0, 0.75, 0.5]
    """
    count = min(COUNTED, similarity.shape[1])
    top = -np.partition(-similarity, count - 1, axis=1)[:, :count]
    nearest = -np.sort(-top, axis=1)[:, : max(NEIGHBOURS)]
    # In a small collection, the prompt's own caption may be among the nearest; it counts as 0.
    sums = np.cumsum(np.maximum(nearest, 0), axis=1)
    ranks = [min(k, nearest.shape[1]) for k in NEIGHBOURS]
    columns = [sums[:, k - 1] / k for k in ranks]
    columns += [np.log1p((top > threshold).sum(axis=1)) for threshold in THRESHOLDS]
    columns += [np.log(np.exp((top - 0.5) / width).sum(axis=1) + 1e-6) for width in WIDTHS]
    return np.stack(columns, axis=1).astype(np.float32)


def average_labels(rows: Singles, references: Singles, labels: Singles) -> Singles:
    """Return weighted means of the labels of each prompt's nearest 3, 10 and 30 captions."""
    blocks = []
    for part in iterate_chunks(rows):
        index, values = _find_nearest(part, references, max(LABEL_NEIGHBOURS))
        means = []
        for k in LABEL_NEIGHBOURS:
            weights = np.exp((values[:, :k] - values[:, :1]) / LABEL_WIDTH)
            weights /= weights.sum(axis=1, keepdims=True)
            means.append(np.einsum("nk,nkt->nt", weights, labels[index[:, :k]]))
        blocks.append(np.concatenate(means, axis=1))
    return np.concatenate(blocks).astype(np.float32)


def measure_coherence(rows: Singles, references: Singles) -> Singles:
    """Return features of prompts from the similarities among their nearest captions.

    For each number of captions in `COHERENCE_NEIGHBOURS`, these are the mean cosine over pairs of
    captions and the standard deviation of their cosines to the prompt; the last feature is the
    length of the mean vector. A caption that equals the prompt is excluded.

    >>> known = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    >>> features = measure_coherence(np.array([[0.6, 0.8, 0.0]], np.float32), known)
    >>> round(3 * float(features[0, 0]), 4)
    1.0
    """
    blocks = []
    for part in iterate_chunks(rows, 256):
        index, values = _find_nearest(part, references, max(COHERENCE_NEIGHBOURS))
        # A caption that equals the prompt has the lowest value, so it is last.
        present = np.maximum((values > -1).sum(axis=1), 1)
        # The sum over all pairs is the squared length of the sum of the vectors.
        sums, row_indices = np.cumsum(references[index], axis=1), np.arange(len(values))
        columns = []
        for k in COHERENCE_NEIGHBOURS:
            count = np.minimum(k, present)
            total = sums[row_indices, count - 1]
            pairs = np.einsum("nd,nd->n", total, total) - count
            deviation = values.std(axis=1, where=np.arange(values.shape[1]) < count[:, None])
            columns += [pairs / np.maximum(count * (count - 1), 1), deviation]
        count = np.minimum(_CENTRE_NEIGHBOURS, present)
        columns.append(np.linalg.norm(sums[row_indices, count - 1] / count[:, None], axis=1))
        blocks.append(np.stack(columns, axis=1))
    return np.concatenate(blocks).astype(np.float32)


def _find_nearest(
    rows: Singles, references: Singles, limit: int
) -> tuple[NDArray[np.int64], Singles]:
    """Return the indices and similarities of the nearest captions, nearest first."""
    similarity = compute_similarities(rows, references)
    limit = min(limit, len(references))
    index = np.argpartition(-similarity, limit - 1, axis=1)[:, :limit]
    values = np.take_along_axis(similarity, index, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(values, order, axis=1)
