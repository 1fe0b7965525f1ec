"""What the ranking metrics share: checked inputs, counts, and relevant documents in the top k."""

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import (
    as_array,
    as_finite,
    as_numbers,
    require_finite,
    require_same_shape,
    require_tolerance,
    same_library,
)

# Entries of a block of queries and documents, few enough for the cache.
_ENTRIES_AT_ONCE = 131_072

TIES = ("expected", "optimistic", "pessimistic", "order")


def ranking_inputs(scores, relevance, tie_tolerance):
    """Check scores and relevance and bring them into one library, as float scores and grades.

    Both are (queries, documents), or sequences of rows of any lengths. With `tie_tolerance`
    neighbouring scores within that share of the query's range are made equal.
    """
    scores, relevance = _padded(scores, relevance)
    xp, (scores, relevance) = same_library(
        scores=as_array("scores", scores), relevance=as_array("relevance", relevance)
    )
    scores = as_finite("scores", scores, ndim=2)
    relevance = as_numbers("relevance", relevance, ndim=2)
    require_same_shape(scores=scores, relevance=relevance)
    require_grades(xp, "relevance", relevance)
    if require_tolerance("tie_tolerance", tie_tolerance):
        scores = _with_ties_merged(xp, scores, tie_tolerance)
    return xp, scores, relevance


def _with_ties_merged(xp, scores, tie_tolerance):
    """Scores whose neighbours in order are within the tolerance made equal to the lowest."""
    order = xp.argsort(scores, axis=1, stable=True)
    ordered = xp.take_along_axis(scores, order, axis=1)
    # Halves, because the range of two finite numbers may be none.
    limit = 2 * tie_tolerance * (ordered[:, -1:] / 2 - ordered[:, :1] / 2)
    begins = xp.concat(
        [limit >= 0, ordered[:, 1:] - ordered[:, :-1] > limit], axis=1
    )  # the first of a query always begins
    number = xp.cumulative_sum(xp.astype(xp.reshape(begins, (-1,)), xp.int64)) - 1
    first = xp.take(xp.nonzero(xp.reshape(begins, (-1,)))[0], number)
    merged = xp.reshape(xp.take(xp.reshape(ordered, (-1,)), first), tuple(scores.shape))
    return xp.take_along_axis(merged, xp.argsort(order, axis=1, stable=True), axis=1)


def _padded(scores, relevance):
    """Fill up rows of different lengths: the places at the end hold irrelevant documents."""
    lengths = _lengths_of_rows(scores), _lengths_of_rows(relevance)
    if all(length is None or len(set(length)) < 2 for length in lengths):
        return scores, relevance
    if lengths[0] is None or lengths[0] != lengths[1]:
        shown = [repr(length)[:40] if length else "one for all" for length in lengths]
        raise MetricInputError(
            f"lengths of rows: `scores` has {shown[0]}, `relevance` {shown[1]}; give a score and a "
            "grade for each document of a query"
        )
    rows = [as_numbers("scores", row, ndim=1) if len(row) else np.empty(0) for row in scores]
    width = max(lengths[0])
    # Below all scores of the query; grades of 0 behind all others change no metric.
    ends = [below(float(np.min(row)), float(np.max(row))) if len(row) else 0.0 for row in rows]
    filled = np.array(ends)[:, None].repeat(width, axis=1)
    for place, row in zip(filled, rows, strict=True):
        place[: len(row)] = row
    return filled, _filled_with_zeros("relevance", relevance, width)


def below(lowest, highest):
    """A finite score below all of a query, too far to tie with any; also of arrays."""
    with np.errstate(over="ignore"):
        far = np.maximum(lowest - (highest - lowest), -np.finfo(np.float64).max)
    return np.minimum(far, np.nextafter(lowest, -np.inf))


def _lengths_of_rows(value):
    """The lengths of rows that are sequences or arrays of their own; None for anything else."""
    if isinstance(value, (np.ma.MaskedArray, str)):
        return None
    if array_api_compat.is_array_api_obj(value) and str(value.dtype) != "object":
        return None
    try:
        return [len(row) for row in value]
    except TypeError:
        return None


def _filled_with_zeros(name, rows, width):
    arrays = [as_numbers(name, row, ndim=1) if len(row) else np.empty(0) for row in rows]
    filled = np.zeros((len(arrays), width), np.result_type(*arrays))
    for place, row in zip(filled, arrays, strict=True):
        place[: len(row)] = row
    return filled


def unretrieved_grades(xp, unretrieved, relevance):
    """Check the grades of relevant documents that were not retrieved, (queries, any number).

    None becomes no columns. `relevance` are the checked grades of the retrieved documents.

    Raises:
        MetricInputError: another number of queries, or what `relevance` may not hold.
    """
    if unretrieved is None:
        return relevance[:, :0]
    lengths = _lengths_of_rows(unretrieved)
    if lengths and len(set(lengths)) > 1:
        unretrieved = _filled_with_zeros("unretrieved", unretrieved, max(lengths))
    _, (_, grades) = same_library(
        relevance=relevance, unretrieved=as_array("unretrieved", unretrieved)
    )
    if grades.ndim == 2 and grades.shape == (relevance.shape[0], 0):
        return relevance[:, :0]
    grades = as_numbers("unretrieved", grades, ndim=2)
    if grades.shape[0] != relevance.shape[0]:
        raise MetricInputError(
            f"`unretrieved` has {grades.shape[0]} queries and `relevance` {relevance.shape[0]}; "
            "give a row for each query"
        )
    require_grades(xp, "unretrieved", grades)
    return grades


def require_grades(xp, name, grades):
    """Raise unless relevance grades are finite and 0 or above."""
    if xp.isdtype(grades.dtype, "real floating"):
        require_finite(name, grades)
    if not xp.isdtype(grades.dtype, "bool") and (lowest := float(xp.min(grades))) < 0:
        raise MetricInputError(
            f"`{name}` holds {lowest:g}; relevance is 0 or above (0 means not relevant)"
        )


def by_blocks(function, xp, *arrays):
    """Apply a function to some queries at a time, so that what it works on stays in the cache.

    It takes as many arrays (queries, documents) and returns an array (queries,). Only numpy arrays
    are cut into blocks.
    """
    step = max(1, _ENTRIES_AT_ONCE // arrays[0].shape[1])
    if not array_api_compat.is_numpy_namespace(xp) or len(arrays[0]) <= step:
        return function(*arrays)
    starts = range(0, len(arrays[0]), step)
    return np.concatenate([function(*(part[i : i + step] for part in arrays)) for i in starts])


def is_relevant(xp, relevance):
    """Which documents have a grade above 0."""
    return relevance if xp.isdtype(relevance.dtype, "bool") else relevance > 0


def only_where(xp, scores, mask):
    """Scores where a mask is True, minus infinity elsewhere."""
    if array_api_compat.is_numpy_namespace(xp):
        # Adding 0 or -inf from a table is several times as fast as a choice at random.
        return scores + np.take(np.asarray([-np.inf, 0.0], scores.dtype), mask.view(np.int8))
    lowest = xp.asarray(-xp.inf, dtype=scores.dtype, device=array_api_compat.device(scores))
    return xp.where(mask, scores, lowest)


def count(xp, mask):
    """Count the True entries of each row of a bool array (queries, documents)."""
    # Bytes add up four times as fast as integers of 64 bits, and rows this short fit them.
    small = mask.shape[1] < 256
    counts = xp.sum(mask, axis=1, dtype=xp.uint8 if small else xp.int64)
    return xp.astype(counts, xp.int64)


def take_rows(xp, rows, *arrays):
    """Select rows of several arrays by their indices."""
    return [xp.take(array, rows, axis=0) for array in arrays]


def as_float(xp, *arrays):
    """Several arrays as float64."""
    return [xp.astype(array, xp.float64) for array in arrays]


def expected_reciprocal_rank(xp, ahead, tied, relevant, k):
    """Expected 1 / rank of the first relevant document of a group of ties in random order.

    Walks down the group: the first relevant document is at place j with the probability that
    the places before had none, times the share of relevant documents among those left.

    Args:
        xp: The array namespace.
        ahead: Documents ranked before the group, integers (queries,).
        tied: Documents in the group.
        relevant: Relevant documents in the group, at least 1.
        k: Ranks beyond k give 0; None for no cut-off.
    """
    ahead, tied, relevant = as_float(xp, ahead, tied, relevant)
    value = xp.zeros_like(ahead)
    none_so_far = xp.ones_like(ahead)
    for place in range(int(xp.max(tied - relevant)) + 1):
        left = xp.maximum(tied - place, relevant)
        rank = ahead + (place + 1)
        here = none_so_far * relevant / left
        value = value + (here / rank if k is None else xp.where(rank <= k, here / rank, 0.0))
        none_so_far = none_so_far * (left - relevant) / left
    return value


def relevant_in_top(xp, scores, relevant, k, ties):
    """Number of relevant documents among the first k, which may differ by query, as float64."""
    return _at_threshold(xp, scores, relevant, k, ties, _share_of_tied)


def any_relevant_in_top(xp, scores, relevant, k, ties):
    """Whether a relevant document is among the first k: 1, 0, or under ties its probability."""
    found = _at_threshold(xp, scores, relevant, k, ties, _chance_of_any)
    return xp.clip(found, 0.0, 1.0)


def _at_threshold(xp, scores, relevant, k, ties, expected):
    """Relevant documents above the k-th largest score, plus what the ties at it contribute."""
    threshold = kth_largest(xp, scores, k)[:, None]
    reached = scores >= threshold
    sure = xp.astype(count(xp, relevant & reached), xp.float64)
    rows = xp.nonzero(count(xp, reached) > k)[0]
    if not rows.shape[0]:
        return sure
    # Only where more than k documents reach the k-th score does the rule for ties matter.
    scores, relevant, threshold = take_rows(xp, rows, scores, relevant, threshold)
    k = k if isinstance(k, int) else xp.take(k, rows)
    above, tied = scores > threshold, scores == threshold
    candidates, free = tied & relevant, k - count(xp, above)
    certain = xp.astype(count(xp, relevant & above), xp.float64)
    counts = count(xp, tied), count(xp, candidates), free
    if ties == "expected":
        taken = expected(xp, *as_float(xp, *counts))
    elif ties == "order":
        place = xp.cumulative_sum(xp.astype(tied, xp.int64), axis=1)
        taken = count(xp, candidates & (place <= free[:, None]))
    else:
        taken = _extreme(xp, *counts, ties)
    sure[rows] = certain + xp.astype(taken, xp.float64)
    return sure


def _share_of_tied(xp, tied, relevant, free):
    """Expected number of relevant documents among the tied ones that get a place."""
    return relevant * free / tied


def _chance_of_any(xp, tied, relevant, free):
    """Probability that one of the relevant tied documents gets a place."""
    none = xp.ones_like(tied)
    for place in range(int(xp.max(free))):
        misses = xp.maximum(tied - relevant - place, xp.zeros_like(tied))
        left = xp.maximum(tied - place, xp.ones_like(tied))
        none = xp.where(place < free, none * misses / left, none)
    return 1.0 - none


def _extreme(xp, tied, relevant, free, ties):
    """Number of relevant documents placed when they come first, or last, among the tied."""
    if ties == "optimistic":
        return xp.minimum(relevant, free)
    return xp.maximum(free - (tied - relevant), xp.zeros_like(free))


def kth_largest(xp, scores, k):
    """The k-th largest score of each row; k is one for all, or an array (queries,)."""
    documents = scores.shape[1]
    if isinstance(k, int) and array_api_compat.is_numpy_namespace(xp):
        # A partition finds one order statistic without sorting the row.
        return np.partition(scores, documents - k, axis=1)[:, documents - k]
    ordered = xp.sort(scores, axis=1, stable=False)
    if isinstance(k, int):
        return ordered[:, documents - k]
    return xp.take_along_axis(ordered, (documents - k)[:, None], axis=1)[:, 0]
