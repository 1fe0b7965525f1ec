"""Pre-retrieval measures, from the statistics of a prompt's terms in a collection.

N is the number of captions, T the number of tokens in them, df(t) the number of captions that
contain the term t, cf(t) the number of its occurrences in them, Q the set of distinct terms of a
prompt, and qtf(t) the number of occurrences of t in the prompt. "over Q" means the mean, maximum,
sum or standard deviation over Q, as the name says.

======================= =========================================================================
name                    definition
======================= =========================================================================
``avg_idf`` ``max_idf`` over Q of idf(t) = ln(N / df(t)): Cronen-Townsend, Zhou and Croft, "Pre-
``sum_idf`` ``std_idf`` dicting query performance", SIGIR 2002 (mean); Scholer, Williams and
                        Turpin, "Query association surrogates for web search", JASIST 2004 (max);
                        He and Ounis, "Inferring query performance using pre-retrieval
                        predictors", SPIRE 2004 (gamma1; here the population standard deviation)
``avg_ictf``            mean of ln(T / cf(t)): He and Ounis 2004
``avg_scq`` ``max_scq`` over Q of (1 + ln cf(t)) ln(1 + N / df(t)): Zhao, Scholer and Tsegay,
``sum_scq``             "Effective pre-retrieval query performance prediction using similarity and
                        variability evidence", ECIR 2008
``avg_var`` ``max_var`` over Q of the population standard deviation, over the captions d that
``sum_var``             contain t, of w(d, t) = 1 + ln f(d, t) ln(1 + N / df(t)): Zhao et al. 2008.
                        Captions seldom repeat a word, so that it is 0 for many terms
``scs``                 simplified clarity score: sum of p(t) log2(p(t) T / cf(t)), where p(t) is
                        qtf(t) over the sum of qtf: He and Ounis 2004
``query_scope``         -ln(n / N), n being the captions with at least one of Q: He and Ounis 2004
``avg_pmi`` ``max_pmi`` over pairs of Q of ln(N df(t, u) / (df(t) df(u))), df(t, u) being captions
                        that contain both: Hauff, "Predicting the effectiveness of queries and
                        retrieval systems", 2010. Pairs that never co-occur are left out
======================= =========================================================================

"ln" is the natural logarithm. **Unknown terms** are left out of Q, as in the field's toolkits,
since most measures are undefined for df = 0. **Without a known term** (or, for PMI, a pair in one
caption) the value is 0.0. A repeated term counts once, except in SCS.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqpp_models.measures.caption_statistics import CaptionStatistics, open_statistics, split_terms
from pqpp_models.measures.measure import Evidence, make_measures

Values = NDArray[np.float64]


class QueryTerms(NamedTuple):
    """The known terms of a prompt.

    Attributes:
        indices: indices of the distinct terms in the statistics.
        times: occurrences of each term in the prompt.
        df: number of captions with each term.
        cf: occurrences of each term in the collection.
    """

    statistics: CaptionStatistics
    indices: NDArray[np.int64]
    times: Values
    df: Values
    cf: Values


def look_up_terms(prompt: str, statistics: CaptionStatistics) -> QueryTerms:
    """Find the terms of a prompt in the statistics of a collection.

    >>> statistics = CaptionStatistics.from_texts(["a cat", "a dog"])
    >>> look_up_terms("A cat, a cat, a unicorn", statistics).times.tolist()
    [3.0, 2.0]
    """
    counts = Counter(split_terms(prompt))
    known = [term for term in counts if len(statistics.find_terms([term]))]
    indices = statistics.find_terms(known)
    return QueryTerms(
        statistics,
        indices,
        np.array([counts[term] for term in known], dtype=np.float64),
        statistics.document_frequency[indices].astype(np.float64),
        statistics.collection_frequency[indices].astype(np.float64),
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
    """Standard deviation of each term's weight over the captions that contain it, at least 0."""
    scale = np.log1p(query.statistics.n_documents / query.df)
    return query.statistics.log_deviation[query.indices] * scale


def scs(query: QueryTerms) -> float:
    """Simplified clarity score, in bits."""
    share = query.times / query.times.sum()
    return float(np.sum(share * np.log2(share * query.statistics.n_tokens / query.cf)))


def query_scope(query: QueryTerms) -> float:
    """Query scope: -ln(n / N) for the n captions with any of the terms, at least 0."""
    has_term = np.zeros(query.statistics.n_documents, dtype=bool)
    for index in query.indices:
        has_term[query.statistics.list_documents(int(index))] = True
    return float(-np.log(np.count_nonzero(has_term) / len(has_term)))


def pmi(query: QueryTerms) -> Values:
    """Pointwise mutual information of each pair of terms that co-occur in a caption."""
    has_term = np.zeros(query.statistics.n_documents, dtype=bool)
    # Only the captions of the rarer term of a pair are looked up, since it has fewer.
    order = np.argsort(-query.df, kind="stable")
    captions_by_term = [query.statistics.list_documents(int(query.indices[at])) for at in order]
    information = []
    for first, captions in enumerate(captions_by_term):
        has_term[captions] = True
        for others in captions_by_term[first + 1 :]:
            n_both = np.count_nonzero(has_term[others])
            if n_both:
                information.append(np.log(n_both * len(has_term) / (len(captions) * len(others))))
        has_term[captions] = False
    return np.array(information, dtype=np.float64)


_AGGREGATES = {"avg": np.mean, "max": np.max, "sum": np.sum, "std": np.std}


def _aggregate(values: Callable[[QueryTerms], Values], names: str) -> dict[str, Any]:
    """Return the aggregates of a value of terms, by name; they are 0.0 without values."""

    def measure(aggregate: Any, query: QueryTerms) -> float:
        term_values = values(query)
        return float(aggregate(term_values)) if len(term_values) else 0.0

    return {f"{k}_{values.__name__}": partial(measure, _AGGREGATES[k]) for k in names.split()}


_FORM = "a text file with one caption per line"
COLLECTION = Evidence("a collection of captions", "PQPP_COLLECTION", _FORM, open_statistics)


def score_prompts(
    measure: Callable[[QueryTerms], float], prompts: Iterable[str], statistics: CaptionStatistics
) -> Values:
    """Return a measure of each prompt's known terms, or 0.0 if there are none.

    >>> statistics = CaptionStatistics.from_texts(["a cat", "a dog", "a red dog"])
    >>> MEASURES["max_idf"].compute(["a cat", "..."], statistics).round(3).tolist()
    [1.099, 0.0]
    """
    queries = (look_up_terms(prompt, statistics) for prompt in prompts)
    values = [measure(query) if len(query.indices) else 0.0 for query in queries]
    return np.array(values, np.float64)


_TERM_MEASURES: dict[str, Callable[[QueryTerms], float]] = {
    **_aggregate(idf, "avg max sum std"),
    **_aggregate(ictf, "avg"),
    **_aggregate(scq, "avg max sum"),
    **_aggregate(var, "avg max sum"),
    "scs": scs,
    "query_scope": query_scope,
    **_aggregate(pmi, "avg max"),
}

MEASURES = make_measures(
    {k: partial(score_prompts, f) for k, f in _TERM_MEASURES.items()}, evidence=COLLECTION
)
"""The measures; each accepts prompts and the statistics of the searched collection."""
