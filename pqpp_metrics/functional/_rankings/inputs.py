"""What goes into a ranking metric: checked scores and grades, and the rules that a caller chose."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import array_api_compat
import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._containers import to_numpy, unwrapped
from pqpp_metrics.functional._inputs import (
    as_array,
    as_finite,
    as_numbers,
    brief,
    require_between,
    require_choice,
    require_finite,
    require_same_shape,
    require_tolerance,
    same_library,
)
from pqpp_metrics.functional._rankings.documents import by_document, lengths_of_rows
from pqpp_metrics.functional._rankings.gain_order import LARGEST_PACKED, PackedGrades, as_integers
from pqpp_metrics.functional._rankings.ranked import below, count
from pqpp_metrics.functional._types import Array, Integers, Values

# Entries of a block of queries and documents, few enough for the cache.
_ENTRIES_AT_ONCE = 131_072

TIES = ("expected", "optimistic", "pessimistic", "order", "docno")


@dataclass(frozen=True)
class Rules:
    """What a caller chose that every ranking metric has, see `ranking`."""

    ties: str = "expected"
    tie_tolerance: float = 0.0
    relevance_level: float | None = None
    judged_only: bool = False
    document_ids: Values | None = None

    def checked(self) -> Rules:
        """Return them, or raise for one that is not allowed."""
        require_choice("ties", self.ties, TIES)
        require_tolerance("tie_tolerance", self.tie_tolerance)
        if self.relevance_level is not None:
            require_between("relevance_level", self.relevance_level, 0, np.inf)
        if not isinstance(self.judged_only, (bool, np.bool_)):
            raise MetricInputError(
                f"`judged_only` is {brief(self.judged_only)}; it is True or False"
            )
        if self.ties == "docno" and self.document_ids is None:
            raise MetricInputError(
                "ties='docno' needs `document_ids`, the name of each document; give them or choose "
                "another rule"
            )
        return self


@dataclass(frozen=True)
class RankingInputs:
    """Checked inputs of one array library; a metric takes them in place of scores, too.

    Attributes:
        xp: The library.
        scores: Floats, (queries, documents).
        relevance: Grades, same shape. Where documents without a judgment are told apart, NaN is one
            and -1 one of the pool.
        missing: Grades of relevant documents that were not retrieved, (queries, any number).
        ties: How kernels order equal scores; "order" where document numbers decided.
        level: The least grade of a relevant document; None: any above 0.
        sizes: How many documents each query has, where rows are filled up; else None.
        is_shared: Whether several metrics are computed of this block.
    """

    xp: ModuleType
    scores: Array
    relevance: Array
    missing: Array
    ties: str
    level: float | None = None

    sizes: np.ndarray | None = None
    is_shared: bool = False

    def of(self, rows: slice | Integers, is_shared: bool = False) -> RankingInputs:
        """The same of some queries, a slice or indices, in numpy."""
        parts = self.scores[rows], self.relevance[rows], self.missing[rows]
        sizes = None if self.sizes is None else self.sizes[rows]
        return RankingInputs(self.xp, *parts, self.ties, self.level, sizes, is_shared)

    def relevant(self, grades: Array) -> Array:
        """Which grades, of any library, are those of a relevant document."""
        if array_api_compat.array_namespace(grades).isdtype(grades.dtype, "bool"):
            return grades if self.level is None or self.level <= 1 else grades & ~grades
        return grades > 0 if self.level is None else grades >= self.level

    @functools.cached_property
    def marks(self) -> Array:
        """Which retrieved documents are relevant."""
        return self.relevant(self.relevance)

    @functools.cached_property
    def number_relevant(self) -> Array:
        """How many relevant documents each query has, retrieved or not."""
        # Bytes that are sorted already are counted sooner.
        packed = self.__dict__.get("packed")
        number = count(self.xp, self.marks if packed is None else self.relevant(packed.ordered))
        if self.missing.shape[1]:
            number = number + count(self.xp, self.relevant(self.missing))
        return number

    @functools.cached_property
    def packed(self) -> PackedGrades | None:
        """The `PackedGrades`, one sort for all who ask; None where grades can't be packed."""
        is_numpy = array_api_compat.is_numpy_namespace(self.xp)
        if not is_numpy or self.scores.dtype.itemsize > 8:
            return None
        grades = as_integers(self.relevance)
        if grades.dtype.kind == "f" or int(grades.max()) > LARGEST_PACKED:
            return None
        return PackedGrades(self.scores.astype(np.float64, copy=False), grades)

    def blocks(self, are_shared: bool = False) -> list[RankingInputs]:
        """Some queries at a time, so that what is worked on stays in the cache; numpy only."""
        step = max(1, _ENTRIES_AT_ONCE // self.scores.shape[1])
        if not array_api_compat.is_numpy_namespace(self.xp):
            return [self]
        if len(self.scores) <= step and self.is_shared >= are_shared:
            return [self]
        starts = range(0, len(self.scores), step)
        return [self.of(slice(i, i + step), are_shared) for i in starts]

    def by_blocks(self, function: Callable[[RankingInputs], Array]) -> Array:
        """Apply a function from `RankingInputs` to values (queries,), to some queries at a time."""
        found = [function(block) for block in self.blocks()]
        return found[0] if len(found) == 1 else self.xp.concat(found)

    def in_order(
        self,
        of_order: Callable[[RankingInputs], Array],
        of_scores: Callable[[RankingInputs], Array],
    ) -> Array:
        """Values by the packed grades where the order is certain, by the scores elsewhere."""
        if self.packed is None:
            return of_scores(self)
        values, unclear = of_order(self), self.packed.unclear
        if len(unclear):
            values[unclear] = of_scores(self.of(unclear))
        return values

    def in_shared_order(
        self,
        of_order: Callable[[RankingInputs], Array],
        of_scores: Callable[[RankingInputs], Array],
    ) -> Array:
        """As `in_order` where others share the sort; alone, scores give the value sooner."""
        return self.in_order(of_order, of_scores) if self.is_shared else of_scores(self)


def ranking_inputs(
    scores: Values | RankingInputs,
    relevance: Values | None,
    rules: Rules,
    unretrieved: Values | None = None,
    unjudged: str = "refuse",
    sizes: Integers | None = None,
) -> RankingInputs:
    """Check scores and relevance and bring them into one library, as float scores and grades.

    Args:
        scores: (queries, documents), sequences of rows of any lengths, or `RankingInputs`.
        relevance: As `scores`.
        rules: The options that all metrics share.
        unretrieved: Grades of documents that were not retrieved, as `ranking` says.
        unjudged: What NaN and -1 among the grades are: to "refuse", "zero", or to "keep" as NaN and
            -1 for metrics that tell them apart.
        sizes: How many documents each query has, where arrays come filled up.

    Returns:
        `RankingInputs`, the tie rules of `rules` carried out as far as they only need the scores.
    """
    if isinstance(scores, RankingInputs):
        return scores
    rules, is_kept = rules.checked(), unjudged == "keep"
    allowed = unjudged != "refuse" or rules.judged_only
    scores, relevance = unwrapped("scores", scores), unwrapped("relevance", relevance)
    scores, relevance, own_sizes = _padded(scores, relevance, np.nan if allowed else 0)
    xp, (scores, relevance) = same_library(
        scores=as_array("scores", scores), relevance=as_array("relevance", relevance)
    )
    scores = as_finite("scores", scores, ndim=2)
    relevance = as_numbers("relevance", relevance, ndim=2)
    require_same_shape(scores=scores, relevance=relevance)
    require_grades(xp, "relevance", relevance, allowed)
    missing = unretrieved_grades(xp, unretrieved, relevance, unjudged != "refuse")
    if is_kept:
        relevance, missing = xp.astype(relevance, xp.float64), xp.astype(missing, xp.float64)
    if rules.judged_only:
        scores = _judged_before(xp, scores, relevance)
        relevance = _judged_alone(xp, relevance, is_kept)
    elif unjudged == "zero":
        relevance = _judged_alone(xp, relevance, False)
    if unjudged == "zero":
        missing = _judged_alone(xp, missing, False)
    if rules.tie_tolerance:
        scores = _with_ties_merged(xp, scores, float(rules.tie_tolerance))
    ties, level = rules.ties, rules.relevance_level
    if ties == "docno":
        scores, ties = by_document(xp, scores, rules.document_ids), "order"
    sizes = own_sizes if sizes is None else sizes
    return RankingInputs(xp, scores, relevance, missing, ties, level, sizes)


def _judged_before(xp, scores, relevance):
    """Scores by which documents without a judgment stand behind all others."""
    scores = xp.astype(scores, xp.float64)
    ends = to_numpy(xp.min(scores, axis=1)), to_numpy(xp.max(scores, axis=1))
    behind = xp.asarray(below(*ends), device=array_api_compat.device(scores))[:, None]
    return xp.where(_is_judged(xp, relevance), scores, behind)


def _judged_alone(xp, grades, is_kept):
    """Grades where only judged documents have any; NaN is one that was not, if that is kept."""
    if not grades.shape[1] or float(xp.min(grades)) >= 0:
        return grades
    judged = _is_judged(xp, grades)
    return xp.where(judged, grades, xp.full_like(grades, xp.nan if is_kept else 0))


def _is_judged(xp, grades):
    """Which grades are 0 or above; those of NaN are not."""
    return xp.ones_like(grades) if xp.isdtype(grades.dtype, "bool") else grades >= 0


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


def _padded(scores, relevance, unjudged):
    """Fill up rows of different lengths: the places at the end hold documents of no interest."""
    lengths = lengths_of_rows(scores), lengths_of_rows(relevance)
    if all(length is None or len(set(length)) < 2 for length in lengths):
        return scores, relevance, None
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
    return filled, _filled("relevance", relevance, width, unjudged), np.array(lengths[0])


def _filled(name, rows, width, by):
    arrays = [as_numbers(name, row, ndim=1) if len(row) else np.empty(0) for row in rows]
    filled = np.full((len(arrays), width), by, np.result_type(*arrays, *[np.float64] * (by != by)))
    for place, row in zip(filled, arrays, strict=True):
        place[: len(row)] = row
    return filled


def unretrieved_grades(
    xp: ModuleType, unretrieved: Values | None, relevance: Array, may_be_unjudged: bool = False
) -> Array:
    """Check the grades of documents that were not retrieved, (queries, any number).

    None becomes no columns. `relevance` are the checked grades of the retrieved documents. Where a
    metric tells judged documents from others, NaN fills up rows, else 0.

    Raises:
        MetricInputError: another number of queries, or what `relevance` may not hold.
    """
    if unretrieved is None:
        return relevance[:, :0]
    unretrieved = unwrapped("unretrieved", unretrieved)
    lengths = lengths_of_rows(unretrieved)
    if lengths and len(set(lengths)) > 1:
        by = np.nan if may_be_unjudged else 0
        unretrieved = _filled("unretrieved", unretrieved, max(lengths), by)
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
    require_grades(xp, "unretrieved", grades, may_be_unjudged)
    return grades


def require_grades(xp: ModuleType, name: str, grades: Array, has_unjudged: bool = False) -> None:
    """Raise unless grades are finite and 0 or above; or NaN or -1 where there may be no grade."""
    if xp.isdtype(grades.dtype, "bool"):
        return
    if float(xp.min(grades)) >= 0 and float(xp.max(grades)) < np.inf:  # no NaN then
        return
    if xp.isdtype(grades.dtype, "real floating"):
        known = ~xp.isnan(grades) if has_unjudged else grades == grades
        require_finite(name, xp.where(known, grades, 0.0) if has_unjudged else grades)
        if has_unjudged:
            grades = xp.where(known, grades, 0.0)
    if has_unjudged:
        grades = xp.where(grades == -1, xp.zeros_like(grades), grades)
    if (lowest := float(xp.min(grades))) < 0:
        unknown = ", -1 and NaN not judged" if has_unjudged else ""
        raise MetricInputError(
            f"`{name}` holds {lowest:g}; relevance is 0 or above (0 means not relevant{unknown})"
        )
