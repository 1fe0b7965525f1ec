"""What a user calls: the names that packages hand on, and the methods of their objects."""

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.calls.values import OLDER
from pqpp_metrics import functional

METRICS = functional.__name__
"""What metric functions are called by; their arguments are arrays of any kind."""

_PACKAGES = ("annotation", "backbones", "datasets", "engines", "feedback", "files", "hub", "models")
LEFT_OUT = {
    "demo": "serves until it is stopped; fuzzed as a command",
    "serve_demo": "serves until it is stopped; fuzzed as a command",
    "make_demo": "draws pictures for seconds; fuzzed as a command",
    "example_study": "draws pictures for seconds; fuzzed as a command",
    "register": "takes nothing",
    "register_predictor": "changes what all later calls know",
    "open_scores": "called by an assessor with its own options, which it has checked",
    "Study": "made by study_of, which reads and checks what it holds",
    "RahfConfig": "checks are those of transformers",
    "RahfForRichFeedback": "checks are those of transformers",
    "RahfProcessor": "checks are those of transformers",
    "DiffusersGenerator": "made from a pipeline for seconds; fuzzed as a command",
}
"""Names that are not called, and why."""
REFUSED = ("bench", "open_assessors", "ImageTextEncoder", "push_files", "merge")
REFUSED += ("FeedbackModel", "render_card", "render_report")
REFUSED += ("embed", "explain", "predict_with_uncertainty")
"""What needs the Hub, ray, a whole study, or a predictor of another kind, so may never answer."""
HOOKS = ("answer", "from_checkpoint", "from_shipped", "from_state", "load_processor", "model_class")
HOOKS += ("raw_scores", "represent", "state", "texts_of", "to", "was_fitted_to")
"""Methods between a base and its families, which hand each other what they have checked."""


@functools.cache
def doors() -> dict[str, Callable[..., Any]]:
    """Return the functions, classes and methods by a name that says where each is found."""
    found: dict[str, Callable[..., Any]] = {}
    for package in ("pqpp", *(name for one in _PACKAGES for name in _folders(f"pqpp_{one}"))):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", None) or _handed_on(module):
            thing = getattr(module, name)
            if name in LEFT_OUT or not callable(thing) or _is_plain(thing):
                continue
            found.setdefault(f"{thing.__module__}.{name}", thing)
    for name in functional.__all__:
        found[f"{METRICS}.{name}"] = getattr(functional, name)
    for name, subject in subjects().items():
        for method in _methods(subject):
            if method not in HOOKS:
                found[f"{name}.{method}"] = getattr(subject, method)
    return found


def _folders(package: str) -> list[str]:
    path = importlib.import_module(package).__path__
    inner = pkgutil.walk_packages(path, f"{package}.")
    return [package, *(one.name for one in inner if one.ispkg)]


def _handed_on(module: Any) -> list[str]:
    """Return the names that a package without `__all__` has of its own modules."""
    return [
        name
        for name, thing in vars(module).items()
        if name[0] != "_" and str(getattr(thing, "__module__", "")).startswith(module.__name__)
    ]


def _is_plain(thing: Any) -> bool:
    """Tell an error, a record that holds whatever it is given, and a class that is a base."""
    if not inspect.isclass(thing):
        return False
    is_record = hasattr(thing, "_fields") or hasattr(thing, "__dataclass_fields__")
    is_error = issubclass(thing, Exception) or inspect.isabstract(thing)
    return is_error or (is_record and "__post_init__" not in vars(thing))


def _methods(subject: Any) -> list[str]:
    kind = subject if inspect.isclass(subject) else type(subject)
    ours = [base for base in kind.__mro__ if base.__module__.startswith("pqpp")]
    names = sorted({name for base in ours for name in vars(base) if name[0] != "_"})
    if not inspect.isclass(subject) and any("__call__" in vars(base) for base in ours):
        names.append("__call__")
    of_class = inspect.isclass(subject)
    return [
        name
        for name in names
        if inspect.isroutine(static := inspect.getattr_static(kind, name))
        and not isinstance(static, functools.cached_property)
        and (not of_class or isinstance(static, classmethod | staticmethod))
    ]


@functools.cache
def subjects() -> dict[str, Any]:
    """Return objects and classes whose methods are called, by name."""
    from support.tiny_rahf import tiny_feedback

    from pqpp_engines.index import build_index
    from pqpp_engines.rewrite import Judge
    from pqpp_engines.route import Route, Router, Rule
    from pqpp_feedback.rahf import FeedbackModel
    from pqpp_models import Predictor
    from pqpp_models.measures.pre_retrieval import CaptionStatistics

    found: dict[str, Any] = {"Predictor": Predictor, "Router": Router}
    for name in ("static", "n_words", "nqc"):
        found[name] = Predictor.from_pretrained(name)
    for path in sorted(OLDER.iterdir()):
        if path.is_dir():
            found[path.name] = Predictor.from_pretrained(path)
    routes = [Route("glide", "glide_hbpp", 1.0), Route("sdxl", "sdxl_hbpp", 4.0)]
    found["router"] = Router(routes, Rule(floor=0.5))
    found["judge"] = Judge("mean_hbpp")
    found["feedback"], found["FeedbackModel"] = tiny_feedback(), FeedbackModel
    found["CaptionStatistics"] = CaptionStatistics
    found["statistics"] = CaptionStatistics.from_texts(
        ["a red cat", "two dogs on a mat"], postings=True
    )
    folder = _room() / "index"
    vectors = np.random.default_rng(0).random((6, 8), dtype=np.float32)
    found["index"] = build_index(vectors, [f"i{n}" for n in range(6)], folder)
    return found


@functools.cache
def _room() -> Path:
    import atexit
    import tempfile

    kept = tempfile.TemporaryDirectory(prefix="pqpp-calls-")
    atexit.register(kept.cleanup)
    return Path(kept.name)
