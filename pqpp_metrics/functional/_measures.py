"""Parse and compute ranking measures named as in ir_measures and trec_eval."""

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import ranking, ranking_graded
from pqpp_metrics.functional._containers import Array, Floats, Values, to_numpy
from pqpp_metrics.functional._rankings.inputs import Rules, convert_rankings, get_parameters

# A measure's names, the shortest first.
_NAMES = {
    ranking.reciprocal_rank: ("rr", "mrr", "recip_rank", "recip_rank_cut"),
    ranking.precision_at_k: ("p", "precision"),
    ranking.recall_at_k: ("recall", "r"),
    ranking.hit_rate_at_k: ("success", "hit_rate"),
    ranking.r_precision: ("rprec",),
    ranking_graded.ndcg: ("ndcg", "ndcg_cut"),
    ranking_graded.average_precision: ("ap", "map", "map_cut"),
}
FUNCTIONS = {
    name: function
    for function, names in _NAMES.items()
    for name in (*names, function.__name__, function.__name__.removesuffix("_at_k"))
}
_NEED_A_CUT = (ranking.precision_at_k, ranking.recall_at_k, ranking.hit_rate_at_k)
_NEED_RANKS = (ranking_graded.ndcg, ranking_graded.average_precision)
_RULES = ("ties", "relevance_level", "judged_only")
_INPUTS = ("scores", "relevance", "unretrieved", "document_ids")
_ALIASES = {"rel": "relevance_level", "cutoff": "k"}
_CUT_OFF_HINT = "write one whole number after the name, as in ndcg@10"
_GAINS = {"log2": "linear", "exp-log2": "exponential"}
# ndcg@10, P_10, P(rel=2)@5
_MEASURE = re.compile(
    r"(?P<name>[a-z][a-z_]*?)(?:\((?P<options>.*)\))?(?:[@_.](?P<k>\d+(?:\.\d+)?))?", re.IGNORECASE
)


@dataclass(frozen=True)
class RankingMeasure:
    """A requested measure: its name as written, its function and its options."""

    label: str
    function: Callable[..., Array]
    options: dict[str, Any]

    @property
    def rules(self) -> dict[str, Any]:
        """The measure's own settings of `Rules`."""
        settings = {name: self.options[name] for name in _RULES if name in self.options}
        return settings | {"has_unjudged": True}


def parse_measures(measures: str | Iterable[str]) -> list[RankingMeasure]:
    """Parse the names of measures, given as a list or as one string with commas.

    Returns:
        The measures, without duplicates.

    Raises:
        MetricInputError: an unknown name (the error lists similar names); a missing, invalid or
            unexpected cut-off; an unknown option.
    """
    return [_parse_measure(name) for name in split_measure_names(measures)]


def split_measure_names(measures: str | Iterable[str]) -> list[str]:
    """Return the distinct names of measures."""
    if isinstance(measures, str):
        # A comma within brackets does not separate measures.
        measures = re.split(r",(?![^(]*\))", measures)
    names = dict.fromkeys(name.strip() for name in measures if name.strip())
    if not names:
        raise MetricInputError("`measures` must not be empty; add names such as ndcg@10,p@10,rr")
    return list(names)


def is_own_measure(label: str) -> bool:
    """Return whether pqpp computes a measure, whatever its cut-off and options."""
    match = _MEASURE.fullmatch(label)
    return match is not None and match["name"].lower() in FUNCTIONS


def _parse_measure(label):
    match = _MEASURE.fullmatch(label)
    function = FUNCTIONS.get(match["name"].lower()) if match else None
    if function is None:
        from pqpp_files.names import did_you_mean

        name = re.split(r"[@(.\d]", label.lower())[0].rstrip("_")
        own_names = ", ".join(names[0] for names in _NAMES.values())
        otherwise = f"choose one of {own_names}, or install ir_measures for other measures"
        hint = _CUT_OFF_HINT if name in FUNCTIONS else did_you_mean(name, FUNCTIONS, otherwise)
        raise MetricInputError(f"unknown measure {label[:40]!r}; {hint}")
    options = _parse_options(label, function, match["options"])
    if k := match["k"]:
        if "k" not in get_parameters(function):
            raise MetricInputError(f"the measure {label!r} accepts no cut-off; remove the number")
        if "." in k or len(k) > 18 or int(k) < 1:
            raise MetricInputError(f"the cut-off must be a positive integer; got {label[:40]!r}")
        options["k"] = int(k)
    elif function in _NEED_A_CUT and "k" not in options:
        raise MetricInputError(f"the measure {label!r} needs a cut-off; write {label}@10")
    return RankingMeasure(label, function, options)


def _parse_options(label, function, text):
    """Parse the options in brackets, such as `p=0.8`; values are in Python's syntax."""
    if not text:
        return {}
    known = [name for name in get_parameters(function) if name not in _INPUTS]
    try:
        (call,) = ast.parse(f"f({text})").body
        pairs = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.value.keywords}
        if call.value.args or None in pairs:
            raise ValueError
    except (SyntaxError, ValueError, AttributeError, RecursionError, MemoryError):
        rule = "options of a measure must have the form NAME=VALUE, as in p(rel=2)@5"
        raise MetricInputError(f"{rule}; got {label[:60]!r}") from None
    options = {_ALIASES.get(name, name): value for name, value in pairs.items()}
    if options.get("dcg") in _GAINS:
        options = {"gains": _GAINS[options.pop("dcg")]} | options
    for name in options:
        if name not in known:
            fault = f"the measure {label!r} has no option {name!r}"
            raise MetricInputError(f"{fault}; choose one of {', '.join(known)}")
    return options


def compute_measures(
    measures: Sequence[RankingMeasure], scores: Values, relevance: Values, rules: Rules
) -> dict[str, Floats]:
    """Return the results of `evaluate_rankings` for parsed measures."""
    groups: dict[str, list[RankingMeasure]] = {}
    for measure in measures:
        groups.setdefault(repr(measure.rules), []).append(measure)
    values: dict[str, list[Floats]] = {measure.label: [] for measure in measures}
    for group in groups.values():
        inputs = convert_rankings(scores, relevance, replace(rules, **group[0].rules))
        needs_ranks = any(measure.function in _NEED_RANKS for measure in group)
        for part in inputs.split():
            ranked = part.rank() if needs_ranks else part
            for measure in group:
                result = measure.function(scores=ranked, relevance=None, **measure.options)
                values[measure.label].append(to_numpy(result))
    return {label: np.concatenate(parts) for label, parts in values.items()}
