"""The inputs of a ranking metric: the caller's rules, and checked scores and grades."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypedDict, get_args, get_type_hints

import array_api_compat
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import _inputs
from pqpp_metrics.functional._categories import as_labels, encode_categories
from pqpp_metrics.functional._containers import Array, Integers, Values, to_numpy, unwrap
from pqpp_metrics.functional._rankings.order import count_true, get_score_below, order_documents

RANKING_TIES = ("expected", "optimistic", "pessimistic", "order", "docno")


class GradedRules(TypedDict, total=False):
    """Keyword arguments that all ranking metrics accept; see `ranking`."""

    ties: str
    judged_only: bool
    document_ids: Values | None
    unretrieved: Values | None


class RankingRules(GradedRules, total=False):
    """Keyword arguments of metrics that use binary relevance; see `ranking`."""

    relevance_level: float | None


@dataclass(frozen=True)
class Rules:
    """The rules of a ranking metric; see `ranking`.

    Attributes:
        document_ids: The names of the documents, or a function that returns them for given indices
            of queries.
        has_unjudged: Whether NaN and -1 count as grade 0; otherwise they raise an error, unless
            `judged_only`.
    """

    ties: str = "expected"
    relevance_level: float | None = None
    judged_only: bool = False
    document_ids: Values | Callable[[Integers], Values] | None = None
    unretrieved: Values | None = None
    has_unjudged: bool = False


@functools.cache
def get_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's parameters and defaults; `**rules` is expanded into its keys."""
    parameters: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            (rules,) = get_args(get_type_hints(function)[parameter.name])
            parameters |= {name: getattr(Rules, name) for name in get_type_hints(rules)}
        else:
            parameters[parameter.name] = parameter.default
    return parameters


@dataclass(frozen=True)
class RankingInputs:
    """Checked inputs in one array library; metrics also accept them instead of `scores`.

    Attributes:
        xp: The library's namespace.
        scores: Floats, (queries, documents).
        relevance: Grades, same shape.
        missing: Grades of documents that were not retrieved, (queries, any number).
        ties: The rule for equal scores; "order" if ties were already broken by document id.
        relevant: A function that returns whether each grade is that of a relevant document.
        is_ranked: Whether documents are sorted by rank.
    """

    xp: ModuleType
    scores: Array
    relevance: Array
    missing: Array
    ties: str
    relevant: Callable[[Array], Array]
    is_ranked: bool = False

    def split(self) -> Iterator[RankingInputs]:
        """Yield batches of queries that fit into the CPU's cache."""
        step = max(1, 2**18 // self.scores.shape[1])
        for start in range(0, self.scores.shape[0], step):
            rows = slice(start, start + step)
            parts = self.scores[rows], self.relevance[rows], self.missing[rows]
            yield RankingInputs(self.xp, *parts, self.ties, self.relevant)

    def rank(self) -> RankingInputs:
        """Return the documents sorted by rank, unless ties depend on the measure's gains."""
        if self.ties not in ("expected", "order"):  # the order depends on each measure's gains
            return self
        order = order_documents(self.xp, self.scores, self.relevance, self.ties)
        scores, relevance = (
            self.xp.take_along_axis(part, order, axis=1) for part in (self.scores, self.relevance)
        )
        return replace(self, scores=scores, relevance=relevance, is_ranked=True)

    @functools.cached_property
    def number_relevant(self) -> Array:
        """The number of relevant documents of each query, retrieved or not."""
        number = count_true(self.xp, self.relevant(self.relevance))
        if self.missing.shape[1]:
            number = number + count_true(self.xp, self.relevant(self.missing))
        return number


def convert_rankings(scores: Any, relevance: Any, rules: Rules) -> RankingInputs:
    """Check scores and relevance, and convert both to floats of one array library.

    Args:
        scores: (queries, documents), sequences of rows of any lengths, or `RankingInputs`.
        relevance: The grades, in the form of `scores`.
        rules: The rules; those that need only scores and grades are applied here.
    """
    if isinstance(scores, RankingInputs):
        return scores
    _inputs.require_choice("ties", rules.ties, RANKING_TIES)
    relevant: Callable[[Array], Array] = functools.partial(operator.lt, 0)
    if rules.relevance_level is not None:
        level = _inputs.require_between("relevance_level", rules.relevance_level, 0, np.inf)
        relevant = functools.partial(operator.le, level)
    if rules.judged_only not in (True, False):  # such as a text from the command line
        raise _inputs.not_allowed_error("judged_only", rules.judged_only, "must be True or False")
    may_be_unjudged = rules.has_unjudged or rules.judged_only
    scores, relevance = unwrap("scores", scores), unwrap("relevance", relevance)
    lengths = get_row_lengths(scores), get_row_lengths(relevance)
    if any(row_lengths and len(set(row_lengths)) > 1 for row_lengths in lengths):
        if lengths[0] is None or lengths[0] != lengths[1]:
            got = " and ".join(repr(n)[:40] if n else "equal lengths" for n in lengths)
            rule = "rows of `scores` and `relevance` must have the same lengths"
            raise MetricInputError(f"{rule}; got {got}")
        rows = [_inputs.as_numbers("scores", row, ndim=1) if len(row) else row for row in scores]
        # Padding is below all scores of the query; grades of 0 at the end change no metric.
        padding = [get_score_below(float(r.min()), float(r.max())) if len(r) else 0.0 for r in rows]
        no_grade = np.nan if may_be_unjudged else 0
        scores = pad_rows("scores", rows, padding)
        relevance = pad_rows("relevance", relevance, no_grade)
    scores = _inputs.as_numbers("scores", scores, ndim=2, finite=True)
    relevance = _inputs.as_numbers("relevance", relevance, ndim=2)
    xp = _inputs.require_same_library(scores=scores, relevance=relevance)
    if rules.judged_only:  # rank documents without a judgment last
        scores = xp.astype(scores, xp.float64)
        ends = to_numpy(xp.min(scores, axis=1)), to_numpy(xp.max(scores, axis=1))
        below = xp.asarray(get_score_below(*ends), device=array_api_compat.device(scores))[:, None]
        scores = xp.where(relevance >= 0, scores, below)
    are_grades = float(xp.min(relevance)) >= 0 and float(xp.max(relevance)) < np.inf  # no NaN then
    if not are_grades:
        relevance = _as_grades(xp, "relevance", relevance, may_be_unjudged)
    missing = relevance[:, :0]
    if rules.unretrieved is not None:
        missing = _as_unretrieved(xp, relevance, rules)
    ties = rules.ties
    if ties == "docno":
        scores, ties = break_ties_by_document(xp, scores, rules.document_ids), "order"
    return RankingInputs(xp, scores, relevance, missing, ties, relevant)


def _as_grades(xp, name, grades, may_be_unjudged):
    """Return grades with 0 for -1 and NaN if they mean unjudged; raise for other such grades."""
    if may_be_unjudged:
        grades = xp.where((grades != grades) | (grades == -1), xp.zeros_like(grades), grades)
    _inputs.require_finite(name, grades)
    if (lowest := float(xp.min(grades))) < 0:
        rule = "must be 0 or more" + (", or -1 or NaN if not judged" if may_be_unjudged else "")
        raise MetricInputError(f"`{name}` {rule}; got {lowest:g}")
    return grades


def _as_unretrieved(xp, relevance, rules):
    """Return checked grades of documents that were not retrieved, (queries, any number)."""
    grades = unwrap("unretrieved", rules.unretrieved)
    lengths = get_row_lengths(grades)
    if lengths and len(set(lengths)) > 1:
        grades = pad_rows("unretrieved", grades, 0)
    grades = _inputs.as_array("unretrieved", grades)
    _inputs.require_same_library(same_shape=False, relevance=relevance, unretrieved=grades)
    if grades.ndim == 2 and grades.shape == (relevance.shape[0], 0):
        return relevance[:, :0]
    grades = _inputs.as_numbers("unretrieved", grades, ndim=2)
    _inputs.check_lengths("a row for each query", unretrieved=grades, relevance=relevance)
    return _as_grades(xp, "unretrieved", grades, rules.has_unjudged)


def get_row_lengths(value: Any) -> list[int] | None:
    """Return the lengths of rows; None for an array of numbers, or if there are no rows."""
    if array_api_compat.is_array_api_obj(value) and str(value.dtype) != "object":
        return None
    try:
        return [len(row) for row in value]
    except TypeError:
        return None


def pad_rows(name: str, rows: Sequence[Any], fill: ArrayLike) -> NDArray[Any]:
    """Return rows of different lengths as an array, padded with `fill`: a value, or one per row."""
    arrays = [_inputs.as_numbers(name, row, ndim=1) if len(row) else np.empty(0) for row in rows]
    dtype = np.result_type(*arrays, np.float64) if np.any(fill) else np.result_type(*arrays)
    table = np.empty((len(arrays), max(map(len, arrays))), dtype)
    table[:] = np.reshape(fill, (-1, 1))
    for padded, row in zip(table, arrays, strict=True):
        padded[: len(row)] = row
    return table


def break_ties_by_document(
    xp: ModuleType, scores: Array, document_ids: Values | Callable[[Integers], Values] | None
) -> Array:
    """Return scores without ties: among tied documents, a higher id gets a higher score.

    Text ids are compared byte by byte, as in trec_eval, and integer ids as numbers.
    """
    if document_ids is None:
        raise MetricInputError("ties='docno' needs the ids of documents; set `document_ids`")
    values = to_numpy(scores).astype(np.float64)
    ids = document_ids if callable(document_ids) else _rank_ids(document_ids, values.shape)
    ordered = np.sort(values, axis=1)
    rows = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if not len(rows):
        return scores
    ids = ids(rows) if callable(ids) else ids[rows]
    # UTF-8 bytes sort like the characters that they encode.
    numbers = np.unique(ids, return_inverse=True)[1].reshape(len(rows), -1)
    order = np.lexsort((numbers, values[rows]), axis=1)
    values[rows] = np.argsort(order, axis=1, kind="stable")
    return xp.asarray(values, device=array_api_compat.device(scores))


def _rank_ids(ids, shape):
    """Return the ranks of document ids in ascending order, in the shape of the scores."""
    ids = unwrap("document_ids", ids)
    if lengths := get_row_lengths(ids):
        blank = type(next((row[0] for row in ids if len(row)), ""))()
        ids = [list(row) + [blank] * (max(lengths) - len(row)) for row in ids]
        ids = np.array(ids, dtype=object)  # so that numbers do not become text
    (ids,), _ = encode_categories(as_labels("document_ids", ids))
    if ids.shape != shape:
        raise _inputs.shape_error("document_ids", ids, f"must have shape {shape}, like `scores`")
    return ids
