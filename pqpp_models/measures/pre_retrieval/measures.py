"""The field's pre-retrieval predictors, as functions of the counts of a prompt's terms.

N is the number of captions, T the number of tokens in them, df(t) the captions that hold a term,
cf(t) its occurrences, Q the distinct terms of a prompt, qtf(t) how often the prompt has one.

======================= =========================================================================
name                    definition
======================= =========================================================================
``avg_idf`` ``max_idf`` over Q of idf(t) = ln(N / df(t)): Cronen-Townsend, Zhou and Croft, "Pre-
``sum_idf`` ``std_idf`` dicting query performance", SIGIR 2002 (mean); Scholer, Williams and
                        Turpin, "Query association surrogates for web search", JASIST 2004 (max);
                        He and Ounis, "Inferring query performance using pre-retrieval
                        predictors", SPIRE 2004 (their gamma1, the deviation; here population)
``avg_ictf``            mean of ln(T / cf(t)): He and Ounis 2004
``avg_scq`` ``max_scq`` over Q of (1 + ln cf(t)) ln(1 + N / df(t)): Zhao, Scholer and Tsegay,
``sum_scq``             "Effective pre-retrieval query performance prediction using similarity and
                        variability evidence", ECIR 2008
``avg_var`` ``max_var`` over Q of the population standard deviation, over the captions d that hold
``sum_var``             t, of w(d, t) = 1 + ln f(d, t) ln(1 + N / df(t)): Zhao et al. 2008.
                        Captions seldom repeat a word, so that it is 0 for many terms
``scs``                 simplified clarity score: sum of p(t) log2(p(t) T / cf(t)), where p(t) is
                        qtf(t) over the sum of qtf: He and Ounis 2004
``query_scope``         -ln(n / N), n being the captions with at least one of Q: He and Ounis 2004
``avg_pmi`` ``max_pmi`` over pairs of Q of ln(N df(t, u) / (df(t) df(u))), df(t, u) being captions
                        that hold both: Hauff, "Predicting the effectiveness of queries and
                        retrieval systems", 2010. Pairs that never meet are left out
======================= =========================================================================

Logarithms are natural where none is named. **Unknown terms** are left out of Q, as in the field's
toolkits, since most of these have no value for df = 0. **Without a known term** (or, for PMI, a
pair that meets) the value is 0.0. A term counts once however often the prompt has it, but in SCS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqpp_models.measures.measure import Evidence, Measure, chosen
from pqpp_models.measures.pre_retrieval.statistics import (
    VARIABLE,
    CaptionStatistics,
    named_statistics,
    terms_of,
)

Values = NDArray[np.float64]


class QueryTerms(NamedTuple):
    """The known terms of a prompt.

    Attributes:
        statistics: what is known of the collection.
        places: where the distinct terms stand in it.
        times: how often the prompt has each.
        df: captions with each.
        cf: occurrences of each.
    """

    statistics: CaptionStatistics
    places: NDArray[np.int64]
    times: Values
    df: Values
    cf: Values


def query_terms(prompt: str, statistics: CaptionStatistics) -> QueryTerms:
    """Look up the terms of a prompt.

    >>> statistics = CaptionStatistics.from_texts(["a cat", "a dog"])
    >>> query_terms("A cat, a cat, a unicorn", statistics).times.tolist()
    [3.0, 2.0]
    """
    counts = Counter(terms_of(prompt))
    known = [term for term in counts if len(statistics.find([term]))]
    places = statistics.find(known)
    return QueryTerms(
        statistics,
        places,
        np.array([counts[term] for term in known], dtype=np.float64),
        statistics.document_frequency[places].astype(np.float64),
        statistics.collection_frequency[places].astype(np.float64),
    )


def idf(query: QueryTerms) -> Values:
    """Inverse document frequency of each term: ln(N / df), at least 0."""
    return np.log(query.statistics.n_documents / query.df)


def ictf(query: QueryTerms) -> Values:
    """Inverse collection term frequency of each term: ln(T / cf), at least 0."""
    return np.log(query.statistics.n_tokens / query.cf)


def scq(query: QueryTerms) -> Values:
    """Similarity of each term to the collection: (1 + ln cf) ln(1 + N / df), above 0."""
    return (1 + np.log(query.cf)) * np.log1p(query.statistics.n_documents / query.df)


def var(query: QueryTerms) -> Values:
    """Deviation of each term's weight over the captions that hold it, at least 0."""
    scale = np.log1p(query.statistics.n_documents / query.df)
    return query.statistics.log_deviation[query.places] * scale


def scs(query: QueryTerms) -> float:
    """Simplified clarity score, in bits."""
    share = query.times / query.times.sum()
    return float(np.sum(share * np.log2(share * query.statistics.n_tokens / query.cf)))


def query_scope(query: QueryTerms) -> float:
    """How few captions hold any of the terms: -ln(n / N), at least 0."""
    holds = np.zeros(query.statistics.n_documents, dtype=bool)
    for place in query.places:
        holds[query.statistics.documents(int(place))] = True
    return float(-np.log(np.count_nonzero(holds) / len(holds)))


def pmi(query: QueryTerms) -> Values:
    """Pointwise mutual information of each pair of terms that meet in a caption."""
    holds = np.zeros(query.statistics.n_documents, dtype=bool)
    # The frequent terms are marked and the rarer ones looked up: a rare term has few captions.
    order = np.argsort(-query.df, kind="stable")
    holders = [query.statistics.documents(int(query.places[at])) for at in order]
    found = []
    for first, captions in enumerate(holders):
        holds[captions] = True
        for others in holders[first + 1 :]:
            both = np.count_nonzero(holds[others])
            if both:
                found.append(np.log(both * len(holds) / (len(captions) * len(others))))
        holds[captions] = False
    return np.array(found, dtype=np.float64)


def _over(aggregate: Callable[[Values], float], values: Callable[[QueryTerms], Values]):
    def measure(query: QueryTerms) -> float:
        found = values(query)
        return float(aggregate(found)) if len(found) else 0.0

    return measure


def _evidence(postings: bool) -> Evidence:
    return Evidence(
        what="a collection of captions",
        variable=VARIABLE,
        named=named_statistics,
        state=lambda statistics: statistics.state(postings),
        load=CaptionStatistics.from_state,
        told=lambda statistics: (
            f"counts of {len(statistics.terms):,} terms over {statistics.n_documents:,} captions, "
            "and no caption's text"
        ),
    )


COUNTS, POSTINGS = _evidence(postings=False), _evidence(postings=True)
"""A collection's counts of terms, without and with which caption holds which terms."""

_SIGIR = "Cronen-Townsend, Zhou and Croft, SIGIR 2002"
_SCHOLER = "Scholer, Williams and Turpin, JASIST 2004"
_HE = "He and Ounis, SPIRE 2004"
_ZHAO = "Zhao, Scholer and Tsegay, ECIR 2008"
_HAUFF = "Hauff 2010"


def _measure(compute, higher: str, about: str, source: str, evidence: Evidence = COUNTS) -> Measure:
    return Measure(compute, higher, about, source, evidence=evidence)


MEASURES: dict[str, Measure] = {
    "avg_idf": _measure(_over(np.mean, idf), "unknown", "mean rarity of the words", _SIGIR),
    "max_idf": _measure(_over(np.max, idf), "harder", "rarity of the rarest word", _SCHOLER),
    "sum_idf": _measure(_over(np.sum, idf), "harder", "summed rarity of the words", _SIGIR),
    "std_idf": _measure(_over(np.std, idf), "unknown", "deviation of the words' rarity", _HE),
    "avg_ictf": _measure(_over(np.mean, ictf), "unknown", "mean rarity by occurrences", _HE),
    "avg_scq": _measure(_over(np.mean, scq), "unknown", "mean similarity to captions", _ZHAO),
    "max_scq": _measure(_over(np.max, scq), "unknown", "largest similarity to captions", _ZHAO),
    "sum_scq": _measure(_over(np.sum, scq), "harder", "summed similarity to captions", _ZHAO),
    "avg_var": _measure(_over(np.mean, var), "unknown", "mean variability of the words", _ZHAO),
    "max_var": _measure(_over(np.max, var), "harder", "largest variability of a word", _ZHAO),
    "sum_var": _measure(_over(np.sum, var), "harder", "summed variability of the words", _ZHAO),
    "scs": _measure(scs, "unknown", "simplified clarity: how far from the collection", _HE),
    "query_scope": _measure(
        query_scope, "unknown", "how few captions hold any of the words", _HE, POSTINGS
    ),
    "avg_pmi": _measure(
        _over(np.mean, pmi), "easier", "how often words meet, mean of pairs", _HAUFF, POSTINGS
    ),
    "max_pmi": _measure(
        _over(np.max, pmi), "unknown", "how often words meet, best pair", _HAUFF, POSTINGS
    ),
}
"""The measures; each takes the known terms of a prompt, at least one of them."""


def pre_retrieval_values(
    prompts: Iterable[str],
    statistics: CaptionStatistics,
    names: Sequence[str] | None = None,
) -> NDArray[np.float64]:
    """Compute pre-retrieval predictors of some prompts.

    Args:
        prompts: any strings.
        statistics: of the collection that is searched, or of one like it.
        names: names of ``MEASURES``; all if left out.

    Returns:
        A float64 array of shape ``(prompts, names)``; 0.0 for a prompt without a known term.

    Raises:
        UnknownPredictorError: a name is not known.
        MissingResourceError: a measure needs postings that were not kept.

    >>> statistics = CaptionStatistics.from_texts(["a cat", "a dog", "a red dog"])
    >>> pre_retrieval_values(["a cat", "..."], statistics, ["max_idf"]).round(3).tolist()
    [[1.099], [0.0]]
    """
    measures = [MEASURES[name].compute for name in chosen(names, MEASURES)]
    queries = [query_terms(prompt, statistics) for prompt in prompts]
    found = [
        [measure(query) if len(query.places) else 0.0 for measure in measures] for query in queries
    ]
    return np.array(found, dtype=np.float64).reshape(len(queries), len(measures))
