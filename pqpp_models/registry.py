"""The predictors by name. An entry is text, so that listing names imports no predictor."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

from pqpp_models.errors import PredictorError, UnknownPredictorError

DEFAULT_PREDICTOR = "static"
"""The predictor that is used where none is named."""

PREDICTORS: dict[str, str] = {}
"""Name of a predictor, which is also its checkpoints' type, to ``"module:Class"``."""

UNSHIPPED: set[str] = set()
"""Those of them that come without weights: types of checkpoints, not names to predict with."""

GROUPS: dict[str, tuple[str, ...]] = {}
"""Name of a group to the predictors that it stands for."""


def register_predictor(
    name: str, target: str, group: str | None = None, shipped: bool = True
) -> None:
    """Make a predictor known by a name.

    Args:
        name: what a user types, and ``predictor_type`` in the configuration of its checkpoints.
        target: ``"module:Class"`` of a subclass of ``Predictor``; imported at first use.
        group: also list the predictor under this group name.
        shipped: whether the name alone is enough to predict with; if not, it is only the type of
            checkpoints and is not listed.

    Raises:
        PredictorError: the name is taken.

    >>> register_predictor("lexical", "elsewhere:Other")
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: a predictor or group 'lexical' is registered already; ...
    """
    if name in PREDICTORS or name in GROUPS:
        raise PredictorError(
            f"a predictor or group {name!r} is registered already; choose another name"
        )
    PREDICTORS[name] = target
    if not shipped:
        UNSHIPPED.add(name)
    if group is not None:
        GROUPS[group] = (*GROUPS.get(group, ()), name)


def predictor_class(name: str) -> Any:
    """Import and return the class registered for a name.

    Raises:
        UnknownPredictorError: no predictor has this name.

    >>> predictor_class("n_words").__name__
    'LinguisticPredictor'
    """
    if name not in PREDICTORS:
        raise unknown_predictor(name)
    module, _, attribute = PREDICTORS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def list_predictors() -> list[str]:
    """Return the names that `Predictor.from_pretrained` takes as they are, the default one first.

    >>> list_predictors()[:2]
    ['static', 'lexical']
    """
    shipped = (name for name in PREDICTORS if name not in UNSHIPPED)
    return sorted(shipped, key=lambda name: name != DEFAULT_PREDICTOR)


def expand_predictors(names: str | Iterable[str]) -> tuple[str, ...]:
    """Replace names of groups by their members; drop repetitions, keep the order.

    Names that are no group are kept unchecked, since a folder or a repository may be named too.

    Args:
        names: names, or one string with names separated by commas.

    Raises:
        PredictorError: no name is given.

    >>> expand_predictors("lexical, linguistic")[:3]
    ('lexical', 'n_synsets', 'n_words')
    """
    parts = names.split(",") if isinstance(names, str) else list(names)
    stripped = [part.strip() for part in parts if part.strip()]
    if not stripped:
        raise PredictorError(f"no predictor was named; known: {', '.join(list_predictors())}")
    members = (member for name in stripped for member in GROUPS.get(name, (name,)))
    return tuple(dict.fromkeys(members))


def unknown_predictor(name: str) -> UnknownPredictorError:
    """Build the error for a name that is nothing, with the closest known name."""
    known = list_predictors()
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    if name in GROUPS:
        hint = f"it is a group; name one of {', '.join(GROUPS[name])}. "
    return UnknownPredictorError(
        f"no predictor, folder or Hub repository is called {name!r}; {hint}"
        f"known: {', '.join(known)}; or give a folder or OWNER/REPOSITORY"
    )


register_predictor("static", "pqpp_models.text.static.predictor:StaticPredictor")
register_predictor("lexical", "pqpp_models.text.lexical.predictor:LexicalPredictor")
for _feature in (
    "n_synsets",
    "n_words",
    "mean_word_length",
    "proper_noun_ratio",
    "acronym_ratio",
    "numeral_ratio",
    "conjunction_ratio",
    "preposition_ratio",
):
    register_predictor(
        _feature, "pqpp_models.measures.linguistic:LinguisticPredictor", "linguistic"
    )
for _measure in (
    "edge_count",
    "edge_weight_sum",
    "inverse_edge_frequency",
    "degree_centrality",
    "closeness_centrality",
    "betweenness_centrality",
    "pagerank",
):
    register_predictor(
        _measure, "pqpp_models.measures.ego_network:EgoNetworkPredictor", "ego_network"
    )
for _measure in (
    *("avg_idf", "max_idf", "sum_idf", "std_idf", "avg_ictf", "avg_scq", "max_scq", "sum_scq"),
    *("avg_var", "max_var", "sum_var", "scs", "query_scope", "avg_pmi", "max_pmi"),
):
    register_predictor(
        _measure, "pqpp_models.measures.pre_retrieval:PreRetrievalPredictor", "pre_retrieval"
    )
for _measure in (
    *("nqc", "wig", "smv", "sigma_max", "n_sigma", "score_variation", "autocorrelation"),
    *("coherence", "pair_ratio", "query_drift", "clarity"),
):
    register_predictor(
        _measure, "pqpp_models.measures.post_retrieval:PostRetrievalPredictor", "post_retrieval"
    )
register_predictor("ridge", "pqpp_models.text.ridge.predictor:RidgePredictor", shipped=False)
register_predictor("bert", "pqpp_models.bert.predictor:BertPredictor", shipped=False)
register_predictor(
    "text_ensemble", "pqpp_models.text.text_ensemble.predictor:TextEnsemblePredictor", shipped=False
)
register_predictor("bert_onnx", "pqpp_models.bert.onnx_predictor:OnnxBertPredictor", shipped=False)
register_predictor("clip", "pqpp_models.clip.predictor:ClipPredictor", shipped=False)
register_predictor(
    "correlation_cnn",
    "pqpp_models.correlation_cnn.predictor:CorrelationCnnPredictor",
    shipped=False,
)
for _scorer in ("clip_score", "pick_score", "hps_v2"):
    register_predictor(_scorer, "pqpp_models.clip.preference:PreferencePredictor", shipped=False)
