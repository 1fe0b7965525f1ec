"""Preliminary relevance: which images of a captioned collection people should rate for a query.

Source: PQPP paper, section 3.2 ("Annotation process" of retrieval): an image is a candidate if the
cosine of one of its captions and the query, computed with a sentence encoder, is above a threshold.
From rank 1,000 on, the image's captions must contain all of the query's words, and a query has at
most 2,000 candidates. The default thresholds are pqpp's: with MiniLM and .7, about .1% of PQPP's
images become candidates, as in the paper.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pqpp_engines.errors import EngineError
from pqpp_models.text.reading.words import find_content_words, to_words

Floats = NDArray[np.float32]
_BATCH_SIZE = 64
#: The default thresholds of a cosine, and of the share of the query's words.
COSINE, SHARED_WORDS = 0.7, 0.5


@dataclass(frozen=True)
class Candidates:
    """Images that may be relevant, one row per image, sorted by query and likelihood.

    Attributes:
        query: int64 (rows,), the index of each row's query.
        image: The image of each row.
        score: float32 (rows,): the best caption's cosine, or the share of the query's words that
            the image's captions contain.
    """

    query: NDArray[np.int64]
    image: list[str]
    score: Floats


def find_candidates(
    queries: Sequence[str],
    images: Sequence[str],
    captions: Sequence[str],
    embed: Callable[[Sequence[str]], Floats] | None = None,
    threshold: float | None = None,
    limit: int = 2000,
    refined_from: int = 1000,
) -> Candidates:
    """Return the images that may be relevant to each query, according to their captions.

    Args:
        queries: The texts of the queries.
        images: The image of each caption; an image with several captions is repeated.
        captions: The texts of the captions, one per entry of `images`.
        embed: A function from texts to embeddings of unit length, (texts, size). With None, the
            score is the share of a query's content words that the captions of an image contain
            together.
        threshold: Minimum cosine (default: .7) or, by shared words, minimum share of a query's
            words (default: .5). A cosine must be above the threshold, a share at least equal to it.
        limit: Maximum number of images per query.
        refined_from: Rank after which an image's captions together must contain all content words
            of the query.

    Returns:
        The candidates; equal scores are in the order of the images' first captions.

    Raises:
        EngineError: Queries or captions are missing.

    Example:
        >>> captions = ["two dogs on a beach", "a red car", "a dog runs", "a beach with dogs"]
        >>> found = find_candidates(["a dog on the beach"], list("abcd"), captions)
        >>> list(zip(found.image, found.score.tolist()))
        [('a', 1.0), ('d', 1.0), ('c', 0.5)]
    """
    if not len(queries) or not len(captions):
        raise EngineError("queries or captions are missing; add at least one of each")
    if threshold is None:
        threshold = SHARED_WORDS if embed is None else COSINE
    import pandas as pd

    indices, names = pd.factorize(np.array(images, dtype=object))
    words: list[set[str]] = [set() for _ in names]
    for index, caption in zip(indices.tolist(), captions, strict=True):
        words[index] |= _get_content_words(caption)
    shares = _get_word_shares(queries, words)
    scored = shares if embed is None else _get_cosines(queries, captions, indices, embed)
    selected: list[NDArray] = []
    selected_scores: list[Floats] = []
    for number, scores in enumerate(scored):
        likely = np.flatnonzero(scores >= threshold if embed is None else scores > threshold)
        likely = likely[np.argsort(-scores[likely], kind="stable")]
        query_words = _get_content_words(queries[number])
        refined = [image for image in likely[refined_from:].tolist() if query_words <= words[image]]
        likely = np.concatenate([likely[:refined_from], np.array(refined, likely.dtype)])[:limit]
        selected.append(likely)
        selected_scores.append(scores[likely])
    rows = np.repeat(np.arange(len(selected)), [len(images) for images in selected])
    scores = np.concatenate(selected_scores).astype(np.float32)
    return Candidates(rows, names[np.concatenate(selected)].tolist(), scores)


def _get_content_words(text: str) -> frozenset[str]:
    """Return the content words of a text, or all its words if it has no content words."""
    words = to_words(text)
    return frozenset(find_content_words(words) or words)


def _get_word_shares(queries: Sequence[str], words: Sequence[set[str]]) -> Iterator[Floats]:
    images_of: dict[str, list[int]] = {}
    for index, image_words in enumerate(words):
        for word in image_words:
            images_of.setdefault(word, []).append(index)
    for query in queries:
        query_words = _get_content_words(query)
        scores = np.zeros(len(words), dtype=np.float32)
        for word in query_words:
            scores[images_of.get(word, [])] += 1
        yield scores / np.float32(max(1, len(query_words)))


def _get_cosines(
    queries: Sequence[str],
    captions: Sequence[str],
    indices: NDArray,
    embed: Callable[[Sequence[str]], Floats],
) -> Iterator[Floats]:
    """Yield the cosine of each image's best caption, query by query."""
    order = np.argsort(indices, kind="stable")
    _, starts = np.unique(indices[order], return_index=True)
    embedded = [np.asarray(embed(texts)) for texts in (captions, queries)]
    caption_vectors, query_vectors = np.ascontiguousarray(embedded[0][order]), embedded[1]
    for start in range(0, len(queries), _BATCH_SIZE):
        cosines = query_vectors[start : start + _BATCH_SIZE] @ caption_vectors.T
        yield from np.maximum.reduceat(cosines, starts, axis=1)
