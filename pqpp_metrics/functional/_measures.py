"""Names of ranking measures, as ir_measures and trec_eval write them, and what they stand for."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import as_list, brief, to_numpy
from pqpp_metrics.functional._rankings.inputs import RankingInputs, Rules, ranking_inputs
from pqpp_metrics.functional._types import Array, Floats, Integers, Values
from pqpp_metrics.functional.incomplete_judgments import (
    bpref,
    inferred_average_precision,
    judged_at_k,
)
from pqpp_metrics.functional.interpolated_precision import interpolated_precision
from pqpp_metrics.functional.ranking import (
    hit_rate_at_k,
    precision_at_k,
    r_precision,
    recall_at_k,
    reciprocal_rank,
)
from pqpp_metrics.functional.ranking_graded import average_precision, ndcg
from pqpp_metrics.functional.user_models import expected_reciprocal_rank, rank_biased_precision

# A measure's names, the shortest first.
_NAMES = {
    reciprocal_rank: ("rr", "mrr", "recip_rank", "recip_rank_cut"),
    precision_at_k: ("p", "precision"),
    recall_at_k: ("recall", "r"),
    hit_rate_at_k: ("success", "hit_rate", "hits"),
    r_precision: ("rprec",),
    ndcg: ("ndcg", "ndcg_cut"),
    average_precision: ("ap", "map", "map_cut"),
    bpref: ("bpref",),
    expected_reciprocal_rank: ("err",),
    rank_biased_precision: ("rbp",),
    inferred_average_precision: ("infap",),
    interpolated_precision: ("iprec", "iprec_at_recall"),
    judged_at_k: ("judged",),
}
FUNCTIONS = {
    name: function
    for function, names in _NAMES.items()
    for name in (*names, function.__name__, function.__name__.removesuffix("_at_k"))
}
_NEED_A_CUT = (precision_at_k, recall_at_k, hit_rate_at_k)
_RULES = ("ties", "tie_tolerance", "relevance_level", "judged_only")
_AS_OURS = {"rel": "relevance_level", "cutoff": "k"}
_GAINS = {"log2": "linear", "exp-log2": "exponential"}
# ndcg@10, P_10, iprec_at_recall.0.1, RBP(p=0.8)@20, P(rel=2)@5
_WRITTEN = re.compile(
    r"(?P<name>[a-z][a-z_]*?)(?:\((?P<options>.*)\))?(?:[@_.](?P<at>\d+(?:\.\d+)?))?", re.IGNORECASE
)


@dataclass(frozen=True)
class RankingMeasure:
    """A measure that was asked for: its name as it was written, its function and its options."""

    label: str
    function: Callable[..., Array]
    options: dict[str, Any]

    @property
    def tells_unjudged(self) -> bool:
        """Whether it takes documents without a judgment apart from irrelevant ones."""
        return tells_unjudged(self.function)

    def of(self, given: RankingInputs) -> Array:
        """Its values for `RankingInputs`, which follow the rules already."""
        return self.function(given, None, **self.options)


def tells_unjudged(function: Callable[..., Array]) -> bool:
    """Whether a metric takes documents without a judgment apart from irrelevant ones."""
    return function in (bpref, inferred_average_precision, judged_at_k)


def parsed_measures(measures: str | Iterable[str]) -> list[RankingMeasure]:
    """Read the names of measures, a list of them or one text with commas between them.

    Returns:
        List of `RankingMeasure`, one that is named twice once.

    Raises:
        MetricInputError: an unknown name, with those that are like it; a cut-off that is missing
            or has no place; an option that the measure does not have.
    """
    if isinstance(measures, str):
        # A comma within brackets parts no measures.
        measures = re.split(r",(?![^(]*\))", measures)
    named = as_list("measures", measures)
    found = [_parsed(one) for one in named if not isinstance(one, str) or one.strip()]
    if not found:
        raise MetricInputError("`measures` names none; give some, like ndcg@10,p@10,rr")
    return list({one.label: one for one in found}.values())


def _parsed(text):
    if not isinstance(text, str):
        raise MetricInputError(f"`measures` holds {brief(text)}; give names, like ndcg@10")
    label = text.strip()
    written = _WRITTEN.fullmatch(label)
    function = FUNCTIONS.get(written["name"].lower()) if written else None
    if function is None:
        raise MetricInputError(f"the measure {label[:40]!r} is unknown; {_meant(label)}")
    options = _options(label, function, written["options"])
    if written["at"] is not None:
        options |= _cut(label, function, written["at"])
    elif function in _NEED_A_CUT and "k" not in options:
        raise MetricInputError(f"the measure {label!r} needs a cut-off; write {label}@10")
    elif function is interpolated_precision and "recall" not in options:
        raise MetricInputError(f"the measure {label!r} needs a recall; write {label}@0.1")
    return RankingMeasure(label, function, options)


def _meant(label):
    from pqpp_files.names import did_you_mean

    name = re.split(r"[@(.\d]", label.lower())[0].rstrip("_")
    shown = "choose among " + ", ".join(names[0] for names in _NAMES.values())
    return did_you_mean(name, FUNCTIONS, shown)


def _cut(label, function, at):
    """The cut-off behind a name as an option."""
    if function is interpolated_precision:
        return {"recall": float(at)}
    if "k" not in inspect.signature(function).parameters:
        raise MetricInputError(f"the measure {label!r} has no cut-off; leave it out")
    if "." in at or len(at) > 18 or int(at) < 1:
        shown = label[:40]
        raise MetricInputError(f"the measure {shown!r} has the cut-off {at[:20]}; it is 1, 2, ...")
    return {"k": int(at)}


def _options(label, function, text):
    """The options in brackets, p=0.8, as Python writes them."""
    if not text:
        return {}
    known = inspect.signature(function).parameters
    try:
        (call,) = ast.parse(f"f({text})").body
        pairs = {word.arg: ast.literal_eval(word.value) for word in call.value.keywords}
        if call.value.args or None in pairs:
            raise ValueError
    except (SyntaxError, ValueError, AttributeError, RecursionError, MemoryError):
        raise MetricInputError(
            f"the measure {label[:60]!r} has brackets that are no NAME=VALUE; write like rbp(p=0.8)"
        ) from None
    options = {_AS_OURS.get(name, name): value for name, value in pairs.items()}
    if options.get("dcg") in _GAINS:
        options = {"gains": _GAINS[options.pop("dcg")]} | options
    for name in options:
        if name not in known or name in ("scores", "relevance", "unretrieved", "document_ids"):
            own = [one for one in known if one in ("k", "p", "recall", "gains", "max_grade")]
            raise MetricInputError(
                f"the measure {label!r} has no option {name!r}; it has {', '.join(own) or 'none'}, "
                "and the rules that all share"
            )
    return options


def measured(
    measures: Sequence[RankingMeasure],
    scores: Values,
    relevance: Values,
    rules: Rules,
    unretrieved: Values | None = None,
    sizes: Integers | None = None,
) -> dict[str, Floats]:
    """As `evaluate_rankings`, of read measures; `sizes` as of `ranking_inputs`."""
    groups: dict[tuple[bool, str], tuple[dict[str, Any], list[RankingMeasure]]] = {}
    for measure in measures:
        own = {name: measure.options[name] for name in _RULES if name in measure.options}
        key = (measure.tells_unjudged, repr(sorted(own.items())))
        groups.setdefault(key, (own, []))[1].append(measure)
    found = {}
    for (tells_unjudged, _), (own, members) in groups.items():
        unjudged = "keep" if tells_unjudged else "zero"
        given = ranking_inputs(
            scores, relevance, replace(rules, **own), unretrieved, unjudged, sizes
        )
        blocks = given.blocks(are_shared=len(members) > 1)
        parts = [[to_numpy(one.of(block)) for one in members] for block in blocks]
        for measure, values in zip(members, zip(*parts, strict=True), strict=True):
            found[measure.label] = np.concatenate(values)
    return {measure.label: found[measure.label] for measure in measures}
